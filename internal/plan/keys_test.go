package plan

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

const keyedJob = `version: 1
job: keyed
dataset:
  id: people
  source: {path: people.arrow}
  RELATION
  UNIT
  columns: {town: {type: text}, sex: {domain: [f, m]}, income: {lower: 0, upper: 100, missing: drop}}
budget: {limit: {epsilon: 10, delta: 0.01}}
samples:
  pois: {method: poisson, rate: 0.2}
  wor: {method: srswor, size: 200}
releases:
  - {name: towns, FROM by: [town, sex], keys: {guarantee: {epsilon: "0.4", delta: "2e-6"}, at_most: 200}, mechanism: count, guarantee: {epsilon: "0.5", delta: "1e-6"}}
  - {name: incomes, FROM by: [town, sex], keys: {from: towns}, suppress: {below: 10}, mechanism: mean, params: {column: income}, guarantee: {epsilon: "0.5", delta: "1e-6"}}
output: {dir: out}
`

var keyedMechanisms = direct{"count": count.Mechanism{}, "mean": mean.Mechanism{}, "median": median.Mechanism{}}

func keyedPlan(t *testing.T, replace ...string) (*job.Job, *Priced) {
	t.Helper()
	text := strings.NewReplacer(append(replace, "RELATION", "relation: add-remove\n  at_least: 900", "UNIT", "unit: row", "FROM", "")...).Replace(keyedJob)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(context.Background(), j, keyedMechanisms, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, p
}

var (
	replaceOne = []string{"RELATION", "relation: replace-one\n  size: 1000"}
	capped     = []string{"UNIT", "unit: {column: person, name: person}\n  cap: {groups: 3, rows: 2}"}
)

// A selection is paid for once, beside the releases that share it, within what the job
// allows, under every relation, draw and unit; and it stands in the event of its draw.
func TestKeysArePaidOnce(t *testing.T) {
	for _, relation := range [][]string{nil, replaceOne} {
		for _, unit := range tier.Some([][]string{nil, capped}, 2) {
			for _, from := range tier.Some([]string{"", "from: pois,", "from: wor,"}, 2) {
				if from == "from: wor," && relation == nil {
					continue // count refuses it
				}
				_, p := keyedPlan(t, append(append(append([]string{}, relation...), unit...), "FROM", from)...)
				d := p.Draws[0]
				if len(d.Keys) != 1 || len(d.parts()) != 3 {
					t.Fatalf("%d selections, %d parts", len(d.Keys), len(d.parts()))
				}
				k := d.Keys[0]
				if k.Answer.Epsilon > .4 || k.Answer.Delta > 2e-6 || k.Answer.Epsilon < .05 {
					t.Errorf("%s: the selection costs %+v", from, k.Answer)
				}
				if p.Answer.Epsilon > 1.4 || p.Answer.Delta > 4e-6 || p.Answer.Epsilon <= d.Releases[0].Answer.Epsilon {
					t.Errorf("%s: everything costs ε %g, δ %g", from, p.Answer.Epsilon, p.Answer.Delta)
				}
				seen := 0
				var count func(e privacy.Event)
				count = func(e privacy.Event) {
					if privacy.Equal(e, k.Rule.Event()) {
						seen++
						return
					}
					for _, in := range privacy.Children(e) {
						count(in)
					}
				}
				if count(d.Event); seen != 1 {
					// The events of a rule may be written in line with the others.
					if c, ok := k.Rule.Event().(privacy.Compose); !ok || len(c.Events) != 2 {
						t.Errorf("%s: the selection is %d times in the event of the draw", from, seen)
					}
				}
				if sampled := from != ""; sampled != (k.Whole != nil) {
					t.Errorf("%s: without the draw %v", from, k.Whole)
				}
				if p.Columns(); !strings.Contains(strings.Join(p.Columns(), " "), "town") {
					t.Errorf("the plan reads %v", p.Columns())
				}
			}
		}
	}
}

// Whatever was selected, the mechanism's plan costs what was charged: it gets spare groups
// where it would plan otherwise for a few. A mechanism that answers otherwise is refused.
func TestChosen(t *testing.T) {
	ctx := context.Background()
	for _, unit := range [][]string{nil, capped} {
		for _, relation := range [][]string{nil, replaceOne} {
			j, p := keyedPlan(t, append(append([]string{}, relation...), unit...)...)
			for _, r := range p.Draws[0].Releases {
				if r.Cells.Len() != 400 {
					t.Errorf("%s is planned for %d groups", r.Job.Name, r.Cells.Len())
				}
				for _, values := range [][]string{{}, {"a"}, {"a", "b\n"}, {"a", "b", "c", "d", "e", "f", "g", "h"}} {
					one, err := r.chosen(ctx, j, p.Draws[0].PlannedDraw, values)
					if err != nil {
						t.Fatal(r.Job.Name, values, err)
					}
					if one.Cells.Len() != 2*len(values) || !privacy.Equal(one.Event(), r.Event()) {
						t.Errorf("%s has %d groups and costs %v, planned %v", r.Job.Name, one.Cells.Len(), one.Event(), r.Event())
					}
					if len(values) == 0 {
						continue
					}
					// What it returns of spare groups is dropped.
					labels := one.Cells.Labels()
					estimate := make([]float64, len(labels))
					for i := range estimate {
						estimate[i] = float64(i)
					}
					got := one.Cells.Result(sdk.Result{Columns: []sdk.ResultColumn{{Name: one.Cells.Column, Texts: labels}, {Name: "estimate", Float64: estimate}}})
					last := len(values)*2 - 1
					if n := len(got.Columns[2].Float64); n != last+1 || got.Columns[2].Float64[last] != float64(last) || got.Columns[1].Texts[last] != "m" {
						t.Errorf("%+v", got)
					}
					if values[len(values)-1] == "b\n" && got.Columns[0].Texts[last] != `b\n` {
						t.Errorf("%q", got.Columns[0].Texts)
					}
				}
			}
			r := *p.Draws[0].Releases[0].PlannedRelease
			r.Mech = whimsical{r.Mech}
			if one, err := r.chosen(ctx, j, p.Draws[0].PlannedDraw, []string{"a", "b"}); err == nil {
				t.Errorf("a mechanism that plans otherwise is run with %v", one.Event())
			}
		}
	}
}

// whimsical plans less noise than before.
type whimsical struct{ planned.Mechanism }

func (w whimsical) Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	p, err := w.Mechanism.Plan(ctx, r)
	p.Event = privacy.Repeat{N: 2, Event: p.Event}
	return p, err
}

func TestBlanked(t *testing.T) {
	_, p := keyedPlan(t)
	r := p.Draws[0].Releases[1]
	if by := r.SuppressBy(); by != "count" {
		t.Fatalf("blanked by %q", by)
	}
	in := sdk.Result{Columns: []sdk.ResultColumn{{Name: "town", Texts: []string{"a", "b", "c"}}, {Name: "sex", Texts: []string{"f", "m", "f"}},
		{Name: "estimate", Float64: []float64{1, 2, 3}}, {Name: "count", Float64: []float64{9.99, 10, math.Inf(-1)}}}}
	out := r.Blanked(in)
	for i, c := range out.Columns {
		group, last := i < 2, i == len(out.Columns)-1
		switch {
		case group && c.Blank != nil || last && (c.Name != "suppressed" || c.Blank != nil || c.Int64[0] != 1 || c.Int64[1] != 0 || c.Int64[2] != 1):
			t.Errorf("%+v", c)
		case !group && !last && (!c.Blank[0] || c.Blank[1] || !c.Blank[2]):
			t.Errorf("%+v", c)
		}
	}
	if in.Columns[2].Blank != nil {
		t.Error("the result itself was changed")
	}
	text := strings.NewReplacer("RELATION", "relation: add-remove\n  at_least: 900", "UNIT", "unit: row", "FROM", "",
		"suppress: {below: 10}, mechanism: mean", "suppress: {below: 10}, mechanism: median").Replace(keyedJob)
	for _, c := range []struct{ suppress, mechanism, want string }{
		{"{below: 10}", "median", "releases[1].suppress: needs the column with the noisy number"},
	} {
		r := strings.NewReplacer("suppress: {below: 10}, mechanism: median", "suppress: "+c.suppress+", mechanism: "+c.mechanism)
		j, err := language.Parse("job.yaml", []byte(r.Replace(text)), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Make(context.Background(), j, keyedMechanisms, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.suppress, c.mechanism, err)
		}
	}
}

// apartOnly is a mechanism that takes capped units and no groups.
type apartOnly struct{ sdk.Mechanism }

func (m apartOnly) Describe() sdk.Description {
	d := m.Mechanism.Describe()
	d.Grouped = false
	return d
}

// P22: a unit that is in two groups pays for two, all there are, where a mechanism is run on each
// group apart; the mechanism is told of one.
func TestApartUnderCap(t *testing.T) {
	text := strings.NewReplacer("RELATION", "relation: replace-one\n  size: 1000", "UNIT", capped[1], "FROM", "",
		"by: [town, sex], keys: {guarantee: {epsilon: \"0.4\", delta: \"2e-6\"}, at_most: 200}", "by: [sex]",
		"by: [town, sex], keys: {from: towns}, suppress: {below: 10}", "by: [sex]").Replace(keyedJob)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(context.Background(), j, direct{"count": count.Mechanism{}, "mean": apartOnly{mean.Mechanism{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Draws[0].Releases[1]
	e, ok := r.Event().(privacy.Repeat)
	if !ok || e.N != 2 || privacy.Name(e.Event) != "by_group" || !r.Apart || r.Public.Cap.Groups != 1 || r.Public.Cap.Rows != 2 {
		t.Errorf("%v for %+v", r.Event(), r.Public.Cap)
	}
	if a, err := privacy.EpsilonAt(r.Event(), privacy.ReplaceOne, 1e-6); err != nil || a.Epsilon > .5 {
		t.Errorf("two groups cost %g: %v", a.Epsilon, err)
	}
}

// A count that pays for its selection has the event of the rule, once; what follows from another release of the same values has its own.
func TestTallied(t *testing.T) {
	for _, relation := range [][]string{nil, replaceOne} {
		for _, unit := range [][]string{nil, {"UNIT", "unit: {column: person, name: home, members: {name: person}}\n  cap: {groups: 3, rows: 1}"}} {
			edits := append(append([]string{"keys: {guarantee: {epsilon: \"0.4\", delta: \"2e-6\"}, ", "keys: {", "by: [town, sex]", "by: [town]"}, relation...), unit...)
			j, p := keyedPlan(t, edits...)
			d := p.Draws[0]
			r, k := d.Releases[0], d.Keys[0]
			if r.Tally == nil || len(d.parts()) != 2 || !privacy.Equal(r.Event(), k.Rule.Event()) || len(d.Paid()) != 0 {
				t.Fatalf("%d parts, %v of the release, %v of the selection", len(d.parts()), r.Event(), k.Rule.Event())
			}
			target := Point(r.Job.Guarantee)
			if r.Answer.Epsilon > target.Epsilon || r.Answer.Epsilon < .9*target.Epsilon || r.Answer.Delta > target.Delta {
				t.Errorf("the release costs %+v of %+v", r.Answer, target)
			}
			one, err := r.chosen(context.Background(), j, d.PlannedDraw, []string{"a", "b"})
			if err != nil || one.Cells.Len() != 2 || one.Tally != r.Tally {
				t.Errorf("%v, %v", one, err)
			}
			if l := p.Levels(); len(l) > 0 && slices.Contains(l[0].Below, r.Job.Name) {
				t.Errorf("a selection is charged for whole units: %+v", l[0])
			}
			apart := *r.PlannedRelease
			apart.Apart = true
			if _, err := apart.tallied(k.Keys); !errors.Is(err, errNoTally) {
				t.Errorf("a release that is run by group: %v", err)
			}
		}
	}
}
