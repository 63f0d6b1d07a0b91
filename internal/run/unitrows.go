package run

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/dprelease/dprelease/internal/data/nameless"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// unitRows are the rows of a job whose units have several (P22): folded to one row each,
// or capped.
type unitRows struct {
	views map[string]rowSource   // the folded units, by the condition on their rows
	index *units.Index           // the unit of each row, where they are capped
	sets  map[string]*units.Kept // the rows that count, by condition and groups
	// numbers number the values of a group column that nobody lists, by the same.
	numbers  map[string]*units.Index
	measured map[string]rowSource // capped units with their numbers of rows, by the condition on their rows
	units    int64
	files    []io.Closer // what did not fit in memory
}

// side is a table of a job as its releases see it. A job with one table has one side.
type side struct {
	job        *job.Job
	table      *OpenedTable
	units      *unitRows    // where a unit has several rows, else nil
	index      *units.Index // the unit of each row, where there are several tables (P32); else nil
	population int64        // the number of units, where there are several tables
	files      []io.Closer  // what it took from other tables
}

// side returns the table that a release reads.
func (r *Runner) side(rel *plan.PlannedRelease) *side { return r.sides[rel.Job.Table] }

// close gives up the files of units that did not fit in memory.
func (u *unitRows) close() {
	if u != nil {
		for _, f := range u.files {
			f.Close()
		}
	}
}

func (u *unitRows) folds() bool  { return u != nil && u.views != nil }
func (u *unitRows) caps() bool   { return u != nil && u.index != nil }
func (u *unitRows) count() int64 { return u.units }

// capped are the rows that count in a release, nil for all.
func (u *unitRows) capped(rel *plan.PlannedRelease) *units.Kept {
	if !u.caps() || rel.Job.CountsUnits() {
		return nil
	}
	return u.sets[capKey(rel)]
}

// capKey tells apart the releases whose units are capped apart.
func capKey(rel *plan.PlannedRelease) string {
	key := rel.Job.Where.Text + "\x00" + rel.Job.Other
	for _, name := range rel.Job.By {
		key += "\x00" + name
	}
	return key
}

// errFrame says that the units of privacy do not lie in the frame as it says. It names no unit of the frame: where the
// units of privacy lie is found after the debit (P20).
var errFrame = &samplers.Error{Code: samplers.FrameMismatch}

// errSize says that the number of units is another than the job says. It comes after the
// debit: who has a row is private.
var errSize = failure.New(failure.ExitSource, "SAMPLE_SIZE_MISMATCH", "dataset.size is not the number of units in the table"+failure.SpentOnly)

// settleUnits holds the table to what the job says of its units, and folds or caps them.
// It comes after the debit: what it finds depends on values (P20).
func (r *Runner) settleUnits(ctx context.Context, src *noise.Source) error {
	if r.Plan.Job.Dataset.Several() {
		return r.settleTables(ctx, src)
	}
	d, s := &r.Plan.Job.Dataset, r.sides[""]
	var err error
	switch {
	case d.Folds():
		err = s.fold(ctx, r.Plan)
	case d.Cap != nil:
		err = s.cap(ctx, r.Plan, src)
	default:
		return s.checkUnit(ctx)
	}
	if err == nil && r.part == nil && d.Relation == privacy.ReplaceOne && s.units.count() != d.Size {
		err = errSize
	}
	return err
}

// presence is the folded column that counts the rows of a unit that count.
const presence = job.UnitRows

// fold makes one row of the rows of each unit, for each condition apart.
func (s *side) fold(ctx context.Context, p *plan.Planned) error {
	d := &s.job.Dataset
	var names []string
	conditions := []job.Expression{{}} // the first one holds for all rows
	for _, draw := range p.Draws {
		if d.Table == d.Population {
			for _, name := range draw.Design.Facts().UnitColumns {
				appended(&names, name)
			}
		}
		for _, rel := range draw.Releases {
			if rel.Job.Table != d.Table {
				continue
			}
			for _, name := range rel.Counts() {
				for _, name := range d.BeforeFold(name) {
					appended(&names, name)
				}
			}
			if e := rel.Job.Where; e.Said() && !slices.ContainsFunc(conditions, func(o job.Expression) bool { return o.Text == e.Text }) {
				conditions = append(conditions, e)
			}
		}
	}
	wants := make([]job.Column, len(names))
	for i, name := range names {
		wants[i], _ = d.Column(name)
	}
	in, err := newReading(s.job, s.table.lookups, wants, conditions[1:], false)
	if err != nil {
		return err
	}
	spec := units.FoldSpec{Null: s.nulls(), Units: s.population, Views: len(conditions), Memory: s.table.memory}
	for _, c := range in.wants {
		f := units.Fold{Column: c.Name, By: s.foldBy(d.FoldOf(c.Name)), Number: c.Type != job.Category, Domain: c.Domain}
		if f.Number && c.Lower != nil { // a column without bounds has no sum
			f.Lower, f.Upper = rational.Up(c.Lower), rational.Down(c.Upper)
		}
		spec.Columns = append(spec.Columns, f)
	}
	spec.Columns = append(spec.Columns, units.Fold{Column: presence, By: string(job.FoldCount), Number: true, Upper: 1 << 53})
	folder, err := units.NewFolder(spec)
	if err != nil {
		return err
	}
	defer folder.Close()
	keys, columns := s.keys(in.sources)
	numbers := in.preparers(false)
	ones := table.Values{Kind: table.Float}
	err = s.table.rows.Scan(ctx, table.ScanOptions{Columns: columns, Content: s.table.Content}, func(b table.Batch) error {
		if err := in.read(b); err != nil {
			return err
		}
		values, err := in.unfolded(numbers, b.Rows)
		if err != nil {
			return err
		}
		for len(ones.Float64) < b.Rows {
			ones.Float64 = append(ones.Float64, 1)
		}
		row := ones
		row.Float64 = row.Float64[:b.Rows]
		unit, err := keys.of(b)
		if err != nil {
			return err
		}
		return folder.Add(unit, append(values, row), append([][]byte{nil}, in.masks...), b.Rows)
	})
	if err != nil {
		return err
	}
	done, err := folder.Finish()
	if err != nil {
		return err
	}
	s.units = &unitRows{views: map[string]rowSource{}, units: done.Units(), files: []io.Closer{done}}
	for i, e := range conditions {
		s.units.views[e.Text] = done.View(i)
	}
	return nil
}

// unfolded are the values of a block as a fold takes them: numbers, and codes.
func (r *reading) unfolded(numbers []*Preparer, n int) ([]table.Values, error) {
	out := make([]table.Values, len(r.wants))
	for i, c := range r.wants {
		v := r.values[i]
		switch {
		case c.Type != job.Category:
			x, err := numbers[i].AsFloats(v, n)
			if err != nil {
				return nil, err
			}
			out[i] = table.Values{Kind: table.Float, Float64: x, Valid: v.Valid}
		case r.from[i] >= 0 && r.codes[r.from[i]] != nil:
			out[i] = v
		default:
			ready, err := numbers[i].Prepare(v, n)
			if err != nil {
				return nil, err
			}
			out[i] = table.Values{Kind: table.String, Codes: ready.Codes, Dict: c.Domain}
		}
	}
	return out, nil
}

// cap chooses the rows of each unit that count, for each condition and grouping apart.
func (s *side) cap(ctx context.Context, p *plan.Planned, src *noise.Source) error {
	d := &s.job.Dataset
	index, err := s.index, error(nil)
	if index == nil {
		index, err = numberUnits(ctx, s.table.rows, s.table.Content, d.Key.Column, units.IndexSpec{Null: units.NullUnits(d.Key.Missing), Memory: s.table.memory})
	}
	if err != nil {
		return err
	}
	s.units = &unitRows{index: index, files: []io.Closer{index}, measured: map[string]rowSource{}, sets: map[string]*units.Kept{}, numbers: map[string]*units.Index{}, units: index.Units()}
	for _, rel := range p.Releases() {
		if rel.Job.Table == d.Table && rel.Job.CountsUnits() {
			if err := s.countRows(ctx, rel); err != nil {
				return err
			}
		}
	}
	if d.Cap.Choice != nil { // the cap is not known yet
		return nil
	}
	return s.capAll(ctx, p, src)
}

// capAll chooses the rows that count for all releases.
func (s *side) capAll(ctx context.Context, p *plan.Planned, src *noise.Source) (err error) {
	for _, rel := range p.Releases() {
		if rel.Job.Table != s.job.Dataset.Table || rel.Job.CountsUnits() {
			continue
		}
		if key := capKey(rel); s.units.sets[key] == nil {
			if s.units.sets[key], err = s.capOf(ctx, rel, src, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// countRows makes one row of each unit: how many of its rows pass the condition of the release.
//
// # Contract
//
// The row of a unit depends on that unit's rows alone, and a unit has one row. Under replace-one the
// number of units is that of the table; those without a row that passes, or without a row in one of several tables, are left
// out, so a unit may vanish behind a condition. Proof: measure.proof.md.
func (s *side) countRows(ctx context.Context, rel *plan.PlannedRelease) error { // P22
	where := rel.Job.Where
	var conditions []job.Expression
	if where.Said() {
		conditions = append(conditions, where)
	}
	in, err := newReading(s.job, s.table.lookups, nil, conditions, false)
	if err != nil {
		return err
	}
	folder, err := units.NewFolder(units.FoldSpec{Null: s.nulls(), Units: s.population, Views: 1 + len(conditions), Memory: s.table.memory,
		Columns: []units.Fold{{Column: job.UnitRows, By: string(job.FoldCount), Number: true, Upper: 1 << 53}}})
	if err != nil {
		return err
	}
	defer folder.Close()
	keys, columns := s.keys(in.sources)
	ones := table.Values{Kind: table.Float}
	err = s.table.rows.Scan(ctx, table.ScanOptions{Columns: columns, Content: s.table.Content}, func(b table.Batch) error {
		if err := in.read(b); err != nil {
			return err
		}
		for len(ones.Float64) < b.Rows {
			ones.Float64 = append(ones.Float64, 1)
		}
		row := ones
		row.Float64 = row.Float64[:b.Rows]
		unit, err := keys.of(b)
		if err != nil {
			return err
		}
		return folder.Add(unit, []table.Values{row}, append([][]byte{nil}, in.masks...), b.Rows)
	})
	if err != nil {
		return err
	}
	done, err := folder.Finish()
	if err != nil {
		return err
	}
	s.units.files = append(s.units.files, done)
	s.units.measured[where.Text] = done.View(len(conditions)) // view 0 has all rows
	return nil
}

// capOf chooses the rows for one condition and one grouping. A look sees the cells of all rows.
func (s *side) capOf(ctx context.Context, rel *plan.PlannedRelease, src *noise.Source, look func(first int64, cells []int32) error) (*units.Kept, error) {
	d := &s.job.Dataset
	from := &sample{job: s.job}
	known := rel.Job
	if unlisted := rel.Job.Unlisted(d); unlisted != "" {
		known.By = slices.DeleteFunc(slices.Clone(known.By), func(name string) bool { return name == unlisted })
		index, err := s.numberKeys(ctx, rel)
		if err != nil {
			return nil, err
		}
		s.units.numbers[capKey(rel)], s.units.files = index, append(s.units.files, index)
	}
	cells := plan.NewCells(s.job, &known, nil)
	numbers, coder := s.units.numbers[capKey(rel)], newCelled(cells, from)
	one := &sink{cells: coder}
	if rel.Job.Where.Said() {
		one.masks = append(one.masks, from.condition(rel.Job.Where))
	}
	in, err := newReading(s.job, s.table.lookups, from.columns, from.conditions, false)
	if err != nil {
		return nil, err
	}
	groups := d.Cap.Groups
	if len(rel.Job.By) == 0 {
		groups = 1
	}
	capper, err := units.NewCapper(s.units.index, int(groups), int(d.Cap.Rows), src)
	if err != nil {
		return nil, err
	}
	defer capper.Close()
	preparers := in.preparers(false)
	columns := in.sources
	err = s.table.rows.Scan(ctx, table.ScanOptions{Columns: columns, Content: s.table.Content}, func(b table.Batch) error {
		if err := in.read(b); err != nil {
			return err
		}
		out := block{rows: b.Rows, masks: in.masks}
		if out.ready, err = in.prepare(preparers, b.Rows); err != nil {
			return err
		}
		codes := coder.of(b.Rows, out.ready, one.mask(out))
		if numbers != nil {
			if err := keyedCells(numbers, b.Block.First, codes, cells.Len()); err != nil {
				return err
			}
		}
		if look != nil {
			if err := look(b.Block.First, codes); err != nil {
				return err
			}
		}
		return capper.Add(b.Block.First, codes)
	})
	if err != nil {
		return nil, err
	}
	return capper.Finish()
}

// source returns the rows that a release reads.
func (s *side) source(rel *plan.PlannedRelease) rowSource {
	if rel.Job.CountsUnits() {
		return s.units.measured[rel.Job.Where.Text]
	}
	if !s.units.folds() {
		return s.table.rows
	}
	return s.units.views[rel.Job.Where.Text]
}

// batches are some of the releases by the scan that feeds them: not too many, and all of
// the same rows.
func (r *Runner) batches(releases []*plan.PlannedRelease, some func(*plan.PlannedRelease) bool) [][]*plan.PlannedRelease {
	var out [][]*plan.PlannedRelease
	for _, rel := range releases {
		if !some(rel) {
			continue
		}
		at := slices.IndexFunc(out, func(b []*plan.PlannedRelease) bool {
			return len(b) < together && r.side(b[0]).source(b[0]) == r.side(rel).source(rel)
		})
		if at < 0 {
			at = len(out)
			out = append(out, nil)
		}
		out[at] = append(out[at], rel)
	}
	return out
}

// strata are the units of the public frame of a draw in which the rows lie, nil where it
// has none.
func (r *Runner) strata(ctx context.Context, d *plan.PlannedDraw) ([]int32, error) {
	first := r.sides[r.Plan.Job.Dataset.Population]
	if first == nil {
		return nil, nil // no table has every unit, so no design has a frame
	}
	from, content := first.table.rows, first.table.Content
	switch {
	case first.units.folds():
		from, content = first.units.views[""], nil
	case r.part == nil:
		return r.Table.units[d.Name], r.Table.refused[d.Name]
	}
	units, refused, err := findUnits(ctx, first.job, d, from, content)
	if err == nil && r.part == nil && matches(r.Plan.Job, d, samplers.CountUnits(units)) != nil { // of parts the host compares the sums
		err = errFrame
	}
	if err == nil {
		err = refused
	}
	return units, err
}

// What can go wrong with units beside a missing key. The texts are fixed (P20).
var (
	errTempFull     = failure.New(failure.ExitSource, "TEMP_FULL", "the units or keys of the table do not fit in memory, and the folder of temporary files has no room for them"+failure.SpentOnly)
	errTempUnusable = failure.New(failure.ExitSource, "TEMP_UNUSABLE", "the units or keys of the table do not fit in memory, and the folder of temporary files cannot be used"+failure.SpentOnly)
	errTooMany      = failure.New(failure.ExitSource, "SOURCE_LIMIT", "the table has more units than can be numbered; fold them instead of capping them"+failure.SpentOnly)
)

// unitFailure translates an error of a fold, an index, a cap or a selection of keys, whenever it comes.
func unitFailure(err error) error {
	for known, f := range map[error]error{units.ErrNullKey: errNoUnit, nameless.ErrFull: errTempFull, nameless.ErrUnusable: errTempUnusable, units.ErrLimit: errTooMany} {
		if errors.Is(err, known) {
			return f
		}
	}
	return err
}
