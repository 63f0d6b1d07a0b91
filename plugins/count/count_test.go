package count

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

func category(name string, domain ...string) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Category, Domain: domain, Missing: sdk.MissingRefuse}
}

func request(params string, population int64, columns ...sdk.Column) sdk.PlanRequest {
	rel := privacy.AddRemove
	if population > 0 {
		rel = privacy.ReplaceOne
	}
	return sdk.PlanRequest{
		Params: json.RawMessage(params),
		Public: sdk.Public{
			Relation: rel, SampleRelations: []privacy.Relation{rel}, Population: population,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: population, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: columns,
		},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

func get(o sdktest.Outcome, name string) sdk.ResultColumn {
	for _, c := range o.Result.Columns {
		if c.Name == name {
			return c
		}
	}
	return sdk.ResultColumn{}
}

func codes(c ...int32) sdk.Values { return sdk.Values{Codes: c} }

func TestTableOfKnownCounts(t *testing.T) {
	sex, region := category("sex", "f", "m"), category("region", "n", "s", "w")
	tab := sdktest.Table{Rows: 6, Columns: map[string]sdk.Values{
		"sex": codes(0, 1, 1, 0, 1, 1), "region": codes(2, 0, 0, 2, 1, 0),
	}}
	for params, want := range map[string][]float64{
		`{}`:                                   {6},
		`{"by":"sex"}`:                         {2, 4},
		`{"by":["sex","region"]}`:              {0, 0, 2, 3, 1, 0},
		`{"by":["region","sex"]}`:              {0, 3, 0, 1, 2, 0},
		`{"by":["region"],"noise":"gaussian"}`: {3, 1, 2},
	} {
		out, err := sdktest.Run(Mechanism{}, request(params, 0, sex, region), tab, nil)
		if err != nil {
			t.Fatal(params, err)
		}
		for i, w := range want {
			if got := get(out, "estimate").Float64; len(got) != len(want) || math.Abs(got[i]-w) > 1e-4 {
				t.Errorf("%s: %v, want %v", params, got, want)
				break
			}
		}
	}
	out, err := sdktest.Run(Mechanism{}, request(`{"by":["sex","region"]}`, 0, sex, region), tab, nil)
	if err != nil || !reflect.DeepEqual(get(out, "region").Texts, []string{"n", "s", "w", "n", "s", "w"}) ||
		!reflect.DeepEqual(get(out, "sex").Texts, []string{"f", "f", "f", "m", "m", "m"}) {
		t.Errorf("labels %v %v (%v)", get(out, "sex").Texts, get(out, "region").Texts, err)
	}
}

// Estimates stand for the population: a Poisson sample is scaled by 1/rate, design
// weights are added up.
func TestSamplesStandForThePopulation(t *testing.T) {
	sex := category("sex", "f", "m")
	tab := sdktest.Table{Rows: 3, Columns: map[string]sdk.Values{"sex": codes(0, 1, 1)}}
	req := request(`{"by":"sex"}`, 0, sex)
	req.Public.Design = sdk.Design{Kind: "poisson", Rate: 0.25, MinWeight: 4, MaxWeight: 4, EqualWeights: true}
	out, err := sdktest.Run(Mechanism{}, req, tab, nil)
	if err != nil || !reflect.DeepEqual(get(out, "estimate").Float64, []float64{4, 8}) {
		t.Errorf("poisson: %v (%v)", get(out, "estimate").Float64, err)
	}
	tab.Weights = []float64{1.5, 2, 3.25}
	req = request(`{"by":"sex"}`, 7, sex)
	req.Public.Design = sdk.Design{Kind: "multistage", MinWeight: 1.5, MaxWeight: 3.25}
	out, err = sdktest.Run(Mechanism{}, req, tab, nil)
	if e := get(out, "estimate").Float64; err != nil || math.Abs(e[0]-1.5) > 1e-5 || math.Abs(e[1]-5.25) > 1e-5 {
		t.Errorf("weights: %v (%v)", e, err)
	}
	req.Public.Design.MaxWeight = math.Inf(1)
	if _, err := (Mechanism{}).Plan(req); err == nil || !strings.Contains(err.Error(), "scaled up") {
		t.Errorf("an unknown weight: %v", err)
	}
}

func TestPlanSpendsTheTarget(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		w := randomWorld(rng)
		if w.req.Public.Population > 0 && rng.IntN(2) == 0 {
			w.req.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
		}
		_, plan, err := sdktest.Plan(Mechanism{}, w.req)
		if err != nil {
			continue
		}
		spent := 0.0
		for _, rel := range w.req.Public.SampleRelations {
			a, err := privacy.EpsilonAt(plan.Event, rel, w.req.Target.Delta)
			if err != nil || a.Epsilon > w.req.Target.Epsilon {
				t.Fatalf("%s under %s: charged %v of %v (%v)", w.req.Params, rel, a.Epsilon, w.req.Target.Epsilon, err)
			}
			spent = math.Max(spent, a.Epsilon)
		}
		if spent < 0.9*w.req.Target.Epsilon {
			t.Errorf("%s: only %v of %v is spent", w.req.Params, spent, w.req.Target.Epsilon)
		}
	}
}

// No table that the design allows overflows a cell.
func TestLatticeHoldsTheLargestTable(t *testing.T) {
	for _, c := range []struct {
		largest int64
		epsilon float64
	}{{0, 1}, {0, 1e9}, {1 << 40, 1}, {1 << 50, 0.01}, {7, 1e12}} {
		req := request(`{}`, 0)
		req.Public.Design = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: 7.3, LargestCount: c.largest}
		req.Target.Epsilon = c.epsilon
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		most := l.lattice.Value(1, 7.3)
		records := float64(c.largest)
		if c.largest == 0 {
			records = 0x1p32
		}
		if total := float64(most) * records; total > 0x1p62 || most == 0 {
			t.Errorf("%+v: a record is %d steps, all records are %g", c, most, total)
		}
	}
}

func TestRefusals(t *testing.T) {
	fixed, named := category("g", "a", "b"), category("estimate", "a", "b")
	fixed.Immutable = true
	big := category("g", make([]string, 3000)...)
	other := category("h", make([]string, 3000)...)
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want string
	}{
		"the public size": {request(`{}`, 10), "public under replace-one"},
		"public groups":   {request(`{"by":"g"}`, 10, fixed), "public under replace-one"},
		"name":            {request(`{"by":"estimate"}`, 0, named), "rename"},
		"no column":       {request(`{"by":"z"}`, 0), "not declared"},
		"cells":           {request(`{"by":["g","h"]}`, 0, big, other), "more than"},
		"gaussian, pure": {func() sdk.PlanRequest {
			r := request(`{"noise":"gaussian"}`, 0)
			r.Target.Delta = 0
			return r
		}(), "needs a guarantee with a delta"},
	} {
		if _, err := (Mechanism{}).Plan(c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
