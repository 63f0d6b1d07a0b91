package sum

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

func number(lower, upper float64, missing sdk.Missing) sdk.Column {
	return sdk.Column{Name: "x", Type: sdk.Number, Lower: lower, Upper: upper, Missing: missing}
}

// All units, under both relations, with and without a cap, behind a filter and by group.
func TestAllUnits(t *testing.T) {
	for _, b := range [][2]float64{{0, 1}, {-1, 1}, {-1, 3}, {100, 101}, {-3, -2}} {
		for _, missing := range []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop} {
			lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"column":"x"}`, number(b[0], b[1], missing))...)
		}
	}
}

// Where no row may vanish a total of values in [100, 101] moves by 1; a plan for that does
// not hold where one may (P24), and the middle may be known.
func TestVanishing(t *testing.T) {
	stays, leaves := number(100, 101, sdk.MissingRefuse), number(100, 101, sdk.MissingDrop)
	one := sdk.Column{Name: "one", Type: sdk.Category, Domain: []string{"all"}, Missing: sdk.MissingRefuse}
	request := func(c sdk.Column) sdk.PlanRequest { return lineartest.Request(`{"column":"x","by":"one"}`, 7, c, one) }
	lineartest.Check(t, Mechanism{},
		lineartest.Case{Name: "stays", Request: request(stays)},
		lineartest.Case{Name: "leaves", Request: request(leaves), Twins: map[string]sdk.PlanRequest{"nobody leaves": request(stays)}},
	)
	for _, c := range []struct {
		req  sdk.PlanRequest
		want float64 // the scale of the noise at epsilon 1
	}{
		{request(stays), 1}, {request(leaves), 101}, {lineartest.Request(`{"column":"x"}`, 0, stays), 101},
		{lineartest.With(lineartest.Request(`{"column":"x"}`, 7, leaves), 3, 2), 202}, // two rows in all
	} {
		_, plan, err := sdktest.Plan(Mechanism{}, c.req)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Errors[0].NoiseSD / math.Sqrt2; math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("scale %v, want %v (%+v)", got, c.want, c.req.Public)
		}
	}
}

// P29: survey weights are charged by the range of weight times value.
func TestWeights(t *testing.T) {
	c := number(9000, 10000, sdk.MissingDrop)
	design := sdk.Design{Kind: "stratified", SampleSize: 4, MinWeight: 1, MaxWeight: 40}
	req := lineartest.Request(`{"column":"x"}`, 7, c)
	req.Public.Design = design
	lineartest.Check(t, Mechanism{}, lineartest.Case{Name: "weights", Request: req})
	for _, c := range []struct {
		rel     privacy.Relation
		missing sdk.Missing
		by      string
		want    float64
	}{
		{privacy.ReplaceOne, sdk.MissingDrop, "", 400_000}, {privacy.AddRemove, sdk.MissingRefuse, "", 400_000},
		{privacy.ReplaceOne, sdk.MissingRefuse, `,"by":"one"`, 391_000},
		{privacy.ReplaceOne, sdk.MissingRefuse, "", 40_000}, // N·c + Σ w(y − c), c the middle
	} {
		one := sdk.Column{Name: "one", Type: sdk.Category, Domain: []string{"all"}, Missing: sdk.MissingRefuse}
		req := lineartest.Request(`{"column":"x"`+c.by+`}`, 7, number(9000, 10000, c.missing), one)
		req.Public.SampleRelations = []privacy.Relation{c.rel}
		if c.rel == privacy.AddRemove {
			req.Public.Population, req.Public.Relation = 0, c.rel
		}
		req.Public.Design = design
		_, plan, err := sdktest.Plan(Mechanism{}, req)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Errors[0].NoiseSD / math.Sqrt2; math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("%+v: scale %v", c, got)
		}
	}
}

// Of a design whose weights add up to another number in each draw a total is N times the ratio of two sums. What is charged is the
// sensitivity of the pair: no pair of units moves it further, and some pair moves it as far. A plan that is charged for the sum
// above the line alone does not hold.
func TestRatio(t *testing.T) {
	for _, b := range [][2]float64{{0, 1}, {-1, 3}, {100, 101}} {
		for _, rel := range [][]privacy.Relation{{privacy.AddRemove}, {privacy.ReplaceOne}, {privacy.AddRemove, privacy.ReplaceOne}} {
			for _, d := range []sdk.Design{
				{Kind: "poisson", Rate: 0.25, MinWeight: 4, MaxWeight: 4, EqualWeights: true},
				{Kind: "multistage", SampleSize: 7, MinWeight: 1, MaxWeight: 40},
			} {
				for _, noise := range []string{"laplace", "gaussian"} {
					req := lineartest.Request(`{"column":"x","noise":"`+noise+`"}`, 7, number(b[0], b[1], sdk.MissingRefuse))
					req.Public.Design, req.Public.SampleRelations = d, rel
					lineartest.Check(t, Mechanism{}, lineartest.Case{Name: fmt.Sprint(b, rel, d.Kind, noise), Request: req})
					_, made, err := sdktest.Plan(Mechanism{}, req)
					if err != nil || !made.Errors[0].Ratio() {
						t.Errorf("%v %v: no ratio: %v", d.Kind, rel, err)
					}
				}
			}
		}
	}
	req := lineartest.Request(`{"column":"x","noise":"laplace"}`, 7, number(-1, 3, sdk.MissingRefuse))
	req.Public.Design = sdk.Design{Kind: "poisson", Rate: 0.25, MinWeight: 4, MaxWeight: 4, EqualWeights: true}
	req.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	if used, err := lineartest.Used(numeratorAlone{}, req, req); err != nil || used <= 1 {
		t.Errorf("a plan that is charged for one of the two sums is not refuted: %v, %v", used, err)
	}
}

// numeratorAlone is charged for the sum above the line and releases both.
type numeratorAlone struct{ Mechanism }

func (numeratorAlone) form(req sdk.PlanRequest) (*linear.Form, error) {
	f, err := statistic{}.Form(req)
	if err == nil {
		high, _ := f.Queries[0].Reach.Arrive.L1.Float64()
		f.Queries[0].Reach = linear.Scalar(0, int64(high))
		f.Queries[0].Reach.Parts = 2
	}
	return f, err
}

func (m numeratorAlone) Plan(req sdk.PlanRequest) (sdk.Plan, error) { return linear.Plan(req, m.form) }

func (m numeratorAlone) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	return linear.Release(ctx, req, rows, host, m.form)
}

// The ratio is the better one: 1,000 rows of 800 ± 100 between 0 and 1000, of which a tenth is drawn. The difference from the middle has an
// error from the number of drawn rows of √(0.9/(0.1·1000))·(800 − 500)/800 = 3.6 % of the total, the ratio none of it: 400 draws tell
// a factor of 2 with certainty.
func TestRatioVariesLess(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 40))
	values := make([]float64, 1000)
	truth := 0.0
	for i := range values {
		values[i] = 800 + 100*(2*rng.Float64()-1)
		truth += values[i]
	}
	square := map[string]float64{}
	for range 400 {
		var drawn []float64
		for _, x := range values {
			if rng.Float64() < 0.1 {
				drawn = append(drawn, x)
			}
		}
		for _, form := range []string{"", `,"difference":true`} {
			req := lineartest.Request(`{"column":"x"`+form+`}`, 1000, number(0, 1000, sdk.MissingRefuse))
			req.Public.Design = sdk.Design{Kind: "poisson", Rate: 0.1, MinWeight: 10, MaxWeight: 10, EqualWeights: true}
			out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Rows: len(drawn), Columns: map[string]sdk.Values{"x": {Float64: drawn}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			e := lineartest.Get(out, "estimate")[0]/truth - 1
			square[form] += e * e / 400
		}
	}
	if a, b := math.Sqrt(square[""]), math.Sqrt(square[`,"difference":true`]); !(2*a < b) || a > 0.01 {
		t.Errorf("the ratio is off by %v, the difference by %v", a, b)
	}
}

func TestKnownTotals(t *testing.T) {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingDrop}
	tab := sdktest.Table{Rows: 5, Columns: map[string]sdk.Values{
		"x": {Float64: []float64{-1, 3, 2.5, 1, 0.5}, Valid: []byte{0b10111}}, "g": {Codes: []int32{0, 0, 1, 2, -1}},
	}}
	for params, want := range map[string][]float64{`{"column":"x","by":"g"}`: {2, 2.5, 0}, `{"column":"x"}`: {5}} {
		for _, n := range []int64{0, 5} {
			for _, noise := range []string{"auto", "laplace", "gaussian"} {
				req := lineartest.Request(strings.Replace(params, "{", fmt.Sprintf(`{"noise":%q,`, noise), 1), n, number(-1, 3, sdk.MissingDrop), g)
				out, err := sdktest.Run(Mechanism{}, req, tab, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i, e := range lineartest.Get(out, "estimate") {
					if math.Abs(e-want[i]) > 1e-4 {
						t.Errorf("%s: %v, want %v", params, lineartest.Get(out, "estimate"), want)
					}
				}
			}
		}
	}
	// The centred form, of samples: N·c + N/T·Σ w(y − c).
	full := sdktest.Table{Rows: 4, Columns: map[string]sdk.Values{"x": {Float64: []float64{-1, 3, 2, 1.5}}}}
	for name, c := range map[string]struct {
		design  sdk.Design
		weights []float64
		want    float64
	}{
		"table":   {sdk.Design{Kind: "full", Rate: 1, SampleSize: 4, MinWeight: 1, MaxWeight: 1, EqualWeights: true}, nil, 5.5},
		"srswor":  {sdk.Design{Kind: "srswor", Rate: 0.5, SampleSize: 4, MinWeight: 2, MaxWeight: 2, EqualWeights: true}, nil, 8 + 2*1.5},
		"poisson": {sdk.Design{Kind: "poisson", Rate: 0.5, MinWeight: 2, MaxWeight: 2, EqualWeights: true}, nil, 10 + 2*1.5},
		"weights": {sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: 3}, []float64{1, 2, 3, 1}, 10 - 2 + 4 + 3 + 0.5},
	} {
		n := map[string]int64{"table": 4, "srswor": 8, "poisson": 10, "weights": 10}[name]
		req := lineartest.Request(`{"column":"x"}`, n, number(-1, 3, sdk.MissingRefuse))
		req.Public.Design = c.design
		tab := full
		tab.Weights = c.weights
		out, err := sdktest.Run(Mechanism{}, req, tab, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if got := lineartest.Get(out, "estimate")[0]; math.Abs(got-c.want) > 1e-4 || out.Plan.Errors[0].Linear.Column != "x" {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	g := sdk.Column{Name: "estimate", Type: sdk.Category, Domain: []string{"a"}}
	fixed := lineartest.Request(`{"column":"x"}`, 0, number(0, 1, sdk.MissingRefuse))
	fixed.Public.Design = sdk.Design{Kind: "srswor", SampleSize: 2, EqualWeights: true}
	for want, req := range map[string]sdk.PlanRequest{
		"not declared":   lineartest.Request(`{"column":"y"}`, 0, number(0, 1, sdk.MissingRefuse)),
		"rename":         lineartest.Request(`{"column":"x","by":"estimate"}`, 0, number(0, 1, sdk.MissingRefuse), g),
		"unknown field":  lineartest.Request(`{"column":"x","over":"g"}`, 0, number(0, 1, sdk.MissingRefuse)),
		"lower below":    lineartest.Request(`{"column":"x"}`, 0, number(1, 1, sdk.MissingRefuse)),
		"too far apart":  lineartest.Request(`{"column":"x"}`, 0, number(-1e308, 1e308, sdk.MissingRefuse)),
		"noise: must be": lineartest.Request(`{"column":"x","noise":"uniform"}`, 0, number(0, 1, sdk.MissingRefuse)),
		"scaled up":      fixed,
	} {
		if _, err := (Mechanism{}).Plan(req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
