package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// request holds the parameters and the public facts that a mechanism gets for one release,
// after filters, groups and units.
type request struct {
	params json.RawMessage
	public sdk.Public
	cells  *Cells
	apart  bool
	groups int64 // apart, and a unit may have rows in so many groups; 0 stands for 1

	weights *Weigher // of a survey, nil for none
}

// Filtered reports whether rows of the sample may not count in a release: they reach the
// mechanism as missing (P24).
func Filtered(j *job.Job, r *job.Release) bool {
	w := j.Dataset.WeightsOf(r)
	return r.Where.Said() || r.Having.Said() || j.Dataset.Cap != nil || w != nil && w.Of(&j.Dataset).Missing.Rule == job.Drop
}

// newRequest settles how a mechanism sees the rows of a release.
func newRequest(j *job.Job, d *Draw, r *Release) (request, error) {
	about := r.Mech.About()
	out := request{params: r.Job.Params, public: public(j, d, r)}
	if err := out.weigh(j, d, r); err != nil {
		return out, err
	}
	if j.Dataset.Cap != nil {
		if !about.Capped {
			return out, fmt.Errorf("%s does not support units with several rows, so dataset.cap does not protect them: use dataset.fold", r.Job.Mechanism)
		}
		out.public.Cap = &sdk.Cap{Groups: j.Dataset.Cap.Groups, Rows: j.Dataset.Cap.Rows}
		if len(r.Job.By) == 0 {
			out.public.Cap.Groups = 1
		}
		// The number of rows is private, also where that of units is public.
		out.public.Population, out.public.Design.SampleSize, out.public.Design.LargestCount = 0, 0, 0
	}
	filtered := Filtered(j, &r.Job)
	if filtered {
		for i := range out.public.Columns {
			out.public.Columns[i].Missing, out.public.Columns[i].Immutable = sdk.MissingDrop, false
		}
	}
	own, err := byOf(r.Job.Params)
	switch {
	case err != nil:
		return out, err
	case own && len(r.Job.By) > 0:
		return out, fmt.Errorf("params.by and by both say the groups: leave params.by out")
	case own && j.Dataset.Cap != nil:
		return out, fmt.Errorf("say by beside params, and not in it: with dataset.cap the groups of a release are the host's") // P22: k of the release's own cells
	case about.Grouped && !own && (filtered || len(r.Job.By) > 0):
		out.cells = NewCells(j, &r.Job, r.values)
		out.cells.Column = out.cells.name(j)
		out.public.Columns = append(slices.DeleteFunc(out.public.Columns, func(c sdk.Column) bool { return c.Name == out.cells.Column }),
			sdk.Column{Name: out.cells.Column, Type: sdk.Category, Domain: out.cells.Labels(), Missing: out.cells.missing(filtered), Immutable: !filtered && out.cells.keeps(j, d)})
		if out.params, err = with(r.Job.Params, "by", out.cells.Column); err != nil {
			return out, err
		}
	case len(r.Job.By) > 0:
		out.cells, out.apart = NewCells(j, &r.Job, r.values), true
		out.ofOneGroup()
	}
	return out, out.addInterval(j, d, r)
}

// ofOneGroup limits the public facts to those of one group: its number of rows is private.
func (q *request) ofOneGroup() {
	q.public.Relation, q.public.Population, q.public.Design.SampleSize = privacy.AddRemove, 0, 0
	if slices.Contains(q.public.SampleRelations, privacy.ReplaceOne) {
		// A row that leaves one group for another comes or goes in both (P11).
		q.public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	}
	for i := range q.public.Columns {
		q.public.Columns[i].Immutable = false
	}
	if q.public.Cap != nil {
		q.groups, q.public.Cap.Groups = q.public.Cap.Groups, 1
	}
}

// missing says whether a row may be in no cell.
func (c *Cells) missing(filtered bool) sdk.Missing {
	if filtered || c.Other == "" && slices.ContainsFunc(c.By, func(b job.Column) bool { return missing(b) == sdk.MissingDrop }) {
		return sdk.MissingDrop
	}
	return sdk.MissingRefuse
}

// fixed reports whether a neighbour cannot move a row from one cell to another (P11).
func (c *Cells) fixed(j *job.Job, d *Draw) bool {
	return sameUnit(j, d.Design) && len(c.By) > 0 && !slices.ContainsFunc(c.By, func(b job.Column) bool { return !b.Immutable })
}

// keeps reports whether no row of the sample is in another cell than the one it stands for: also
// where the cells are those of the strata that were drawn from (P27).
func (c *Cells) keeps(j *job.Job, d *Draw) bool {
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

// with adds one parameter.
func with(raw json.RawMessage, key string, value any) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	all[key] = text
	return json.Marshal(all)
}
