package run

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/samplers"
)

// Look is a run without draws, mechanisms and noise, for somebody who may see the tables (P19). It joins, folds and caps as a
// run does, and leaves out what a run refuses, so that everything is counted.
type Look struct{ r *Runner }

// NewLook begins to look at the tables of a plan, which were opened in the order of Planned.Tables.
func NewLook(p *plan.Planned, tables []*table.Table) (*Look, error) {
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
	r.part = &part{} // nothing is compared with what is public
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
	has := make([]*rowSet, len(tables))
	for i := range tables {
		has[i] = newRowSet(l.r.index.index.Units())
		err := eachNumber(l.r.index.whole[i], func(unit int32) {
			if unit >= 0 {
				has[i].add(int64(unit))
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
			n := 0
			if l.r.views[i].job.Dataset.Key.Missing == job.NoUnitOwn { // a row without a key is in no other table
				n = -int(l.r.index.whole[i].NullRows())
			}
			for w := range has[i].words {
				n += bits.OnesCount64(has[i].words[w] &^ has[k].words[w])
			}
			if k != i {
				out[t.name][other.name] = int64(n)
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
func (l *Look) Strata(ctx context.Context, d *plan.PlannedDraw) (map[int32]int64, error) {
	units, err := l.r.strata(ctx, d)
	return samplers.CountUnits(units), err
}

// Groups are the cells of a release: how many rows each one has, among those that pass its condition.
type Groups struct {
	Release *plan.PlannedRelease
	By      []job.Column
	Counts  map[int32]int64 // by cell, without those that have none
	cells   *celled
	to      sink
}

// Groups counts the rows of all releases from a table that have groups, or read categories.
func (l *Look) Groups(ctx context.Context, i int) (all []*Groups, err error) {
	v := l.r.views[i]
	for _, batch := range l.r.batches(l.r.Plan.Releases(), func(rel *plan.PlannedRelease) bool { return l.r.view(rel) == v && !rel.Job.CountsUnits() }) {
		s := &sample{job: v.job, folded: v.folds()}
		var some []*Groups
		for _, rel := range batch {
			if g := v.groups(rel, s); g != nil {
				some = append(some, g)
			}
		}
		if len(some) == 0 {
			continue
		}
		in, err := newReading(v.job, v.table.lookups, s.columns, s.conditions, s.folded)
		if err != nil {
			return nil, err
		}
		preparers := in.preparers(s.folded)
		err = newPass(v.source(batch[0]), v.table.Content, in).run(ctx, func(b table.Batch) error {
			out := in.block(b)
			if out.ready, err = in.prepare(preparers, b.Rows); err != nil {
				return err
			}
			for _, g := range some {
				for _, cell := range g.cells.of(b.Rows, out.ready, g.to.mask(out)) {
					if cell >= 0 {
						g.Counts[cell]++
					}
				}
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

// groups are those of one release, nil where it has none, or too many to tell them apart.
func (v *tableView) groups(rel *plan.PlannedRelease, s *sample) *Groups {
	g, cells := &Groups{Release: rel, Counts: map[int32]int64{}}, 1.0
	names := rel.Job.By
	if len(names) == 0 {
		names = rel.Plan.Columns
	}
	for _, name := range names {
		c, ok := v.job.Dataset.Column(name)
		if ok && c.Type == job.Category && len(c.Domain) > 0 {
			g.By = append(g.By, c)
			cells *= float64(len(c.Domain))
		}
	}
	if len(g.By) == 0 || cells > math.MaxInt32 {
		return nil
	}
	g.cells = newCelled(&plan.Cells{By: g.By}, s)
	if rel.Job.Where.Said() && !s.folded {
		g.to.masks = append(g.to.masks, s.condition(rel.Job.Where))
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
