package median

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

func request(params string, under ...privacy.Relation) sdk.PlanRequest {
	return sdk.PlanRequest{
		Params: json.RawMessage(params),
		Public: sdk.Public{
			Relation: under[0], SampleRelations: under, Population: 100,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: 100, MinWeight: 1, MaxWeight: 1, EqualWeights: true, LargestCount: 100},
			Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: 0, Upper: 100, Missing: sdk.MissingDrop}},
		},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

func numbers(x []float64, missing ...int) sdktest.Table {
	v := sdk.Values{Float64: x}
	if len(missing) > 0 {
		v.Valid = make([]byte, (len(x)+7)/8)
		for i := range x {
			if !slices.Contains(missing, i) {
				v.Valid[i>>3] |= 1 << (i & 7)
			}
		}
	}
	if x == nil {
		v.Float64 = []float64{}
	}
	return sdktest.Table{Rows: len(x), Columns: map[string]sdk.Values{"x": v}}
}

func column(o sdktest.Outcome, name string) []float64 {
	for _, c := range o.Result.Columns {
		if c.Name == name {
			return c.Float64
		}
	}
	return nil
}

func TestQuantilesOfKnownValues(t *testing.T) {
	values := []float64{60, 10, 90, 30, 50, 20, 80, 40, 70, 100}
	for name, c := range map[string]struct {
		params string
		table  sdktest.Table
		want   []float64
	}{
		"median":       {`{"column":"x","method":"smooth-laplace"}`, numbers(values), []float64{50}},
		"quartiles":    {`{"column":"x","method":"smooth-laplace","quantiles":[0.25,0.5,0.75]}`, numbers(values), []float64{30, 50, 80}},
		"any order":    {`{"column":"x","method":"smooth-laplace","quantiles":[0.9,0.1]}`, numbers(values), []float64{90, 10}},
		"missing":      {`{"column":"x","method":"smooth-laplace"}`, numbers(values, 1, 3, 4, 5), []float64{70}}, // of 40 60 70 80 90 100
		"nothing":      {`{"column":"x","method":"smooth-laplace"}`, numbers(nil), []float64{0}},
		"points":       {`{"column":"x","method":"exponential","points":101}`, numbers(values), []float64{50}},
		"two selected": {`{"column":"x","method":"exponential","quantiles":[0.25,0.75],"points":101}`, numbers(values), []float64{30, 80}},
		"all missing":  {`{"column":"x","method":"exponential","points":11}`, numbers([]float64{5}, 0), []float64{0}},
	} {
		out, err := sdktest.Run(Mechanism{}, request(c.params, privacy.ReplaceOne), c.table, nil)
		if err != nil || !reflect.DeepEqual(column(out, "estimate"), c.want) {
			t.Errorf("%s: %v, %v, want %v", name, column(out, "estimate"), err, c.want)
		}
	}
}

// Several quantiles share the budget; what is planned costs no more than the
// target under every relation.
func TestPlanSpendsTheTarget(t *testing.T) {
	for _, p := range []string{
		`{"column":"x","method":"smooth-laplace"}`, `{"column":"x","method":"smooth-laplace","quantiles":[0.1,0.2,0.3,0.5,0.7,0.8,0.9]}`, `{"column":"x","noise_share":0.3}`,
		`{"column":"x","method":"exponential","quantiles":[0.1,0.2,0.3]}`, `{"column":"x","calibration":"published"}`,
	} {
		for _, target := range []privacy.Point{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 0.1, Delta: 1e-9}, {Epsilon: 3.3, Delta: 0.001}} {
			req := request(p, privacy.AddRemove, privacy.ReplaceOne)
			req.Target = target
			plan, err := Mechanism{}.Plan(req)
			if err != nil {
				t.Fatal(p, err)
			}
			for _, rel := range req.Public.SampleRelations {
				a, err := privacy.EpsilonAt(plan.Event, rel, target.Delta)
				if err != nil || a.Epsilon > target.Epsilon || a.Epsilon < 0.5*target.Epsilon {
					t.Errorf("%s at %+v under %s: charged ε %v (%v)", p, target, rel, a.Epsilon, err)
				}
			}
		}
	}
}

// The scale of the noise is private: between two tables with the same quantile
// and different spread, nothing but the argument of the noise call differs.
func TestNothingRevealsTheScale(t *testing.T) {
	req := request(`{"column":"x","method":"smooth-laplace"}`, privacy.AddRemove)
	narrow, wide := make([]float64, 101), make([]float64, 101)
	for i := range narrow {
		narrow[i], wide[i] = 50, float64(i)
	}
	a, err := sdktest.Run(Mechanism{}, req, numbers(narrow), nil)
	b, err2 := sdktest.Run(Mechanism{}, req, numbers(wide), nil)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if !reflect.DeepEqual(a.Result, b.Result) || !reflect.DeepEqual(a.Plan, b.Plan) {
		t.Error("a result or plan differs though the quantile is the same")
	}
	if a.Calls[0].Scale >= b.Calls[0].Scale || a.Calls[0].Granularity != b.Calls[0].Granularity || a.Calls[0].Value != 50 {
		t.Errorf("calls %+v and %+v", a.Calls[0], b.Calls[0])
	}
	if len(a.Result.Columns) != 3 || a.Plan.Errors[0].NoiseSD != 0 || a.Plan.Errors[0].Half95 != 0 {
		t.Error("something beside the estimate is released")
	}
	if g := a.Plan.Output[2].Granularity; g != a.Calls[0].Granularity || g > 100*0x1p-40 || g < 100*0x1p-42 {
		t.Errorf("granularity %v", g)
	}
}

// Neighbouring tables, as the host sees them: value and scale of every call.
func TestReplayOnNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		req := request(`{"column":"x","method":"smooth-laplace","quantiles":[0.1,0.5,0.75]}`, privacy.AddRemove, privacy.ReplaceOne)
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, rng.IntN(30))
		for i := range x {
			x[i] = math.Round(100*rng.Float64()*rng.Float64()) / float64(1+rng.IntN(2))
		}
		y := slices.Clone(x)
		switch k := rng.IntN(3); {
		case k == 0 || len(x) == 0:
			y = append(y, []float64{0, 100, 100 * rng.Float64()}[rng.IntN(3)])
		case k == 1:
			y = slices.Delete(y, 0, 1)
		default:
			y[0] = []float64{0, 100, 100 * rng.Float64()}[rng.IntN(3)]
		}
		a, err := sdktest.Run(Mechanism{}, req, numbers(x), nil)
		b, err2 := sdktest.Run(Mechanism{}, req, numbers(y), nil)
		if err != nil || err2 != nil || len(a.Calls) != 3 || len(b.Calls) != 3 {
			t.Fatal(err, err2)
		}
		for i := range a.Calls {
			p, q := a.Calls[i], b.Calls[i]
			least := math.Min(p.Scale, q.Scale) * l.smoothing.shift
			if math.Abs(p.Value-q.Value) > least || math.Abs(math.Log(p.Scale/q.Scale)) > l.smoothing.beta {
				t.Fatalf("%v → %v: value %v → %v, scale %v → %v", x, y, p.Value, q.Value, p.Scale, q.Scale)
			}
		}
	}
}

func TestDefaultMethodAndRefusals(t *testing.T) {
	weighted := sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: 8}
	for name, c := range map[string]struct {
		params string
		change func(*sdk.PlanRequest)
		want   string // kind of event, or part of the refusal
	}{
		"a delta":            {`{"column":"x"}`, nil, "bounded_range"},
		"smooth":             {`{"column":"x","method":"smooth-laplace"}`, nil, "approx"},
		"calibration alone":  {`{"column":"x","calibration":"published"}`, nil, "approx"},
		"share alone":        {`{"column":"x","noise_share":0.6}`, nil, "approx"},
		"share, pure":        {`{"column":"x","noise_share":0.6,"method":"exponential"}`, nil, "belongs to method"},
		"no delta":           {`{"column":"x"}`, func(r *sdk.PlanRequest) { r.Target.Delta = 0 }, "bounded_range"},
		"weights":            {`{"column":"x"}`, func(r *sdk.PlanRequest) { r.Public.Design = weighted }, "bounded_range"},
		"smooth weights":     {`{"column":"x","method":"smooth-laplace"}`, func(r *sdk.PlanRequest) { r.Public.Design = weighted }, "unequal weight"},
		"smooth, no delta":   {`{"column":"x","method":"smooth-laplace"}`, func(r *sdk.PlanRequest) { r.Target.Delta = 0 }, "needs a guarantee with a delta"},
		"published, large ε": {`{"column":"x","calibration":"published"}`, func(r *sdk.PlanRequest) { r.Target.Epsilon = 12 }, "costs a delta"},
		"published, pure":    {`{"column":"x","calibration":"published","method":"exponential"}`, nil, "belongs to method"},
		"no such column":     {`{"column":"z"}`, nil, "not declared"},
		"decimals":           {`{"column":"x","quantile":0.12345}`, nil, "four decimals"},
		"both":               {`{"column":"x","quantile":0.5,"quantiles":[0.5]}`, nil, "either"},
		"bound":              {`{"column":"x","quantile":1}`, nil, "between 0 and 1"},
		"share":              {`{"column":"x","noise_share":1e-300}`, nil, "between 0.01 and 0.99"},
		"no range":           {`{"column":"x"}`, func(r *sdk.PlanRequest) { r.Public.Columns[0].Upper = 0 }, "lower below upper"},
		"unknown weights": {`{"column":"x"}`, func(r *sdk.PlanRequest) {
			r.Public.Design = sdk.Design{Kind: "multistage", MaxWeight: math.Inf(1)}
		}, "largest weight"},
	} {
		req := request(c.params, privacy.ReplaceOne)
		if c.change != nil {
			c.change(&req)
		}
		plan, err := Mechanism{}.Plan(req)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = privacy.Name(plan.Event)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Weights decide the weighted quantile.
func TestWeightedQuantile(t *testing.T) {
	req := request(`{"column":"x","points":101}`, privacy.ReplaceOne)
	req.Public.Design = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: 10}
	tab := numbers([]float64{10, 20, 30, 40, 50})
	tab.Weights = []float64{1, 1, 1, 1, 10}
	out, err := sdktest.Run(Mechanism{}, req, tab, nil)
	if err != nil || column(out, "estimate")[0] != 50 {
		t.Errorf("%v, %v", column(out, "estimate"), err)
	}
	if c := out.Calls[0]; c.Rate*float64(2*2*weightSteps) > 1 || c.Rate*float64(2*2*weightSteps) < 1-1e-12 {
		t.Errorf("rate %v for scores that move by %v", c.Rate, 2*weightSteps)
	}
}

// drawing answers noise calls as the host does.
type drawing struct {
	sdk.Host
	src *noise.Source
}

func (d drawing) SmoothLaplace(_ context.Context, _ privacy.Approx, value, scale, granularity float64) (float64, error) {
	return noise.SmoothLaplace(d.src, value, scale, granularity)
}

func (d drawing) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	in := make([]noise.Piece, len(pieces))
	for i, p := range pieces {
		in[i] = noise.Piece(p)
	}
	return noise.Select(d.src, in, rate)
}

// Estimates are as good as the plan says: the rank error of the exponential method
// exceeds its 95 % bound at most as often as that. With 400 runs at a true rate of
// 5 %, more than 55 happen with probability below 1e-9.
func TestEstimatesAreNearTheQuantile(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 4001)
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range x {
		x[i] = math.Min(100, 20*math.Exp(0.5*rng.NormFloat64()))
	}
	sorted := slices.Sorted(slices.Values(x))
	for _, method := range []string{smoothLaplace, exponential} {
		req := request(`{"column":"x","method":"`+method+`","points":1025}`, privacy.ReplaceOne)
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		bound := l.rankErrorOrNoise(sorted)
		far := 0
		for range 400 {
			out, err := sdktest.Run(Mechanism{}, req, numbers(x), drawing{src: src})
			if err != nil {
				t.Fatal(err)
			}
			if bound(column(out, "estimate")[0]) {
				far++
			}
		}
		if far > 55 {
			t.Errorf("%s: %d of 400 estimates are beyond the 95 %% bound", method, far)
		}
	}
}

// rankErrorOrNoise returns whether an estimate is further off than in 5 % of all
// releases.
func (l *layout) rankErrorOrNoise(sorted []float64) func(float64) bool {
	m := l.ranks[0].place(len(sorted))
	if l.Method == exponential {
		off := int(math.Ceil(l.rankError(l.ranks[0], 0.05)))
		step := l.grid.width / float64(l.grid.points-1)
		return func(e float64) bool { return e < sorted[m-1-off]-step || e > sorted[m-1+off]+step }
	}
	t := table{sorted: sorted, lower: l.column.Lower, upper: l.column.Upper}
	tail := math.Log(20) * t.smoothSensitivity(m, l.smoothing.beta, l.step) / l.smoothing.shift
	return func(e float64) bool { return math.Abs(e-sorted[m-1]) > tail }
}

// far answers with a value far outside of the bounds.
type far struct {
	sdk.Host
	value float64
}

func (f far) SmoothLaplace(_ context.Context, _ privacy.Approx, _, _, granularity float64) (float64, error) {
	return math.RoundToEven(f.value/granularity) * granularity, nil
}

// What leaves lies within the bounds and on the lattice, also where the bounds
// themselves do not.
func TestEstimatesStayWithinTheBounds(t *testing.T) {
	for _, b := range [][2]float64{{0.1, 0.3}, {-1. / 3, 1. / 3}, {1e15 + 1, 1e15 + 3}, {-7e-200, -1e-200}} {
		req := request(`{"column":"x","method":"smooth-laplace"}`, privacy.AddRemove)
		req.Public.Columns[0].Lower, req.Public.Columns[0].Upper = b[0], b[1]
		for _, value := range []float64{b[0] - 9*(b[1]-b[0]), b[1] + 9*(b[1]-b[0])} {
			out, err := sdktest.Run(Mechanism{}, req, numbers([]float64{b[0], b[1]}), far{value: value})
			if err != nil {
				t.Fatal(b, err)
			}
			e := column(out, "estimate")[0]
			if e < b[0] || e > b[1] || e-b[0] > 0x1p-40*(b[1]-b[0]) && b[1]-e > 0x1p-40*(b[1]-b[0]) {
				t.Errorf("%v in %v becomes %v", value, b, e)
			}
		}
	}
}
