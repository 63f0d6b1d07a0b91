package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Question is a release before it has a plan. It holds for every amount.
type Question struct {
	planned.Release
	// design is that of the draw, and under are its relations, under which every plan is charged.
	design samplers.Design
	under  []privacy.Relation
	job    *job.Job // that of the table
	cap    *job.Cap // of the release, nil where its rows are not capped
	schema *params.Schema
}

func (q *Question) path(j *job.Job) string { return j.ReleasePath(q.Index) }

// newQuestion settles how a mechanism sees the rows of a release. Values are those that a
// selection found for its group column, nil before it.
func newQuestion(j *job.Job, d *DraftDraw, a ask, values []string) (Question, error) {
	r, about := &j.Releases[a.index], a.mech.About()
	j = j.Of(r.Table)
	out := Question{Release: planned.Release{Index: a.index, Job: *r, Mech: a.mech, Params: r.Params},
		design: d.Design, under: d.Relations, job: j, schema: a.schema, cap: j.Dataset.CapOf(r)}
	if j.Dataset.WeightsOf(r) != nil && !about.Weighted {
		return out, fmt.Errorf("%s does not use the weights of a survey, and its sensitivity is not that of weighted rows: "+
			"say weights: none for this release, or take a mechanism that uses them (plugin list)", r.Mechanism)
	}
	if out.cap != nil && !about.Capped {
		return out, fmt.Errorf("%s does not support units with several rows, so dataset.cap does not protect them: use dataset.fold, "+
			"or a mechanism that does, such as quantiles for a median", r.Mechanism)
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
	case about.Grouped && !own && (planned.Filtered(j, r) || len(r.By) > 0):
		out.Cells = planned.NewCells(j, r, values)
		out.Cells.Column = out.Cells.NameIn(j)
		if out.Params, err = planned.AddParam(r.Params, "by", out.Cells.Column); err != nil {
			return out, err
		}
	case len(r.By) > 0:
		out.Cells, out.Apart = planned.NewCells(j, r, values), true
	}
	if err := out.Tell(j, d.Design, d.Relations); err != nil {
		return out, err
	}
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

// byOf reports whether parameters say groups of their own.
func byOf(raw json.RawMessage) (bool, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return false, fmt.Errorf("must be a mapping")
	}
	_, has := all["by"]
	return has, nil
}
