package finish

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// means is the plan of a mean of each group: a sum and a count, in two calls.
func means() sdk.Plan {
	return sdk.Plan{
		Columns: []string{"x"}, Event: privacy.Compose{Events: []privacy.Event{privacy.DiscreteLaplace{Scale: 1}, privacy.DiscreteLaplace{Scale: 1}}}, Rows: 3,
		Output: []sdk.Field{
			{Name: "group", Type: sdk.String, Texts: []string{"b", "a", "c"}, Value: "group"},
			{Name: "mean", Type: sdk.Float64, Value: "sum * step / count"},
			{Name: "count", Type: sdk.Int64, Low: 0, High: 100, Value: "count + half"},
			{Name: "sd", Type: sdk.Float64, Granularity: 0.25, Low: 0, High: 2, Value: "sqrt(sum)"},
		},
		Finish: &sdk.Finish{
			Constants: []sdk.Constant{{Name: "group", Texts: []string{"b", "a", "c"}}, {Name: "step", Numbers: []float64{0.5}}, {Name: "half", Numbers: []float64{0.5, 0.4, 0.6}}},
			Noise:     []sdk.NoiseColumns{{Columns: []string{"sum"}}, {Columns: []string{"count"}}},
		},
	}
}

func result(t *testing.T, p sdk.Plan, answers ...[]int64) sdk.Result {
	t.Helper()
	if err := p.Check(sdk.PlanRequest{Public: sdk.Public{Columns: []sdk.Column{{Name: "x", Type: sdk.Number}}}}); err != nil {
		t.Fatal(err)
	}
	f, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return f.Result(answers)
}

// A division by zero and a root of a negative number are missing; all else is computed.
func TestResult(t *testing.T) {
	got := result(t, means(), []int64{6, -4, 3}, []int64{4, 0, -1})
	want := []sdk.ResultColumn{
		{Name: "group", Texts: []string{"b", "a", "c"}},
		{Name: "mean", Float64: []float64{0.75, 0, -1.5}, Blank: []bool{false, true, false}},
		{Name: "count", Int64: []int64{4, 0, 0}},
		{Name: "sd", Float64: []float64{2, 0, 1.75}, Blank: []bool{false, true, false}},
	}
	if !reflect.DeepEqual(got.Columns, want) {
		t.Errorf("got %+v, want %+v", got.Columns, want)
	}
}

// One vector may fill several columns, one after the other.
func TestOneVector(t *testing.T) {
	p := means()
	p.Finish.Noise = []sdk.NoiseColumns{{Columns: []string{"sum", "count"}}}
	got := result(t, p, []int64{6, -4, 3, 4, 0, -1})
	if want := result(t, means(), []int64{6, -4, 3}, []int64{4, 0, -1}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// No answer makes a finish fail, whatever it computes (P20, P24).
func TestNoFailure(t *testing.T) {
	extremes := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 53}
	for _, value := range []string{"1 / x", "x / x", "sqrt(x)", "x * 1e300 * 1e300", "x % 0", "-x", "x - x", "x > 0 ? 1 : null", "x / 1e-320"} {
		for _, o := range []sdk.Field{{Type: sdk.Float64}, {Type: sdk.Int64}, {Type: sdk.Float64, Granularity: 1e-9}, {Type: sdk.Float64, Granularity: 3, Low: -1, High: 1}, {Type: sdk.Int64, Low: -2.5, High: 7}} {
			o.Name, o.Value = "v", value
			p := sdk.Plan{Rows: int64(len(extremes)), Event: privacy.Pure{Eps: 1}, Output: []sdk.Field{o},
				Finish: &sdk.Finish{Noise: []sdk.NoiseColumns{{Columns: []string{"x"}}}}}
			p.Columns = []string{"x"}
			c := result(t, p, extremes).Columns[0]
			for i := range extremes {
				if c.Float64 != nil && (math.IsNaN(c.Float64[i]) || math.IsInf(c.Float64[i], 0)) {
					t.Errorf("%s of %d is %v", value, extremes[i], c.Float64[i])
				}
			}
			if len(c.Float64)+len(c.Int64) != len(extremes) || c.Blank != nil && len(c.Blank) != len(extremes) {
				t.Errorf("%s: %+v", value, c)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for want, change := range map[string]func(p *sdk.Plan){
		`finish of "mean": 1:1: there is no column "summ" (did you mean sum?)`: func(p *sdk.Plan) { p.Output[1].Value = "summ / count" },
		"the expression is a number, and the column holds a text":              func(p *sdk.Plan) { p.Output[0].Value = "sum" },
		"the expression is a text, and the column holds a number":              func(p *sdk.Plan) { p.Output[1].Value = "group" },
		`may be "c", which is not among the texts`:                             func(p *sdk.Plan) { p.Output[0].Texts = []string{"a", "b"} },
		"a text has more than": func(p *sdk.Plan) {
			p.Output[0].Texts, p.Output[0].Value = nil, "sum > 0 ? group : '"+strings.Repeat("x", 1025)+"'"
		},
	} {
		p := means()
		change(&p)
		if _, err := New(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	p := sdk.Plan{Columns: []string{"x"}, Event: privacy.Pure{Eps: 1}, Rows: 6,
		Output: []sdk.Field{{Name: "p", Type: sdk.Float64, Value: "p"}, {Name: "value", Type: sdk.Float64, Value: "q"}},
		Finish: &sdk.Finish{
			Constants: []sdk.Constant{{Name: "p", Numbers: []float64{0, 0.5, 1, 0, 0.5, 1}}},
			Noise:     []sdk.NoiseColumns{{Columns: []string{"q"}, Quantiles: &sdk.Quantiles{Edges: []float64{0, 10, 20, 40}, At: []float64{0, 0.5, 1}}}},
		}}
	// Of the first group, 8 lie in [0, 10] and 2 in [20, 40]. The second has nothing to take a quantile of.
	got := result(t, p, []int64{8, 0, 2, 5, -9, 1}).Columns[1]
	want := sdk.ResultColumn{Name: "value", Float64: []float64{0, 6.25, 40, 0, 0, 0}, Blank: []bool{false, false, false, true, true, true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// nearest is the projection: no other counts that are not negative and have the total are nearer.
func TestNearest(t *testing.T) {
	far := func(a, b []float64) (d float64) {
		for i := range a {
			d += (a[i] - b[i]) * (a[i] - b[i])
		}
		return d
	}
	for _, noisy := range [][]float64{{3, -2, 4}, {1, 1, 1}, {-5, 7, -1}, {0, 0, 2}, {4, -1, -1}} {
		got, total := nearest(noisy)
		if sum := noisy[0] + noisy[1] + noisy[2]; math.Abs(total-sum) > 1e-12 {
			t.Errorf("%v: total %v", noisy, total)
		}
		for i := 0.0; i <= total; i += total / 64 {
			for j := 0.0; i+j <= total; j += total / 64 {
				if other := []float64{i, j, total - i - j}; far(other, noisy) < far(got, noisy)-1e-9 {
					t.Fatalf("%v: %v is nearer than %v", noisy, other, got)
				}
			}
		}
	}
}
