package planned

import (
	"context"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/ledger"
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
		"other results": {2, 3, func(p *Plan, _ *Release) { // are not looked at either
			p.Found = Found{Rows: map[string]int64{"": 9}, Bounds: map[string]Bounds{"": {"x": -1}}}
		}, false},
		"another cap":            {3, 3, nil, true},
		"more groups":            {2, 5, nil, true},
		"more rows of a unit":    {2, 3, func(_ *Plan, r *Release) { r.Public.Cap.Times = 120 }, true},
		"no groups":              {2, 4, func(_ *Plan, r *Release) { r.Cells = nil }, true},
		"no cap":                 {2, 4, func(_ *Plan, r *Release) { r.Public.Cap = nil }, true},
		"a unit in more groups":  {2, 4, func(_ *Plan, r *Release) { r.Public.Cap.Groups = 1 }, true},
		"other bounds":           {2, 4, func(_ *Plan, r *Release) { r.Public.Columns[0].Upper = 1 }, true},
		"other relation":         {2, 4, func(_ *Plan, r *Release) { r.Public.Relation = privacy.ReplaceOne }, true},
		"other weights":          {2, 4, func(_ *Plan, r *Release) { r.Weights = &Weigher{Most: 2} }, true},
		"other rows":             {2, 4, func(_ *Plan, r *Release) { r.Job.Table = "visits" }, true},
		"other groups":           {2, 4, func(_ *Plan, r *Release) { r.Job.By = nil }, true},
		"group by group":         {2, 4, func(_ *Plan, r *Release) { r.Apart = true }, true},
		"numbers of a selection": {2, 4, func(_ *Plan, r *Release) { r.Tally = &Tally{} }, true},
		"a series":               {2, 4, func(_ *Plan, r *Release) { r.Series = &Series{} }, true},
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
		if err == nil && (next.Job.Dataset.Cap.Rows != 2 || len(next.Found.Bounds) != 0 || next.Found.Rows[""] != 2 || p.Job.Dataset.Cap.Rows != 6 || !slices.Equal(next.Draws, p.Planner.(answering).plan.Draws)) {
			t.Errorf("%s: the plan is that of a cap of %d", name, next.Job.Dataset.Cap.Rows)
		}
	}
}

// P38: the first plan comes from a planner too. What its price rests on is what a run does to the rows.
func TestHeldComparesWithTheJob(t *testing.T) {
	for name, change := range map[string]func(p *Plan, r *Release){
		"":                  nil,
		"rows of no column": func(_ *Plan, r *Release) { r.Plan.Columns = nil },
		"bounds that nobody finds": func(p *Plan, r *Release) {
			p.Job.Dataset.Columns[0].Bounds = &job.Bounds{}
			if err := r.Tell(p.Job, all9, []privacy.Relation{privacy.AddRemove}); err != nil {
				panic(err)
			}
		},
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

// P4, P36, P38: nobody draws a collected table or a panel again, so that it is as cheap as the job says is for the run to see, and so are its
// place in the account and the number of draws.
func TestDesignedComparesWithTheJob(t *testing.T) {
	srs := job.Sample{Method: job.SRSWOR}
	wave := job.Sample{Name: "w", Method: job.Rotation, Waves: 4, In: 1, Wave: 2}
	third := job.Sample{Name: "s", Method: job.Poisson, Rate: big.NewRat(1, 3)}
	keep := third
	keep.Keep = true
	id := func(p *Plan) string { return ledger.CollectedID(AccountOf(p.Job)) }
	for name, c := range map[string]struct {
		of      job.Dataset
		samples []job.Sample
		from    string
		change  func(p *Plan)
	}{
		"a collection of fewer": {job.Dataset{Size: 9, Collected: &job.Collected{Sample: srs, Population: 90}}, nil, job.All, func(p *Plan) {
			p.Table.Design, _ = samplers.NewCollected(9, 900)
		}},
		"no collection": {job.Dataset{Size: 9, Collected: &job.Collected{Sample: srs, Population: 90}}, nil, job.All, func(p *Plan) { p.Table = nil }},
		"a collection of its own": {job.Dataset{Size: 9, Collected: &job.Collected{Sample: srs, Population: 90}}, nil, job.All, func(p *Plan) {
			p.Table.Kept = &Kept{ID: id(p) + "2"}
		}},
		"a table that nobody collected": {job.Dataset{Size: 9}, nil, job.All, func(p *Plan) {
			of, _ := samplers.NewCollected(9, 90)
			p.Table = &Draw{Sampled: Sampled{Design: of, Kept: &Kept{ID: id(p)}}}
		}},
		"more waves": {job.Dataset{Size: 9}, []job.Sample{wave}, "w", func(p *Plan) {
			p.Draws[0].Design, _ = samplers.NewWave(privacy.Rotation{Waves: 5, In: 1}, 2)
		}},
		"another panel":           {job.Dataset{Size: 9}, []job.Sample{wave}, "w", func(p *Plan) { p.Panel.ID += "2" }},
		"a panel that is known":   {job.Dataset{Size: 9}, []job.Sample{wave}, "w", func(p *Plan) { p.Panel.Drawn = false }},
		"no panel":                {job.Dataset{Size: 9}, []job.Sample{wave}, "w", func(p *Plan) { p.Panel = nil }},
		"another rate":            {job.Dataset{Size: 9}, []job.Sample{third}, "s", func(p *Plan) { p.Draws[0].Design = half }},
		"one draw twice":          {job.Dataset{Size: 9}, []job.Sample{third}, "s", func(p *Plan) { p.Draws = append(p.Draws, p.Draws[0]) }},
		"a draw that is not kept": {job.Dataset{Size: 9}, []job.Sample{keep}, "s", func(p *Plan) { p.Draws[0].Kept = nil }},
		"a draw that is kept":     {job.Dataset{Size: 9}, []job.Sample{third}, "s", func(p *Plan) { p.Draws[0].Kept = &Kept{} }},
		"a draw of another name":  {job.Dataset{Size: 9}, []job.Sample{keep}, "s", func(p *Plan) { p.Draws[0].Kept.ID = "1" }},
		"a draw of another job": {job.Dataset{Size: 9}, []job.Sample{keep}, "s", func(p *Plan) {
			p.Draws[0].Kept.Node = &ledger.Node{ID: "1"}
		}},
		"no sample": {job.Dataset{Size: 9}, []job.Sample{third}, "s", func(p *Plan) { p.Draws[0].Name = "t" }},
	} {
		c.of.ID, c.of.Unit, c.of.Relation = "d", job.UnitRow, privacy.ReplaceOne
		if len(c.samples) > 0 {
			c.of.Relation = privacy.AddRemove
		}
		p := &Plan{Job: &job.Job{Dataset: c.of, Samples: c.samples}}
		design, err := Design(p.Job, c.from, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.Draws = []*Draw{{Sampled: Sampled{Name: c.from, Design: design}}}
		if len(c.samples) > 0 && c.samples[0].Keep {
			p.Draws[0].Kept = &Kept{}
		}
		if table, _ := Collection(p.Job); table != nil {
			p.Table = &Draw{Sampled: Sampled{Design: table, Kept: &Kept{ID: id(p)}}}
		}
		if panel, ok := p.Job.Rotates(); ok {
			p.Panel = &Panel{Panel: panel, ID: ledger.PanelID(AccountOf(p.Job), panel.Name, panel.Drawn)}
		}
		if err := p.Designed(); err != nil {
			t.Fatalf("%s: the job's own designs: %v", name, err)
		}
		if c.change(p); p.Designed() == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// P27, P38: a planner proposes steps and prices. Which account pays, which columns neighbours keep, and that anything is paid at all,
// follow from the job.
func TestAsksOfTheJob(t *testing.T) {
	p := found(6, 4, nil)
	p.Job.Name, p.Job.Dataset.ID, p.Job.Dataset.Relation = "j", "d", privacy.ReplaceOne
	p.Job.Dataset.Slice = &job.Slice{Column: "month", Is: "2026-10"}
	steps := []ledger.Step{{Node: "1"}}
	q := p.Asks(ledger.Request{Account: ledger.Key{Dataset: "e"}, Own: &ledger.Limit{}, OwnLife: &ledger.Limit{}, Keeps: []string{"x"}, Free: true,
		Again: true, Revise: true, Alike: true, Job: "k", Steps: steps, Charged: privacy.Point{Epsilon: 1}})
	if q.Account != AccountOf(p.Job) || q.Account.Dataset != "d" || q.Account.Slice.Is != "2026-10" || !slices.Equal(q.Keeps, []string{"month"}) ||
		q.OwnLife != nil || q.Own.Epsilon != nil || q.Free || q.Again || q.Revise || q.Alike || q.Job != "j" ||
		len(q.Steps) != 1 || q.Charged.Epsilon != 1 {
		t.Errorf("%+v", q)
	}
}

// vary calls try with each exported field below a value changed, one at a time.
func vary(v reflect.Value, path string, try func(path string)) {
	change := func(to reflect.Value) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(to.Convert(v.Type()))
		try(path)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				vary(v.Field(i), path+"."+f.Name, try)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			change(reflect.New(v.Type().Elem()))
		} else {
			change(reflect.Zero(v.Type()))
			vary(v.Elem(), path, try)
		}
	case reflect.Slice:
		change(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		for i := range v.Len() {
			vary(v.Index(i), path, try)
		}
	case reflect.Bool:
		change(reflect.ValueOf(!v.Bool()))
	case reflect.String:
		change(reflect.ValueOf(v.String() + "x"))
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		change(reflect.ValueOf(v.Convert(reflect.TypeFor[float64]()).Float() + 1))
	}
}

// P38: every fact of a release is compared, one that is added later, too. What is not compared, the mechanism and the host are held to.
func TestHeldLooksAtEveryFact(t *testing.T) {
	tried, free := 0, regexp.MustCompile(`^r\.(Index|Params|Groups|Target\..*|Plan\..*|Replanned|Additive|Tally.*|Mech)$`)
	p := found(6, 4, nil)
	r := p.Draws[0].Releases[0]
	r.Public.Columns = slices.Clone(r.Public.Columns) // of its own: a change of the job's would be no difference
	vary(reflect.ValueOf(r).Elem(), "r", func(path string) {
		path = strings.Replace(path, ".Answered", "", 1)
		if strings.HasPrefix(path, "r.Job.") || strings.Contains(path, ".Domain") || strings.HasPrefix(path, "r.Cells.By") { // shared with the job
			return
		}
		refused := true
		func() {
			defer func() { _ = recover() }()
			refused = p.Held() != nil
		}()
		if tried++; !refused && !free.MatchString(path) {
			t.Errorf("another %s is not refused", path)
		}
	})
	if tried < 50 {
		t.Errorf("%d facts were tried", tried)
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
