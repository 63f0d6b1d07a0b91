package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Question is a release before it has a plan. It holds for every amount.
type Question struct {
	planned.Release
	// design is that of the draw.
	design samplers.Design
	job    *job.Job // that of the table
	cap    *job.Cap // of the release, nil where its rows are not capped
	schema *params.Schema
}

func (q *Question) path(j *job.Job) string { return j.ReleasePath(q.Index) }

// Filtered reports whether rows of the sample may not count in a release: they reach the
// mechanism as missing (P24).
func Filtered(j *job.Job, r *job.Release) bool {
	j = j.Of(r.Table)
	w := j.Dataset.WeightsOf(r)
	return j.Dataset.MayVanish() || r.Where.Said() || r.Having.Said() || j.Dataset.CapOf(r) != nil ||
		w != nil && w.Of(&j.Dataset).Missing.Rule == job.Drop
}

// whole reports whether a filter lets the row of a unit through as it is, or not at all. So a value
// that neighbours keep is the same on both sides where the row counts on both (P11, P27). Of several
// rows of a unit others may be left: one row is then folded from them, or kept, with another value.
func whole(j *job.Job, r *job.Release) bool {
	return j.Dataset.Cap == nil && !j.Dataset.MayVanish() && !(j.Dataset.Folds() && r.Where.Said())
}

// newQuestion settles how a mechanism sees the rows of a release. Values are those that a
// selection found for its group column, nil before it.
func newQuestion(j *job.Job, d *DraftDraw, a ask, values []string) (Question, error) {
	r, about := &j.Releases[a.index], a.mech.About()
	j = j.Of(r.Table)
	out := Question{Release: planned.Release{Index: a.index, Job: *r, Mech: a.mech, Params: r.Params, Public: public(j, d, r)},
		design: d.Design, job: j, schema: a.schema}
	if err := out.weigh(j, d); err != nil {
		return out, err
	}
	if out.cap = j.Dataset.CapOf(r); out.cap != nil {
		if !about.Capped {
			return out, fmt.Errorf("%s does not support units with several rows, so dataset.cap does not protect them: use dataset.fold, "+
				"or a mechanism that does, such as quantiles for a median", r.Mechanism)
		}
		out.Public.Cap = &sdk.Cap{Groups: out.cap.Groups, Rows: out.cap.Rows, Times: out.cap.Times()}
		// The number of rows is private, also where that of units is public.
		out.Public.Population, out.Public.Design.SampleSize, out.Public.Design.LargestCount = 0, 0, 0
	}
	filtered := Filtered(j, r)
	if filtered {
		for i := range out.Public.Columns {
			c := &out.Public.Columns[i]
			c.Missing, c.Immutable = sdk.MissingDrop, c.Immutable && whole(j, r)
		}
	}
	own, err := byOf(r.Params)
	switch {
	case err != nil:
		return out, err
	case own && len(r.By) > 0:
		return out, fmt.Errorf("params.by and by both say the groups: leave params.by out")
	case own && j.Dataset.Cap != nil:
		// P22: k of the release's own cells
		return out, fmt.Errorf("say by beside params, and not in it: with dataset.cap the groups of a release are the host's")
	case about.Grouped && !own && (filtered || len(r.By) > 0):
		out.Cells = planned.NewCells(j, r, values)
		out.Cells.Column = out.Cells.NameIn(j)
		out.Public.Columns = append(slices.DeleteFunc(out.Public.Columns, func(c sdk.Column) bool { return c.Name == out.Cells.Column }),
			sdk.Column{Name: out.Cells.Column, Type: sdk.Category, Domain: out.Cells.Labels(), Missing: missingIn(out.Cells, filtered),
				Immutable: (!filtered || whole(j, r)) && keepsCell(out.Cells, j, d)})
		if out.Params, err = planned.AddParam(r.Params, "by", out.Cells.Column); err != nil {
			return out, err
		}
	case len(r.By) > 0:
		out.Cells, out.Apart = planned.NewCells(j, r, values), true
		out.ofOneGroup()
	}
	// A row that a filter lets through in one table and not in the other comes or goes. An event
	// that is fixed is charged for rows that stay.
	out.Fixed = out.Apart && !filtered && isFixed(out.Cells, j, d)
	if err := out.addInterval(j, d); err != nil {
		return out, err
	}
	return out, out.supported()
}

// supported refuses what the mechanism does not support.
func (q *Question) supported() error {
	for _, rel := range q.Public.SampleRelations {
		if !slices.Contains(q.Mech.About().Relations, rel) {
			return fmt.Errorf("%s does not support %s on the sample", q.Job.Mechanism, rel)
		}
	}
	if !slices.Contains(q.Mech.About().Designs, q.Public.Design.Kind) {
		return fmt.Errorf("%s does not support samples drawn by %s", q.Job.Mechanism, q.Public.Design.Kind)
	}
	return validate(q.schema, q.Params)
}

// ofOneGroup limits the public facts to those of one group: its number of rows is private.
func (q *Question) ofOneGroup() {
	q.Public.Relation, q.Public.Population, q.Public.Design.SampleSize = privacy.AddRemove, 0, 0
	if slices.Contains(q.Public.SampleRelations, privacy.ReplaceOne) {
		// A row that leaves one group for another comes or goes in both (P11).
		q.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	}
	for i := range q.Public.Columns {
		q.Public.Columns[i].Immutable = false
	}
	if q.Public.Cap != nil {
		q.Groups, q.Public.Cap.Groups = q.Public.Cap.Groups, 1
	}
}

// missingIn returns whether a row may be in no cell.
func missingIn(c *planned.Cells, filtered bool) sdk.Missing {
	if filtered || c.Other == "" && slices.ContainsFunc(c.By, func(b job.Column) bool { return missing(b) == sdk.MissingDrop }) {
		return sdk.MissingDrop
	}
	return sdk.MissingRefuse
}

// isFixed reports whether a neighbour cannot move a row from one cell to another (P11).
func isFixed(c *planned.Cells, j *job.Job, d *DraftDraw) bool {
	return sameUnit(j, d.Design) && len(c.By) > 0 && !slices.ContainsFunc(c.By, func(b job.Column) bool { return !b.Immutable })
}

// keepsCell reports whether no row of the sample is in another cell than the one it stands for: also
// where the cells are those of the strata that were drawn from (P27).
func keepsCell(c *planned.Cells, j *job.Job, d *DraftDraw) bool {
	return len(c.By) > 0 && !slices.ContainsFunc(c.By, func(b job.Column) bool {
		return !stratum(d.Design, b.Name) && !(b.Immutable && sameUnit(j, d.Design))
	})
}

// byOf reports whether parameters say groups of their own.
func byOf(raw json.RawMessage) (bool, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return false, fmt.Errorf("must be a mapping")
	}
	_, has := all["by"]
	return has, nil
}
