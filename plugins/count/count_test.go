package count

import (
	"context"
	"encoding/json"
	"fmt"
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
		"sex": codes(0, 1, 1, 0, 1, 1), "region": codes(2, 0, 0, 2, 1, 0), "x": {Float64: []float64{1, 2, 3, -4, 5, 0.5}},
	}}
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: -4, Upper: 10, Missing: sdk.MissingRefuse}
	for params, want := range map[string][]float64{
		`{}`:                                   {6},
		`{"by":"sex"}`:                         {2, 4},
		`{"by":["sex","region"]}`:              {0, 0, 2, 3, 1, 0},
		`{"by":["region","sex"]}`:              {0, 3, 0, 1, 2, 0},
		`{"sum":"x"}`:                          {7.5},
		`{"sum":"x","by":"sex"}`:               {-3, 10.5},
		`{"by":["region"],"noise":"gaussian"}`: {3, 1, 2},
		`{"sum":"x","by":"region"}`:            {5.5, 5, -3},
	} {
		out, err := sdktest.Run(Mechanism{}, request(params, 0, sex, region, x), tab, nil)
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
	if err != nil || !reflect.DeepEqual(get(out, "region").String, []string{"n", "s", "w", "n", "s", "w"}) ||
		!reflect.DeepEqual(get(out, "sex").String, []string{"f", "f", "f", "m", "m", "m"}) {
		t.Errorf("labels %v %v (%v)", get(out, "sex").String, get(out, "region").String, err)
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

// world is a random request with the rule by which its tables have neighbours.
type world struct {
	req     sdk.PlanRequest
	rel     privacy.Relation
	columns []sdk.Column // groups, then the summed one
	weight  float64
}

func randomWorld(rng *rand.Rand) world {
	w := world{weight: []float64{1, 1, 7.3}[rng.IntN(3)]}
	var by []string
	for i := range rng.IntN(3) {
		c := category(fmt.Sprint("g", i), "a", "b", "c")
		c.Immutable = rng.IntN(2) == 0
		if rng.IntN(3) == 0 {
			c.Missing = sdk.MissingDrop
		}
		w.columns, by = append(w.columns, c), append(by, c.Name)
	}
	p := map[string]any{"noise": []string{"laplace", "laplace", "laplace", "gaussian"}[rng.IntN(4)]}
	if len(by) > 0 {
		p["by"] = by
	}
	if rng.IntN(2) == 0 {
		b := [][2]float64{{0, 1}, {100, 101}, {-7, 3}, {-2, -1}, {1e9, 1e9 + 1}}[rng.IntN(5)]
		c := sdk.Column{Name: "x", Type: sdk.Number, Lower: b[0], Upper: b[1], Missing: sdk.MissingRefuse}
		if rng.IntN(3) == 0 {
			c.Missing = sdk.MissingDrop
		}
		w.columns, p["sum"] = append(w.columns, c), "x"
	}
	raw, _ := json.Marshal(p)
	population := int64(0)
	w.rel = privacy.AddRemove
	if rng.IntN(2) == 0 {
		w.rel, population = privacy.ReplaceOne, 6
	}
	w.req = request(string(raw), population, w.columns...)
	if w.weight > 1 {
		w.req.Public.Design = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: w.weight}
	}
	w.req.Target.Epsilon = math.Exp(4*rng.Float64() - 3)
	return w
}

// record is one row: a code or a number for each column (NaN: missing), a weight.
type record struct {
	values []float64
	weight float64
}

func (w world) record(rng *rand.Rand, keep *record) record {
	r := record{weight: w.weight}
	if rng.IntN(2) == 0 {
		r.weight = 1 + (w.weight-1)*rng.Float64()
	}
	for i, c := range w.columns {
		v := float64(rng.IntN(3))
		if c.Type == sdk.Number {
			v = []float64{c.Lower, c.Upper, c.Lower + (c.Upper-c.Lower)*rng.Float64()}[rng.IntN(3)]
		}
		if c.Missing == sdk.MissingDrop && rng.IntN(3) == 0 {
			v = math.NaN()
		}
		if keep != nil && c.Immutable {
			v = keep.values[i]
		}
		r.values = append(r.values, v)
	}
	return r
}

func (w world) table(records []record) sdktest.Table {
	tab := sdktest.Table{Rows: len(records), Columns: map[string]sdk.Values{}}
	for i, c := range w.columns {
		v := sdk.Values{Float64: []float64{}, Valid: make([]byte, len(records)/8+1)}
		if c.Type == sdk.Category {
			v = sdk.Values{Codes: []int32{}}
		}
		for row, r := range records {
			x := r.values[i]
			switch missing := math.IsNaN(x); {
			case c.Type == sdk.Category && missing:
				v.Codes = append(v.Codes, -1)
			case c.Type == sdk.Category:
				v.Codes = append(v.Codes, int32(x))
			case missing:
				v.Float64 = append(v.Float64, c.Lower)
			default:
				v.Float64 = append(v.Float64, x)
				v.Valid[row>>3] |= 1 << (row & 7)
			}
		}
		tab.Columns[c.Name] = v
	}
	for _, r := range records {
		if w.weight > 1 {
			tab.Weights = append(tab.Weights, r.weight)
		}
	}
	return tab
}

// cells is the query on a table.
func (w world) cells(t *testing.T, l *layout, records []record) []int64 {
	t.Helper()
	tab := w.table(records)
	var columns []sdk.Values
	for _, name := range l.names() {
		columns = append(columns, tab.Columns[name])
	}
	b, err := sdk.NewBatch(len(records), columns, tab.Weights)
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]int64, l.cells)
	if err := l.add(b, cells); err != nil {
		t.Fatal(err)
	}
	return cells
}

// Neighbouring tables never differ by more than the declared sensitivity, in
// either norm: groups that may and may not change, one or two of them, sums with
// bounds of every sign, weights, missing values, both relations.
func TestSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	attained := map[string]float64{}
	for tried := 0; tried < 20000; {
		w := randomWorld(rng)
		l, err := newQuery(w.req)
		if err != nil {
			if !strings.Contains(err.Error(), "public under replace-one") {
				t.Fatal(err)
			}
			continue
		}
		tried++
		left := make([]record, rng.IntN(4)+1)
		for i := range left {
			left[i] = w.record(rng, nil)
		}
		right := slices.Clone(left)
		if w.rel == privacy.AddRemove {
			right = append(right, w.record(rng, nil))
		} else {
			right[0] = w.record(rng, &left[0])
		}
		a, b := w.cells(t, l, left), w.cells(t, l, right)
		l1, l2, moved := 0.0, 0.0, int64(0)
		for i, v := range a {
			d := math.Abs(float64(v - b[i]))
			if l1, l2 = l1+d, l2+d*d; d > 0 {
				moved++
			}
		}
		s1, s2, most := l.sensitivity()
		if l1 > s1.Under(w.rel) || math.Sqrt(l2) > s2.Under(w.rel) || moved > most {
			t.Fatalf("%s under %s, %+v: %d cells move by %v and %v; declared %d, %v and %v",
				w.req.Params, w.rel, w.columns, moved, l1, math.Sqrt(l2), most, s1, s2)
		}
		key := fmt.Sprint(w.rel, " switches ", l.switches(), " stays ", l.stays())
		attained[key] = math.Max(attained[key], math.Min(l1/s1.Under(w.rel), math.Sqrt(l2)/s2.Under(w.rel)))
	}
	for key, share := range attained {
		if share < 0.999 {
			t.Errorf("%s: no pair moves by more than %v of the sensitivity", key, share)
		}
	}
	if len(attained) < 6 {
		t.Errorf("only %v were tried", attained)
	}
}

// Where a record cannot leave its cell, a sum of values in [100, 101] needs a
// hundredth of the noise.
func TestSensitivityOfASumThatStays(t *testing.T) {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 100, Upper: 101, Missing: sdk.MissingRefuse}
	fixed, free := category("g", "a", "b"), category("g", "a", "b")
	fixed.Immutable = true
	sd := func(req sdk.PlanRequest) float64 {
		plan, err := Mechanism{}.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Errors[0].NoiseSD
	}
	total := sd(request(`{"sum":"x"}`, 10, x))
	if math.Abs(total/math.Sqrt2-1) > 1e-3 {
		t.Errorf("replace-one: sd %v, want √2", total)
	}
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want float64
	}{
		"fixed groups":  {request(`{"sum":"x","by":"g"}`, 10, x, fixed), 1},
		"groups change": {request(`{"sum":"x","by":"g"}`, 10, x, free), 202},
		"add-remove":    {request(`{"sum":"x","by":"g"}`, 0, x, free), 101},
	} {
		if got := sd(c.req) / math.Sqrt2; math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("%s: scale %v, want %v", name, got, c.want)
		}
	}
	drop := x
	drop.Missing = sdk.MissingDrop
	if got := sd(request(`{"sum":"x"}`, 10, drop)) / math.Sqrt2; math.Abs(got/101-1) > 1e-3 {
		t.Errorf("dropped values: scale %v, want 101", got)
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
		req := request(`{"sum":"x"}`, 0, sdk.Column{Name: "x", Type: sdk.Number, Lower: -5, Upper: 3, Missing: sdk.MissingRefuse})
		req.Public.Design.LargestCount, req.Target.Epsilon = c.largest, c.epsilon
		l, err := newQuery(req)
		if err != nil {
			t.Fatal(err)
		}
		low, _ := l.extremes()
		records := float64(c.largest)
		if c.largest == 0 {
			records = 0x1p32
		}
		if total := -float64(low) * records; total > 0x1p62 || low == 0 {
			t.Errorf("%+v: a record is %d steps, all records are %g", c, low, total)
		}
	}
}

func TestRefusals(t *testing.T) {
	fixed, named := category("g", "a", "b"), category("estimate", "a", "b")
	fixed.Immutable = true
	big := category("g", make([]string, 2000)...)
	other := category("h", make([]string, 2000)...)
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want string
	}{
		"the public size": {request(`{}`, 10), "public under replace-one"},
		"public groups":   {request(`{"by":"g"}`, 10, fixed), "public under replace-one"},
		"name":            {request(`{"by":"estimate"}`, 0, named), "rename"},
		"no column":       {request(`{"by":"z"}`, 0), "not declared"},
		"cells":           {request(`{"by":["g","h"]}`, 0, big, other), "more than"},
		"sum of groups":   {request(`{"sum":"g"}`, 0, fixed), "declared number"},
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

func TestConsistentCounts(t *testing.T) {
	for name, c := range map[string]struct {
		x     []float64
		total float64
		want  []float64
	}{
		"no total":     {[]float64{3, -2, 0}, 0, []float64{3, 0, 0}},
		"fits":         {[]float64{3, 2, 5}, 10, []float64{3, 2, 5}},
		"shared":       {[]float64{3, 2, 5}, 13, []float64{4, 3, 6}},
		"one drops":    {[]float64{6, 1, -5}, 5, []float64{5, 0, 0}},
		"all negative": {[]float64{-3, -1, -2}, 3, []float64{0, 2, 1}},
		"one cell":     {[]float64{-8}, 10, []float64{10}},
	} {
		got := consistent(c.x, c.total)
		for i, w := range c.want {
			if math.Abs(got[i]-w) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
	// The projection: feasible, and nearer to x than other feasible points.
	rng := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		x, y := make([]float64, 1+rng.IntN(8)), []float64{}
		total, sum := 20*rng.Float64()+0.1, 0.0
		for i := range x {
			x[i] = 10 * rng.NormFloat64()
			y = append(y, rng.ExpFloat64())
			sum += y[i]
		}
		got, far, mine, ours := consistent(x, total), 0.0, 0.0, 0.0
		for i := range x {
			far += (x[i] - y[i]*total/sum) * (x[i] - y[i]*total/sum)
			mine += (x[i] - got[i]) * (x[i] - got[i])
			if ours += got[i]; got[i] < 0 {
				t.Fatalf("negative: %v", got)
			}
		}
		if math.Abs(ours-total) > 1e-9 || mine > far+1e-9 {
			t.Fatalf("%v to %v: adds up to %v, distance %v against %v", x, total, ours, mine, far)
		}
	}
}

// The column consistent sees the noisy counts and public facts only: it is the same
// function of the estimates for every table.
func TestConsistentIsPostProcessing(t *testing.T) {
	g := category("g", "a", "b", "c")
	out, err := sdktest.Run(Mechanism{}, request(`{"by":"g"}`, 4, g),
		sdktest.Table{Rows: 4, Columns: map[string]sdk.Values{"g": codes(0, 0, 1, 1)}}, shifted{by: []int64{3, -5, 1}})
	if err != nil {
		t.Fatal(err)
	}
	e := get(out, "estimate").Float64
	if !reflect.DeepEqual(e, []float64{5, -3, 1}) || !reflect.DeepEqual(get(out, "consistent").Float64, consistent(e, 4)) {
		t.Errorf("estimates %v, consistent %v", e, get(out, "consistent").Float64)
	}
	for _, f := range out.Plan.Output {
		if f.Name == "consistent" && !strings.Contains(f.Doc, "post-processing") {
			t.Error("the column is not labelled")
		}
	}
	off, err := sdktest.Run(Mechanism{}, request(`{"by":"g","consistent":false}`, 4, g),
		sdktest.Table{Rows: 4, Columns: map[string]sdk.Values{"g": codes(0, 0, 1, 1)}}, nil)
	if err != nil || get(off, "consistent").Float64 != nil {
		t.Errorf("consistent: false still releases it (%v)", err)
	}
}

// shifted adds known numbers as noise.
type shifted struct {
	sdk.Host
	by []int64
}

func (s shifted) AddLaplace(_ context.Context, _ privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	for i := range v {
		v[i] += s.by[i]
	}
	return v, nil
}

// The published interval holds the noise at least 95 % of the time, also where the
// noise spans only a few whole numbers, and no narrower one would: exact sums.
func TestIntervalOfDiscreteLaplace(t *testing.T) {
	for _, scale := range []float64{0.1, 0.3, 0.5, 1, 2, 3.7, 20, 1000} {
		tail, total, squares, outside, nearly := laplaceTail(scale), 0.0, 0.0, 0.0, 0.0
		for x := -40 * math.Ceil(scale); x <= 40*math.Ceil(scale); x++ {
			p := math.Exp(-math.Abs(x) / scale)
			total, squares = total+p, squares+p*x*x
			if math.Abs(x) > tail {
				outside += p
			}
			if math.Abs(x) > tail-1 {
				nearly += p
			}
		}
		if outside/total > 0.05 || tail > 0 && nearly/total < 0.05 {
			t.Errorf("scale %v: ±%v leaves out %v, ±%v %v", scale, tail, outside/total, tail-1, nearly/total)
		}
		if sd := math.Sqrt(squares / total); math.Abs(sd/laplaceSD(scale)-1) > 1e-9 {
			t.Errorf("scale %v: sd %v, want %v", scale, laplaceSD(scale), sd)
		}
	}
}

// drawn adds the noise that a host would.
type drawn struct {
	sdk.Host
	src *noise.Source
}

func (d drawn) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(d.src, v, ev.Scale)
}

func (d drawn) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteGaussian(d.src, v, ev.Sigma)
}

// Over 20,000 cells the noise has the planned spread (within 6 %: more than five
// standard deviations of a sample variance of Laplace noise) and the intervals
// hold the truth (at most 5.8 % outside: five standard deviations above 5 %).
func TestNoiseIsAsPlanned(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	domain := make([]string, 20000)
	for i := range domain {
		domain[i] = fmt.Sprint(i)
	}
	for _, p := range []string{`{"by":"g"}`, `{"by":"g","noise":"gaussian"}`} {
		out, err := sdktest.Run(Mechanism{}, request(p, 0, category("g", domain...)),
			sdktest.Table{Rows: 1, Columns: map[string]sdk.Values{"g": codes(7)}}, drawn{src: src})
		if err != nil {
			t.Fatal(err)
		}
		squares, outside := 0.0, 0
		for i, e := range get(out, "estimate").Float64 {
			truth := 0.0
			if i == 7 {
				truth = 1
			}
			squares += (e - truth) * (e - truth)
			if truth < get(out, "noise_low").Float64[i] || truth > get(out, "noise_high").Float64[i] {
				outside++
			}
		}
		sd := math.Sqrt(squares / 20000)
		if math.Abs(sd/out.Plan.Errors[0].NoiseSD-1) > 0.06 || float64(outside) > 0.058*20000 {
			t.Errorf("%s: sd %v, planned %v; %d of 20,000 outside", p, sd, out.Plan.Errors[0].NoiseSD, outside)
		}
	}
}
