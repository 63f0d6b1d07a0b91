package plan

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// direct are mechanisms without processes: a plan needs none.
type direct map[string]sdk.Mechanism

func (m direct) Get(_ context.Context, name string) (planned.Mechanism, error) {
	if k, ok := m[name]; ok {
		return called{k}, nil
	}
	return nil, errors.New("no such mechanism")
}

type called struct{ m sdk.Mechanism }

func (c called) About() sdk.Description { return c.m.Describe() }
func (c called) Origin() (bool, string) { return true, "" }

func (c called) Confined() string { return "" }
func (c called) Validate(raw json.RawMessage) error {
	s, err := params.Compile(c.m.Describe().Params)
	if err != nil {
		return err
	}
	return validate(s, raw)
}
func (c called) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) { return c.m.Plan(r) }

const raisedJob = `version: 1
job: raised
dataset:
  id: people
  source: {path: people.arrow}
  relation: replace-one
  size: 1000
  columns: {income: {lower: 0, upper: 100}, age: {lower: 0, upper: 120}}
budget: {limit: {epsilon: 10}}
samples:
  pois: {method: poisson, rate: 0.2}
releases:
  - {name: incomes, from: pois, mechanism: mean, params: {column: income}, guarantee: {epsilon: "0.5"}}
  - {name: ages, from: pois, mechanism: mean, params: {column: age}, guarantee: {epsilon: "0.25"}}
output: {dir: out}
`

// A larger budget is tried on a draw of its own: whether it is taken or not, the draw
// that it began with is as it was.
func TestTryLeavesTheDraw(t *testing.T) {
	j, err := language.Parse("job.yaml", []byte(raisedJob), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(context.Background(), j, direct{"mean": mean.Mechanism{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Answer.Epsilon > 0.75 || p.Answer.Epsilon < 0.7 {
		t.Errorf("the plan costs %g, and 0.75 was asked for", p.Answer.Epsilon)
	}
	d := p.Draws[0].PlannedDraw
	if d.Arrival == nil {
		t.Error("the draw was not raised")
	}
	before, releases := *d, []PlannedRelease{*d.Releases[0], *d.Releases[1]}
	for _, c := range []struct {
		factor float64
		taken  bool
	}{{0.5, true}, {3, false}} {
		next, used, err := d.try(context.Background(), j, privacy.ReplaceOne, c.factor)
		if err != nil {
			t.Fatal(err)
		}
		if c.taken == (used > 1) {
			t.Errorf("%g times the budget: used %g", c.factor, used)
		}
		if c.taken && (next.Sample.Epsilon != c.factor*d.Sample.Epsilon || next.Releases[0].Share.Epsilon >= d.Releases[0].Share.Epsilon) {
			t.Errorf("the candidate has %g of %g", next.Sample.Epsilon, d.Sample.Epsilon)
		}
		if !reflect.DeepEqual(*d, before) || !reflect.DeepEqual([]PlannedRelease{*d.Releases[0], *d.Releases[1]}, releases) {
			t.Errorf("%g times the budget changed the draw", c.factor)
		}
	}
}
