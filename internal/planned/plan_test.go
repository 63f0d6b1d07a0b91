package planned

import (
	"context"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// answering is a planner that answers with a plan.
type answering struct{ plan *Plan }

func (a answering) Again(context.Context, Found) (*Plan, error) { return a.plan, nil }
func (answering) Choose(string, []float64, float64) int64       { return 1 }

var whole = func() samplers.Design { d, _ := samplers.NewFull(9); return d }()

// found is a plan of one release by groups of units with a cap, and what change makes of it.
func found(rows int64, groups int, change func(p *Plan, r *Release)) *Plan {
	event := privacy.DiscreteLaplace{Scale: 2, Sensitivity: privacy.Sensitivity{AddRemove: 6, ReplaceOne: 12}}
	r := &Release{
		Job:   job.Release{Name: "c", By: []string{"town"}},
		Cells: &Cells{Column: "town", labels: Numbered(groups), cells: groups},
		Public: sdk.Public{Relation: privacy.AddRemove, Cap: &sdk.Cap{Groups: 2, Rows: rows, Times: 720 / rows},
			Design:  sdk.Design{Kind: "full", Rate: 1, MaxWeight: 1},
			Columns: []sdk.Column{{Name: "x", Upper: 3}, {Name: "town", Type: sdk.Category, Domain: Numbered(groups)}}},
		Answered: Answered{Plan: sdk.Plan{Event: event, Columns: []string{"x", "town"}}},
	}
	of := job.Dataset{Cap: &job.Cap{Groups: 2, CapRows: job.CapRows{Rows: 6, Choice: &job.Choice{}}}}
	p := &Plan{Job: &job.Job{Dataset: of}, Draws: []*Draw{{Sampled: Sampled{Name: "whole", Design: whole}, Releases: []*Release{r}}}}
	if change != nil {
		change(p, r)
	}
	return p
}

// P38: a planner that is told what a run found changes the groups and how often the rows of a cap count, and nothing else that
// the price rests on.
func TestWithHoldsThePlanner(t *testing.T) {
	for name, c := range map[string]struct {
		rows    int64
		groups  int
		change  func(p *Plan, r *Release)
		refused bool
	}{
		"fewer groups, a found cap": {2, 3, nil, false},
		"another job":               {2, 3, func(p *Plan, _ *Release) { p.Job = &job.Job{} }, false}, // is not looked at
		"another cap":               {3, 3, nil, true},
		"more groups":               {2, 5, nil, true},
		"more rows of a unit":       {2, 3, func(_ *Plan, r *Release) { r.Public.Cap.Times = 120 }, true},
		"no groups":                 {2, 4, func(_ *Plan, r *Release) { r.Cells = nil }, true},
		"no cap":                    {2, 4, func(_ *Plan, r *Release) { r.Public.Cap = nil }, true},
		"a unit in more groups":     {2, 4, func(_ *Plan, r *Release) { r.Public.Cap.Groups = 1 }, true},
		"other bounds":              {2, 4, func(_ *Plan, r *Release) { r.Public.Columns[0].Upper = 1 }, true},
		"other relation":            {2, 4, func(_ *Plan, r *Release) { r.Public.Relation = privacy.ReplaceOne }, true},
		"other weights":             {2, 4, func(_ *Plan, r *Release) { r.Weights = &Weigher{Most: 2} }, true},
		"other rows":                {2, 4, func(_ *Plan, r *Release) { r.Job.Table = "visits" }, true},
		"other groups":              {2, 4, func(_ *Plan, r *Release) { r.Job.By = nil }, true},
		"group by group":            {2, 4, func(_ *Plan, r *Release) { r.Apart = true }, true},
		"numbers of a selection":    {2, 4, func(_ *Plan, r *Release) { r.Tally = &Tally{} }, true},
		"a series":                  {2, 4, func(_ *Plan, r *Release) { r.Series = &Series{} }, true},
		"less noise": {2, 4, func(_ *Plan, r *Release) {
			r.Plan.Event = privacy.DiscreteLaplace{Scale: 1, Sensitivity: privacy.Sensitivity{AddRemove: 6, ReplaceOne: 12}}
		}, true},
		"another draw":     {2, 4, func(p *Plan, _ *Release) { p.Draws[0].Name = "half" }, true},
		"another sample":   {2, 4, func(p *Plan, _ *Release) { p.Draws[0].Kept = &Kept{ID: "1"} }, true},
		"a release more":   {2, 4, func(p *Plan, r *Release) { p.Draws[0].Releases = append(p.Draws[0].Releases, r) }, true},
		"a draw more":      {2, 4, func(p *Plan, _ *Release) { p.Draws = append(p.Draws, p.Draws[0]) }, true},
		"a selection more": {2, 4, func(p *Plan, _ *Release) { p.Draws[0].Keys = []*Keys{{}} }, true},
	} {
		p := found(6, 4, nil)
		p.Planner = answering{found(c.rows, c.groups, c.change)}
		next, err := p.With(t.Context(), Found{Rows: map[string]int64{"": 2}})
		if (err != nil) != c.refused {
			t.Errorf("%s: refused is %v", name, err)
		}
		if err == nil && (next.Job.Dataset.Cap.Rows != 2 || p.Job.Dataset.Cap.Rows != 6 || !slices.Equal(next.Draws, p.Planner.(answering).plan.Draws)) {
			t.Errorf("%s: the plan is that of a cap of %d", name, next.Job.Dataset.Cap.Rows)
		}
	}
}
