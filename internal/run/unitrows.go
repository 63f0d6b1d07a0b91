package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/data/unlinked"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// tableView is a table of a job as its releases see it. Its rows are units, or they are sorted by their units (P22): folded
// to one row each, or capped.
type tableView struct {
	job   *job.Job
	table *OpenedTable
	index *units.Index // the unit of each row; nil where a row is one
	// population is the number of units in the index.
	population int64
	units      map[string]rowSource   // rows with one unit each, by the condition on the rows that they are made of
	sets       map[string]*units.Kept // the rows that count, by condition and groups
	// numbers number the values of a group column that nobody lists, by the same.
	numbers map[string]*units.Index
	files   []io.Closer // what does not fit in memory
}

// view returns the table that a release reads.
func (r *Runner) view(rel *planned.Release) *tableView { return r.called(rel.Job.Table) }

// called returns the table of a name.
func (r *Runner) called(name string) *tableView {
	return r.views[slices.IndexFunc(r.views, func(v *tableView) bool { return v.job.Dataset.Table == name })]
}

// close gives up the files of units that did not fit in memory.
func (v *tableView) close() {
	for _, f := range v.files {
		f.Close()
	}
}

func (v *tableView) caps() bool  { return v.index != nil && v.job.Dataset.Cap != nil }
func (v *tableView) folds() bool { return v.units != nil && !v.caps() }

// capped are the rows that count in a release, nil for all.
func (v *tableView) capped(rel *planned.Release) *units.Kept {
	if !v.caps() || rel.Job.CountsUnits() {
		return nil
	}
	return v.sets[v.capKey(rel)]
}

// source returns the rows that a release reads.
func (v *tableView) source(rel *planned.Release) rowSource {
	if v.folds() || rel.Job.CountsUnits() {
		return v.units[rel.Job.Where.Text]
	}
	return v.table.rows
}

// capKey tells apart the releases whose units are capped apart.
func (v *tableView) capKey(rel *planned.Release) string {
	c := v.job.Dataset.CapOf(&rel.Job)
	key := fmt.Sprintf("%d in %d\x00%s\x00%s", c.Rows, c.Groups, rel.Job.Where.Text, rel.Job.Other)
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
var errSize = failure.New(failure.ExitSource, "SAMPLE_SIZE_MISMATCH", "dataset.size is not the number of units in the table"+
	failure.SpentOnly)

// settleUnits holds the tables to what the job says of their units: it numbers the units of all, joins the tables, and folds or
// caps each one that a release reads. Rows that are units themselves stay as they are. It comes after the debit: what it
// finds depends on values (P20).
func (r *Runner) settleUnits(ctx context.Context, src *noise.Source) (err error) {
	d := &r.Plan.Job.Dataset
	if r.population = r.Table.Rows(); len(d.Tables) > 0 || d.Cap != nil || d.Folds() {
		if err = r.number(ctx); err == nil {
			err = r.counted()
		}
	}
	for _, v := range r.views {
		if err == nil {
			err = v.checkUnit(ctx)
		}
	}
	if err == nil {
		err = r.shape(ctx, src)
	}
	return err
}

// shape joins the tables, and folds or caps each one that a release reads.
func (r *Runner) shape(ctx context.Context, src *noise.Source) (err error) {
	for _, v := range r.views {
		if err == nil {
			v.table, err = r.join(ctx, v)
		}
	}
	for _, v := range r.views {
		switch {
		case err != nil || !r.read(v):
		case v.caps():
			err = v.cap(ctx, r.Plan, src)
		case v.job.Dataset.Folds() || v.table.shares:
			err = v.fold(ctx, r.Plan)
		}
	}
	return err
}

// number numbers the units of all tables at once.
func (r *Runner) number(ctx context.Context) (err error) {
	if r.index, r.population, err = r.Table.numberTables(ctx, r.Plan.Job); err != nil {
		return err
	}
	for i, v := range r.views {
		v.index, v.population = r.index.parts[i], r.population
	}
	return nil
}

// counted compares the number of units with what the job says of it. The parts of a table are not compared.
func (r *Runner) counted() error {
	if d := &r.Plan.Job.Dataset; r.part == nil && d.Relation == privacy.ReplaceOne && r.population != d.Size {
		return errSize
	}
	return nil
}

// read reports whether a release, or a draw, reads the rows of a table.
func (r *Runner) read(v *tableView) bool {
	return !v.job.Dataset.MayVanish() ||
		slices.ContainsFunc(r.Plan.Releases(), func(rel *planned.Release) bool { return r.view(rel) == v })
}

// presence is the folded column that counts the rows of a unit that count.
const presence = job.UnitRows

// fold makes one row of the rows of each unit, for each condition apart.
func (v *tableView) fold(ctx context.Context, p *planned.Plan) error {
	d, f := &v.job.Dataset, &folding{}
	var names []string
	for _, draw := range p.Draws {
		if !d.MayVanish() {
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
			f.view(rel.Job.Where)
		}
	}
	for _, name := range names {
		c, _ := d.Column(name)
		f.add(units.Fold{Column: name, By: v.foldBy(d.FoldOf(name))}, &c, &c)
	}
	return v.foldRows(ctx, f)
}

// countRows makes one row of each unit, in the place of a cap: how many of its rows pass the condition of a release.
//
// # Contract
//
// The row of a unit depends on that unit's rows alone, and a unit has one row. Under replace-one the
// number of units is that of the table; those without a row that passes, or without a row in one of several tables, are left
// out, so a unit may vanish behind a condition. Proof: measure.proof.md.
func (v *tableView) countRows(ctx context.Context, p *planned.Plan) error { // P22
	f, some := &folding{}, false
	for _, rel := range p.Releases() {
		if rel.Job.Table == v.job.Dataset.Table && rel.Job.CountsUnits() {
			f.view(rel.Job.Where)
			some = true
		}
	}
	if !some {
		return nil
	}
	return v.foldRows(ctx, f)
}

// foldRows folds the rows of the table, and counts them.
func (v *tableView) foldRows(ctx context.Context, f *folding) error {
	f.add(units.Fold{Column: presence, By: string(job.FoldCount)}, nil, nil)
	done, err := v.folded(ctx, v.table.rows, f)
	if err != nil {
		return err
	}
	v.files, v.units = append(v.files, done), map[string]rowSource{"": done.View(0)}
	for i, e := range f.conditions {
		v.units[e.Text] = done.View(i + 1)
	}
	return nil
}

// cap chooses the rows of each unit that count, for each condition and grouping apart.
func (v *tableView) cap(ctx context.Context, p *planned.Plan, src *noise.Source) error {
	v.sets, v.numbers = map[string]*units.Kept{}, map[string]*units.Index{}
	if err := v.countRows(ctx, p); err != nil || v.job.Dataset.Cap.Choice != nil { // the cap is not known yet
		return err
	}
	return v.capAll(ctx, p, src)
}

// capAll chooses the rows that count for all releases.
func (v *tableView) capAll(ctx context.Context, p *planned.Plan, src *noise.Source) (err error) {
	for _, rel := range p.Releases() {
		if rel.Job.Table != v.job.Dataset.Table || rel.Job.CountsUnits() {
			continue
		}
		if key := v.capKey(rel); v.sets[key] == nil {
			if v.sets[key], err = v.capOf(ctx, rel, src); err != nil {
				return err
			}
		}
	}
	return nil
}

// capOf chooses the rows for one condition, one grouping and one cap.
//
// # Contract
//
// Of each unit it keeps rows in at most as many of the release's own cells as the release's cap says, and at most as many rows in
// each, whatever the job promises of its columns. Proof: caps.proof.md. // P22
func (v *tableView) capOf(ctx context.Context, rel *planned.Release, src *noise.Source) (*units.Kept, error) {
	d := &v.job.Dataset
	from := &sample{job: v.job}
	known := rel.Job
	if unlisted := rel.Job.Unlisted(d); unlisted != "" {
		known.By = slices.DeleteFunc(slices.Clone(known.By), func(name string) bool { return name == unlisted })
		index, err := v.numberKeys(ctx, rel)
		if err != nil {
			return nil, err
		}
		v.numbers[v.capKey(rel)], v.files = index, append(v.files, index)
	}
	cells := planned.NewCells(v.job, &known, nil)
	numbers, coder := v.numbers[v.capKey(rel)], newCelled(cells, from)
	one := &sink{cells: coder}
	if rel.Job.Where.Said() {
		one.masks = append(one.masks, from.condition(rel.Job.Where))
	}
	in, err := newReading(v.job, v.table.lookups, from.columns, from.conditions, false)
	if err != nil {
		return nil, err
	}
	limit := d.CapOf(&rel.Job)
	capper, err := units.NewCapper(v.index, int(limit.Groups), int(limit.Rows), src)
	if err != nil {
		return nil, err
	}
	defer capper.Close()
	preparers := in.preparers(false)
	err = newPass(v.table.rows, v.table.Content, in).run(ctx, func(b table.Batch) error {
		out := in.block(b)
		if out.ready, err = in.prepare(preparers, b.Rows); err != nil {
			return err
		}
		codes := coder.of(b.Rows, out.ready, one.mask(out))
		if numbers != nil {
			if err := keyedCells(numbers, b.Block.First, codes, cells.Len()); err != nil {
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

// batches are some of the releases by the scan that feeds them: not too many, and all of
// the same rows.
func (r *Runner) batches(releases []*planned.Release, some func(*planned.Release) bool) [][]*planned.Release {
	var out [][]*planned.Release
	for _, rel := range releases {
		if !some(rel) {
			continue
		}
		at := slices.IndexFunc(out, func(b []*planned.Release) bool {
			return len(b) < together && r.view(b[0]).source(b[0]) == r.view(rel).source(rel)
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
func (r *Runner) strata(ctx context.Context, d *planned.Draw) ([]int32, error) {
	at := slices.IndexFunc(r.views, func(v *tableView) bool { return !v.job.Dataset.MayVanish() })
	if at < 0 {
		return nil, nil // no table has every unit, so no design has a frame
	}
	first := r.views[at]
	from, content := first.table.rows, first.table.Content
	switch {
	case first.folds():
		from, content = first.units[""], nil
	case r.part == nil:
		return first.table.units[d.Name], first.table.refused[d.Name]
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
	errTempFull = failure.New(failure.ExitSource, "TEMP_FULL",
		"the units or keys of the table do not fit in memory, "+
			"and the folder of temporary files has no room for them"+failure.SpentOnly)
	errTempUnusable = failure.New(failure.ExitSource, "TEMP_UNUSABLE",
		"the units or keys of the table do not fit in memory, and the folder of temporary files cannot be used"+failure.SpentOnly)
	errTooMany = failure.New(failure.ExitSource, "SOURCE_LIMIT",
		"the table has more units than can be numbered; leave out rows that the job does not need"+failure.SpentOnly)
)

// unitFailure translates an error of a fold, an index, a cap or a selection of keys, whenever it comes.
func unitFailure(err error) error {
	for known, f := range map[error]error{units.ErrNullKey: errNoUnit, unlinked.ErrFull: errTempFull,
		unlinked.ErrUnusable: errTempUnusable, units.ErrLimit: errTooMany} {
		if errors.Is(err, known) {
			return f
		}
	}
	return err
}
