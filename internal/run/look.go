package run

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/samplers"
)

// Look is a run without draws, mechanisms and noise, for somebody who may see the tables (P19). It joins, folds and caps as a
// run does, and leaves out what a run refuses, so that everything is counted.
type Look struct{ r *Runner }

// NewLook begins to look at the tables of a plan, which were opened in the order of Planned.Tables.
func NewLook(p *planned.Plan, tables []*table.Table) (*Look, error) {
	soft := *p
	soft.Job = softened(p.Job)
	all := &OpenedTable{memory: Memory() / int64(len(tables))}
	for i, name := range p.Tables() {
		view := soft.Job.Of(name)
		one := &OpenedTable{Table: tables[i], rows: tables[i], name: name, shares: len(p.Job.Dataset.Tables) > 0, memory: all.memory}
		var err error
		if one.lookups, err = readLookups(view); err != nil {
			return nil, err
		}
		all.parts = append(all.parts, one)
	}
	if err := all.comparable(p.Job); err != nil {
		return nil, err
	}
	r := New(&soft, all, nil, Options{})
	r.part = &remotePart{} // nothing is compared with what is public
	return &Look{r}, nil
}

// softened is a job that drops what another would refuse. A row that names no member is refused as ever: its table would not
// say what becomes of it.
func softened(j *job.Job) *job.Job {
	soft := *j
	soften(&soft.Dataset)
	soft.Dataset.Tables = slices.Clone(j.Dataset.Tables)
	for i := range soft.Dataset.Tables {
		soften(&soft.Dataset.Tables[i].Dataset)
	}
	return &soft
}

func soften(d *job.Dataset) {
	d.Columns = slices.Clone(d.Columns)
	for i := range d.Columns {
		c := &d.Columns[i]
		for _, h := range []*job.Handling{&c.Missing, &c.Outside} {
			if h.Rule == job.Refuse {
				h.Rule = job.Drop
			}
		}
	}
	if d.Key.Member == "" && d.Key.Missing == job.NoUnitRefuse {
		d.Key.Missing = job.NoUnitDrop
	}
}

// Settle reads the tables, and sorts their rows by units. Which rows a cap keeps is drawn anew.
func (l *Look) Settle(ctx context.Context) error {
	src, err := noise.NewSource()
	if err != nil {
		return err
	}
	for _, t := range l.r.Table.parts {
		if s := l.r.Plan.Job.Dataset.Slice; s != nil && err == nil {
			err = t.slice(ctx, s)
		}
	}
	if err == nil && l.r.views[0].job.Dataset.Key.Column != "" {
		err = l.r.number(ctx)
	}
	if err == nil {
		err = l.r.shape(ctx, src)
	}
	return err
}

// Close gives up what Settle made. The tables stay open.
func (l *Look) Close() { l.r.closeUnits() }

// Units describes the units of a table, nil where a row is one.
func (l *Look) Units(i int) (*units.UnitFacts, error) {
	if l.r.index == nil {
		return nil, nil
	}
	f, err := l.r.index.whole[i].Facts()
	return &f, err
}

// Without counts for each table the keys of units that have no row in each of the others.
func (l *Look) Without() (map[string]map[string]int64, error) {
	tables := l.r.Table.parts
	has := make([]*units.RowSet, len(tables))
	for i := range tables {
		has[i] = units.NewRowSet(l.r.index.index.Units())
		err := eachNumber(l.r.index.whole[i], func(unit int32) {
			if unit >= 0 {
				has[i].Add(int64(unit))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	out := map[string]map[string]int64{}
	for i, t := range tables {
		out[t.name] = map[string]int64{}
		for k, other := range tables {
			n := has[i].Without(has[k])
			if l.r.views[i].job.Dataset.Key.Missing == job.NoUnitOwn { // a row without a key is in no other table
				n -= l.r.index.whole[i].NullRows()
			}
			if k != i {
				out[t.name][other.name] = n
			}
		}
	}
	return out, nil
}

// CapDrop counts the rows of units that a release reads, and those that the cap leaves out of it.
type CapDrop struct {
	Release string `json:"release"`
	Rows    int64  `json:"rows"`
	Dropped int64  `json:"dropped"`
}

// CapDrops counts for each release from a table what its cap leaves out. Where a unit lies in more groups than count, a run may
// drop a few rows more or less.
func (l *Look) CapDrops(ctx context.Context, i int) (out []CapDrop, err error) {
	v := l.r.views[i]
	if !v.caps() {
		return nil, nil
	}
	if v.job.Dataset.Cap.Choice != nil { // a run finds the cap first; this is the one that is assumed
		src, err := noise.NewSource()
		if err == nil {
			err = v.capAll(ctx, l.r.Plan, src)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, rel := range l.r.Plan.Releases() {
		if l.r.view(rel) == v && !rel.Job.CountsUnits() { // which come before the cap
			rows, dropped := v.capped(rel).Dropped()
			out = append(out, CapDrop{rel.Job.Name, rows, dropped})
		}
	}
	return out, nil
}

// Strata counts the units that a draw finds in each unit of its frame, NoUnit among them.
func (l *Look) Strata(ctx context.Context, d *planned.Draw) (map[int32]int64, error) {
	units, err := l.r.strata(ctx, d)
	return samplers.CountUnits(units), err
}

// Seen counts the rows of a table that a release reads, or the units where units are folded.
type Seen struct {
	Release  *planned.Release
	Rows     int64 // or units
	Filtered int64 // that do not pass its conditions
	Left     int64 // that pass, and have a value missing or not listed
	Clipped  int64 // that count, with a value beyond its bounds
	By       []job.Column
	Counts   map[int32]int64 // rows by cell of By, without the cells that have none
	Units    bool

	cells   *celled // of By, nil without any, or where there are too many to tell them apart
	to      sink
	numbers []int // columns of numbers with bounds among what is prepared
	codes   []int // columns of categories whose rows are left out where the value is not listed
}

// Releases looks at what the releases of the job read of a table.
func (l *Look) Releases(ctx context.Context, i int) (all []*Seen, err error) {
	v := l.r.views[i]
	listed := func(rel *planned.Release) bool {
		return l.r.view(rel) == v && rel.Job.Measures == "" && rel.Job.Bounds == ""
	}
	for _, batch := range l.r.batches(l.r.Plan.Releases(), listed) {
		s := &sample{job: v.job, folded: v.folds()}
		var some []*Seen
		for _, rel := range batch {
			some = append(some, v.seen(rel, s))
		}
		in, err := newReading(v.job, v.table.lookups, s.columns, s.conditions, s.folded)
		if err != nil {
			return nil, err
		}
		preparers := in.preparers(s.folded)
		err = newPass(v.source(batch[0]), v.table.Content, in).run(ctx, func(b table.Batch) error {
			out, masks := in.block(b), make([][]byte, len(some))
			left, beyond := make([][]bool, len(some)), make([][]bool, len(some))
			for k, g := range some { // numbers, before they are held to their bounds
				masks[k], left[k], beyond[k] = g.to.mask(out), make([]bool, b.Rows), make([]bool, b.Rows)
				for _, at := range g.numbers {
					if err := preparers[at].beyond(in.values[at], b.Rows, left[k], beyond[k]); err != nil {
						return err
					}
				}
			}
			if out.ready, err = in.prepare(preparers, b.Rows); err != nil {
				return err
			}
			for k, g := range some {
				g.count(out, masks[k], left[k], beyond[k])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// beyond marks the numbers that are left out, because they are missing, and those beyond their bounds.
func (p *Preparer) beyond(v table.Values, rows int, left, beyond []bool) error {
	x, err := p.AsFloats(v, rows)
	for i, f := range x {
		if v.Null(i) || f != f {
			left[i] = left[i] || p.Column.Missing.Rule != job.Impute
		} else {
			beyond[i] = beyond[i] || f < p.Lower || f > p.Upper
		}
	}
	return err
}

// count adds the rows of a block.
func (g *Seen) count(b block, mask []byte, left, beyond []bool) {
	for _, at := range g.codes {
		for i, code := range b.ready[at].Codes[:b.rows] {
			left[i] = left[i] || code < 0
		}
	}
	g.Rows += int64(b.rows)
	for i := range b.rows {
		switch {
		case mask != nil && mask[i>>3]>>(i&7)&1 == 0:
			g.Filtered++
		case left[i]:
			g.Left++
		case beyond[i]:
			g.Clipped++
		}
	}
	if g.cells != nil {
		for _, cell := range g.cells.of(b.rows, b.ready, mask) {
			if cell >= 0 {
				g.Counts[cell]++
			}
		}
	}
}

// seen begins to look at one release.
func (v *tableView) seen(rel *planned.Release, s *sample) *Seen {
	g, cells := &Seen{Release: rel, Counts: map[int32]int64{}, Units: s.folded}, 1.0
	var categories []job.Column
	for i, name := range slices.Concat(rel.Job.By, rel.Plan.Columns) {
		c, ok := v.job.Dataset.Column(name)
		group := i < len(rel.Job.By)
		switch {
		case !ok || c.Plain() || c.Bounds != nil:
		case c.Type == job.Number:
			g.numbers = append(g.numbers, s.want(name))
		case len(c.Domain) > 0:
			if !group || rel.Job.Other == "" {
				g.codes = append(g.codes, s.want(name))
			}
			if group || len(rel.Job.By) == 0 {
				categories, cells = append(categories, c), cells*float64(len(c.Domain))
			}
		}
	}
	if len(categories) > 0 && cells <= math.MaxInt32 {
		g.By, g.cells = categories, newCelled(&planned.Cells{By: categories}, s)
	}
	if rel.Job.Where.Said() && !s.folded {
		g.to.masks = append(g.to.masks, s.condition(rel.Job.Where))
	}
	if rel.Job.Having.Said() {
		g.to.masks = append(g.to.masks, s.condition(rel.Job.Having))
	}
	return g
}

// Computed visits the values of the derived columns of a table and those of its lookups, of all rows.
func (l *Look) Computed(ctx context.Context, i int, visit func(c job.Column, v table.Values, rows int)) error {
	v := l.r.views[i]
	var wants []job.Column
	for _, c := range v.job.Dataset.Columns {
		if len(v.job.Dataset.Partners(c.Name)) > 0 {
			continue // it needs another table
		}
		if isComputed(&c, false) && (c.Derived == nil || !c.Derived.AfterFold) {
			wants = append(wants, c)
		}
	}
	if len(wants) == 0 {
		return nil
	}
	in, err := newReading(v.job, v.table.lookups, wants, nil, false)
	if err != nil {
		return err
	}
	return newPass(v.table.Table, nil, in).run(ctx, func(b table.Batch) error {
		for i, c := range in.wants {
			visit(c, in.values[i], b.Rows)
		}
		return nil
	})
}
