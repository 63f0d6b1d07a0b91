package finish

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

func completed(t *testing.T, plan sdk.Plan, public sdk.Public, params string) (sdk.Plan, sdk.PlanRequest) {
	t.Helper()
	req := sdk.PlanRequest{Params: json.RawMessage(params), Public: public, Target: privacy.Point{Epsilon: 1, Delta: 1e-6}}
	if err := plan.Check(req); err != nil {
		t.Fatal(err)
	}
	out, err := Complete(plan, req)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Check(req); err != nil {
		t.Fatal(err)
	}
	return out, req
}

// The host finds columns, event, groups, lattices, units and errors, and spends no more than the target.
func TestCompletePlan(t *testing.T) {
	public := publicOf(x(-1, 3), group("a", "b"))
	public.Design.EqualWeights, public.Design.MaxWeight, public.Design.MinWeight = true, 4, 4
	public.Cap = &sdk.Cap{Groups: 2, Rows: 3, Times: 5}
	plan := planOf(sdk.Query{Cells: []sdk.Split{{Value: "x", Count: 3}}, Coordinates: []sdk.Coordinate{{Value: "1", Low: 0, High: 1}, {Value: "x", Low: -1, High: 3}}})
	out, req := completed(t, plan, public, `{"by":"g"}`)
	for _, rel := range both {
		a, err := privacy.EpsilonAt(out.Event, rel, 1e-6)
		if err != nil || a.Epsilon > 1 || a.Epsilon < 0.4 {
			t.Errorf("under %s: %v (%v)", rel, a, err)
		}
	}
	if !reflect.DeepEqual(out.Columns, []string{"g", "x"}) || out.Rows != 6 || out.Output[0].Name != "g" {
		t.Errorf("columns %v, %d rows, %+v", out.Columns, out.Rows, out.Output)
	}
	lattice := out.Queries[0].Coordinates[1].Lattice
	if u := out.Finish.Noise[0].Units; len(u) != 2 || u[1] != lattice*4/5 {
		t.Errorf("units %v of lattice %v", u, lattice)
	}
	if len(plan.Finish.Noise[0].Units) != 0 || plan.Queries[0].Coordinates[1].Lattice != 0 {
		t.Error("the plan that was given was changed")
	}
	q, err := Read(out, req.Params, req.Public)
	if err != nil {
		t.Fatal(err)
	}
	// A row in group b, with x = 2: place 2 of group 1.
	if err := q.Write(sdk.Batch{Rows: 1, Columns: []sdk.Values{{Codes: []int32{1}}, number(2)}}); err != nil {
		t.Fatal(err)
	}
	p, err := New(out)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Result(q.Sums())
	want := []float64{0, 0, 0, 0, 0, 4}
	if !reflect.DeepEqual(r.Columns[1].Float64, want) || r.Columns[2].Float64[5] != 8 || r.Columns[0].Texts[5] != "b" || r.Columns[0].Texts[2] != "a" {
		t.Errorf("the result is %+v", r.Columns)
	}
	sd := out.Finish.Constants[len(out.Finish.Constants)-1]
	if sd.Name != "s0_1_sd" || sd.Numbers[0] != out.Errors[1].NoiseSD {
		t.Errorf("the deviation of the noise is %+v", sd)
	}
	if len(out.Errors) != 2 || !(out.Errors[0].NoiseSD > 0) || out.Errors[0].SamplingNote == "" {
		t.Errorf("errors %+v", out.Errors)
	}
}

// Noise spans about a million steps of a lattice that the host chooses, so rounding costs nothing.
func TestChosenLattice(t *testing.T) {
	for _, epsilon := range []float64{1e-6, 0.1, 1, 30} {
		req := sdk.PlanRequest{Public: publicOf(x(0, 1e6)), Target: privacy.Point{Epsilon: epsilon}}
		out, err := Complete(planOf(sumOf(0, 1e6, 0)), req)
		if err != nil {
			t.Fatal(err)
		}
		if sd := sdk.NoiseDeviation(out.Event); sd < 1<<15 {
			t.Errorf("epsilon %v: the noise has a deviation of %v steps", epsilon, sd)
		}
		if e := out.Errors[0]; math.Abs(e.NoiseSD/(math.Sqrt2*1e6/epsilon)-1) > 1e-3 || e.Linear == nil || e.Linear.High != 1e6 {
			t.Errorf("epsilon %v: %+v", epsilon, e)
		}
	}
}

// Whatever the event says, the noise must be that of the claims.
func TestReadComparesTheNoise(t *testing.T) {
	out, req := completed(t, planOf(sumOf(0, 2, 1), sumOf(0, 2, 1)), publicOf(x(0, 2)), `{}`)
	if _, err := Read(out, req.Params, req.Public); err != nil {
		t.Fatal(err)
	}
	events := out.Event.(privacy.Compose).Events
	for name, e := range map[string]privacy.Event{
		"one call":     events[0],
		"half of it":   privacy.Compose{Events: []privacy.Event{events[0], privacy.DiscreteLaplace{Scale: 9, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}}},
		"another kind": privacy.Compose{Events: []privacy.Event{events[0], privacy.DiscreteGaussian{Sigma: 9, Sensitivity: privacy.Sensitivity{AddRemove: 2, ReplaceOne: 2}, Coordinates: 2}}},
	} {
		other := out
		other.Event = e
		if _, err := Read(other, req.Params, req.Public); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	wider := req.Public
	wider.Cap = &sdk.Cap{Groups: 1, Rows: 2}
	if _, err := Read(out, req.Params, wider); err == nil {
		t.Error("other public facts are not refused")
	}
}

func TestWrongQueries(t *testing.T) {
	public := publicOf(x(0, 2), group("a", "b"))
	plan := func(change func(p *sdk.Plan)) sdk.Plan {
		p := planOf(sumOf(0, 2, 1))
		change(&p)
		return p
	}
	coordinate := func(value string, low, high, lattice float64) sdk.Plan {
		p := planOf(sumOf(0, 2, 1))
		p.Queries[0].Coordinates[0] = sdk.Coordinate{Value: value, Low: low, High: high, Lattice: lattice}
		return p
	}
	for want, p := range map[string]sdk.Plan{
		"neither columns nor an event": plan(func(p *sdk.Plan) { p.Columns = []string{"x"} }),
		"did you mean":                 coordinate("xx", 0, 1, 0),
		"should be a number":           coordinate("x > 1", 0, 1, 0),
		"at most high":                 coordinate("x", 2, 1, 0),
		"finite low":                   coordinate("x", 0, math.Inf(1), 0),
		"power of two":                 coordinate("x", 0, 1, 0.3),
		"no row adds anything":         coordinate("x", 0, 0, 0),
		"adds anything":                coordinate("x", 0, 0.1, 1),
		"too wide":                     coordinate("x", 0, math.MaxFloat64, 0),
		"too fine":                     coordinate("x", 0, 1, 0x1p-60),
		"makes 1 sums":                 plan(func(p *sdk.Plan) { p.Rows = 2 }),
		"one for each entry":           plan(func(p *sdk.Plan) { p.Queries = append(p.Queries, p.Queries[0]) }),
		"texts or a count":             plan(func(p *sdk.Plan) { p.Queries[0].Cells = []sdk.Split{{Value: "g"}} }),
		"should be a text":             plan(func(p *sdk.Plan) { p.Queries[0].Cells = []sdk.Split{{Value: "x", Texts: []string{"a"}}} }),
		"one lattice": plan(func(p *sdk.Plan) {
			p.Queries[0].Norm = 1
			p.Queries[0].Coordinates = append(p.Queries[0].Coordinates, sdk.Coordinate{Value: "x", High: 1, Lattice: 2})
		}),
		"has 5000 characters": coordinate(strings.Repeat("x", 5000), 0, 1, 0),
	} {
		req := sdk.PlanRequest{Params: json.RawMessage(`{}`), Public: public, Target: privacy.Point{Epsilon: 1}}
		err := p.Check(req)
		if err == nil {
			_, err = Complete(p, req)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	req := sdk.PlanRequest{Params: json.RawMessage(`{"by":"x"}`), Public: public, Target: privacy.Point{Epsilon: 1}}
	if _, err := Complete(planOf(sumOf(0, 2, 1)), req); err == nil || !strings.Contains(err.Error(), "category") {
		t.Errorf("groups that are numbers: %v", err)
	}
	req.Params = nil
	req.Public.Design.MaxWeight = math.Inf(1)
	if _, err := Complete(planOf(sumOf(0, 2, 1)), req); err == nil || !strings.Contains(err.Error(), "stands for") {
		t.Errorf("weights without a bound: %v", err)
	}
}
