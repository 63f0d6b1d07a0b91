package variance

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
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
	for _, b := range [][2]float64{{0, 1}, {-3, 12}} {
		for _, missing := range []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop} {
			lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"column":"x"}`, number(b[0], b[1], missing))...)
		}
	}
}

// The three numbers of a row are whole, at least 0, and add up to the weight of the row,
// for every value that a host could hand over.
func TestNumbersOfARow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := number(-3, 12, sdk.MissingRefuse)
	req := lineartest.Request(`{"column":"x"}`, 0, c)
	_, plan, err := sdktest.Plan(Mechanism{}, req)
	if err != nil {
		t.Fatal(err)
	}
	whole := plan.Event.(privacy.DiscreteLaplace).Sensitivity.AddRemove
	tries := []float64{c.Lower, c.Upper, math.Nextafter(c.Lower, c.Upper), math.Nextafter(c.Upper, c.Lower), 0}
	for range 3000 {
		tries = append(tries, c.Lower+rng.Float64()*15, math.Min(c.Lower+math.Ldexp(rng.Float64(), -rng.IntN(60)), c.Upper), math.Max(c.Upper-math.Ldexp(rng.Float64(), -rng.IntN(60)), c.Lower))
	}
	for _, x := range tries {
		out, err := sdktest.InProcess(Mechanism{}).Release(context.Background(), req, plan, sdktest.Table{Rows: 1, Columns: map[string]sdk.Values{"x": {Float64: []float64{x}}}}, sdktest.NoNoise{Rows: 1})
		if err != nil {
			t.Fatal(err)
		}
		v := out.Calls[0].Values
		if v[0] < 0 || v[1] < 0 || v[2] < 0 || float64(v[0]+v[1]+v[2]) != whole {
			t.Fatalf("%v adds %v, whole %v", x, v, whole)
		}
	}
}

func TestKnownVariances(t *testing.T) {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingDrop}
	tab := sdktest.Table{Rows: 7, Columns: map[string]sdk.Values{
		"x": {Float64: []float64{1, 3, 8, -2, -2, 5, 9}, Valid: []byte{0b1011111}}, "g": {Codes: []int32{0, 0, 0, 1, 1, 1, -1}},
	}}
	for _, n := range []int64{0, 7} {
		req := lineartest.Request(`{"column":"x","by":"g"}`, n, number(-3, 12, sdk.MissingDrop), g)
		for _, m := range []Mechanism{{}, SD()} {
			out, err := sdktest.Run(m, req, tab, nil)
			if err != nil {
				t.Fatal(err)
			}
			for field, want := range map[string][]float64{"estimate": {26.0 / 3, 0, 225.0 / 12}, "mean": {4, -2, 4.5}, "count": {3, 2, 0}} {
				for i, got := range lineartest.Get(out, field) {
					w := want[i]
					if m.Of.root && field == "estimate" {
						w = math.Sqrt(w)
					}
					if math.Abs(got-w) > 1e-3 && !(w == 0 && got < 0.05) {
						t.Errorf("%s: %s %v, want %v", m.Describe().Name, field, lineartest.Get(out, field), want)
					}
				}
			}
		}
	}
}

// loud adds the noise that a host would.
type loud struct {
	sdk.Host
	src *noise.Source
}

func (l loud) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(l.src, v, ev.Scale)
}

// noise_sd is the spread of the released value around the one without noise: within 8 % over
// 20,000 releases (ten standard deviations of a sample variance of Laplace noise), with a
// public number of rows and without, for the variance and for its root.
func TestNoiseIsAsStated(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	x := make([]float64, 3000)
	for i := range x {
		x[i] = math.Min(math.Max(2+2*rng.NormFloat64(), -3), 12)
	}
	tab := sdktest.Table{Rows: len(x), Columns: map[string]sdk.Values{"x": {Float64: x}}}
	for _, n := range []int64{0, int64(len(x))} {
		for _, m := range []Mechanism{{}, SD()} {
			req := lineartest.Request(`{"column":"x"}`, n, number(-3, 12, sdk.MissingRefuse))
			_, plan, err := sdktest.Plan(m, req)
			if err != nil {
				t.Fatal(err)
			}
			truth, err := sdktest.InProcess(m).Release(context.Background(), req, plan, tab, sdktest.NoNoise{Rows: len(x)})
			if err != nil {
				t.Fatal(err)
			}
			f, err := m.Of.Form(req)
			if err != nil {
				t.Fatal(err)
			}
			want, squares := lineartest.Get(truth, "noise_sd")[0], 0.0
			for range 20_000 {
				noisy, err := loud{src: src}.AddLaplace(context.Background(), plan.Event.(privacy.DiscreteLaplace), append([]int64(nil), truth.Calls[0].Values...))
				if err != nil {
					t.Fatal(err)
				}
				d := f.Row(0, noisy, linear.Noises(plan)[0])[0] - lineartest.Get(truth, "estimate")[0]
				squares += d * d
			}
			if got := math.Sqrt(squares / 20_000); math.Abs(got/want-1) > 0.08 {
				t.Errorf("%s, population %d: spread %v, stated %v", m.Describe().Name, n, got, want)
			}
		}
	}
}

// No variance has more noise than the forecast says, over all moments of numbers in [0, 1],
// with the sums that an interval needs and without.
func TestNoiseAtMost(t *testing.T) {
	for _, interval := range []string{"", `,"interval":{"level":95,"square":1}`} {
		req := lineartest.Request(`{"column":"x"`+interval+`}`, 0, number(0, 1, sdk.MissingRefuse))
		var p params
		if err := sdk.DecodeParams(req.Params, &p); err != nil {
			t.Fatal(err)
		}
		m, err := linear.NewMoments(number(0, 1, sdk.MissingRefuse), 2, nil, linear.Cells{N: 1}, req, p.Interval)
		if err != nil {
			t.Fatal(err)
		}
		n, longest := linear.Noise{SD: 1}, 0.0
		for i := range 201 {
			mean := float64(i) / 200
			for j := range 101 {
				variance := float64(j) / 100 * (mean - mean*mean)
				longest = math.Max(longest, m.NoiseOf(n, mean*mean-variance, -2*mean, 1))
			}
		}
		if most := (&spread{moments: m}).noise(n); math.Abs(longest/most-1) > 1e-12 {
			t.Errorf("%q: the largest noise is %v, %v is said", interval, longest, most)
		}
	}
}

func TestRefusals(t *testing.T) {
	g := sdk.Column{Name: "mean", Type: sdk.Category, Domain: []string{"a"}}
	for params, want := range map[string]string{
		`{"column":"mean"}`:            "not a number",
		`{"column":"x","by":"mean"}`:   "rename",
		`{"column":"x","ddof":1}`:      "unknown field",
		`{"column":"x","noise":"t"}`:   "noise: must be",
		`{"column":"z"}`:               "not declared",
		`{"column":"x","by":["none"]}`: "not declared",
	} {
		if _, err := (Mechanism{}).Plan(lineartest.Request(params, 0, number(0, 1, sdk.MissingRefuse), g)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
	if _, err := (Mechanism{}).Plan(lineartest.Request(`{"column":"x"}`, 0, number(-1e200, 1e200, sdk.MissingRefuse))); err == nil {
		t.Error("bounds whose square is infinite are accepted")
	}
}
