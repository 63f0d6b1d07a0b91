package planned

import (
	"context"
	"math/big"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// answering is a planner that answers with a plan.
type answering struct{ plan *Plan }

func (a answering) Again(context.Context, Found) (*Plan, error) { return a.plan, nil }
func (answering) Choose(string, []float64, float64) int64       { return 1 }

var half = func() samplers.Design {
	rate, _ := samplers.ParseRate("1/2")
	d, _ := samplers.NewPoisson(rate, 9)
	return d
}()

var all9 = func() samplers.Design { d, _ := samplers.NewFull(9); return d }()

// found is a plan of one release by groups of units with a cap, and what change makes of it.
func found(rows int64, groups int, change func(p *Plan, r *Release)) *Plan {
	event := privacy.DiscreteLaplace{Scale: 2, Sensitivity: privacy.Sensitivity{AddRemove: 6, ReplaceOne: 12}}
	of := job.Dataset{Relation: privacy.AddRemove, Cap: &job.Cap{Groups: 2, CapRows: job.CapRows{Rows: rows, Choice: &job.Choice{}}},
		Columns: []job.Column{{Name: "x", Type: job.Number, Lower: new(big.Rat), Upper: big.NewRat(3, 1)}, {Name: "town"}}}
	j := &job.Job{Dataset: of, Releases: []job.Release{{Name: "c", By: []string{"town"}, Keys: &job.Keys{}}}}
	r := &Release{Job: j.Releases[0], Answered: Answered{Plan: sdk.Plan{Event: event, Columns: []string{"x", "town"}}}}
	r.Cells = NewCells(j, &r.Job, Numbered(groups))
	r.Cells.Column = "town"
	if err := r.Tell(j, all9, []privacy.Relation{privacy.AddRemove}); err != nil {
		panic(err)
	}
	p := &Plan{Job: j, Draws: []*Draw{{Sampled: Sampled{Name: "whole", Design: all9}, Releases: []*Release{r}}}}
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

// P38: the first plan comes from a planner too. What its price rests on is what a run does to the rows.
func TestHeldComparesWithTheJob(t *testing.T) {
	for name, change := range map[string]func(p *Plan, r *Release){
		"":                          nil,
		"narrower bounds":           func(_ *Plan, r *Release) { r.Public.Columns[0].Upper = 1 },
		"a value that nobody moves": func(_ *Plan, r *Release) { r.Public.Columns[0].Immutable = true },
		"groups that nobody leaves": func(_ *Plan, r *Release) { r.Public.Columns[1].Immutable = true },
		"a column less":             func(_ *Plan, r *Release) { r.Public.Columns = r.Public.Columns[1:] },
		"another rule for missing":  func(_ *Plan, r *Release) { r.Public.Columns[0].Missing = sdk.MissingRefuse },
		"another relation":          func(_ *Plan, r *Release) { r.Public.Relation = privacy.ReplaceOne },
		"another relation of draws": func(_ *Plan, r *Release) { r.Public.SampleRelations = nil },
		"another population":        func(_ *Plan, r *Release) { r.Public.Population = 9 },
		"smaller weights":           func(_ *Plan, r *Release) { r.Public.Design.MaxWeight = 0.5 },
		"weights of its own":        func(_ *Plan, r *Release) { r.Weights = &Weigher{Most: 1} },
		"another rate":              func(_ *Plan, r *Release) { r.Public.Design.Rate = 0.5 },
		"a smaller cap":             func(_ *Plan, r *Release) { r.Public.Cap.Times = 1 },
		"no cap":                    func(_ *Plan, r *Release) { r.Public.Cap = nil },
		"a unit in one group":       func(_ *Plan, r *Release) { r.Public.Cap.Groups = 1 },
		"group by group":            func(_ *Plan, r *Release) { r.Apart, r.Groups = true, 1 },
		"rows that stay":            func(_ *Plan, r *Release) { r.Fixed = true },
		"no groups":                 func(_ *Plan, r *Release) { r.Cells = nil },
		"other groups":              func(_ *Plan, r *Release) { r.Cells.By[0].Immutable = true },
		"clusters":                  func(_ *Plan, r *Release) { r.Clusters = &Clusters{} },
		"another condition":         func(_ *Plan, r *Release) { r.Job.Where.Text = "x > 1" },
		"another release":           func(_ *Plan, r *Release) { r.Job.Name = "d" },
		"a series":                  func(_ *Plan, r *Release) { r.Series = &Series{} },
		"another draw":              func(p *Plan, _ *Release) { p.Draws[0].Design = half },
		"a table that was drawn": func(p *Plan, _ *Release) {
			srs, _ := samplers.NewSRSWORAtLeast(3, 9)
			p.Table = &Draw{Sampled: Sampled{Design: srs}}
		},
		"keys of another release": func(p *Plan, _ *Release) {
			p.Draws[0].Keys = []*Keys{{Job: job.Release{Name: "d"}, Rule: rule(2)}}
		},
		"keys of another column": func(p *Plan, r *Release) { p.Draws[0].Keys = []*Keys{{Job: r.Job, Column: "x", Rule: rule(2)}} },
		"keys of fewer groups":   func(p *Plan, r *Release) { p.Draws[0].Keys = []*Keys{{Job: r.Job, Column: "town", Rule: rule(1)}} },
	} {
		if err := found(6, 4, change).Held(); (err == nil) != (change == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
	p := found(6, 4, func(p *Plan, r *Release) { p.Draws[0].Keys = []*Keys{{Job: r.Job, Column: "town", Rule: rule(2)}} })
	if err := p.Held(); err != nil {
		t.Error(err)
	}
}

// rule is one for units in at most so many groups.
func rule(groups int64) keys.Rule {
	r, err := keys.NewThreshold(false, 2, groups, 0.01)
	if err != nil {
		panic(err)
	}
	return r
}
