package ratio

import (
	"context"
	"fmt"
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

func number(name string, lower, upper float64, missing sdk.Missing) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Number, Lower: lower, Upper: upper, Missing: missing}
}

// All units, under both relations, with and without a cap, behind a filter and by group.
func TestAllUnits(t *testing.T) {
	for _, b := range [][4]float64{{0, 1, 0, 7}, {-1, 3, 1, 2}} {
		for _, missing := range []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop} {
			lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"numerator":"y","denominator":"x"}`,
				number("y", b[0], b[1], missing), number("x", b[2], b[3], sdk.MissingRefuse))...)
		}
	}
}

func TestKnownRatios(t *testing.T) {
	y, x := number("y", -1, 3, sdk.MissingDrop), number("x", 0, 10, sdk.MissingDrop)
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingDrop}
	tab := sdktest.Table{Rows: 5, Columns: map[string]sdk.Values{
		"y": {Float64: []float64{1, 2, 3, -1, 3}, Valid: []byte{0b01111}}, "x": {Float64: []float64{4, 2, 10, 8, 1}, Valid: []byte{0b11011}},
		"g": {Codes: []int32{0, 0, 0, 1, 1}},
	}}
	for _, n := range []int64{0, 5} {
		req := lineartest.Request(`{"numerator":"y","denominator":"x","by":"g"}`, n, y, x, g)
		req.Target.Epsilon = 1e6 // the noise decides what stands for an empty denominator
		out, err := sdktest.Run(Mechanism{}, req, tab, nil)
		if err != nil {
			t.Fatal(err)
		}
		for field, want := range map[string][]float64{"estimate": {0.5, -0.125, 0}, "numerator": {3, -1, 0}, "denominator": {6, 8, 0}} {
			for i, got := range lineartest.Get(out, field) {
				if math.Abs(got-want[i]) > 1e-6 {
					t.Errorf("%s: %v, want %v", field, lineartest.Get(out, field), want)
				}
			}
		}
	}
	// A denominator that is positive in every row bounds the ratio, however loud the noise.
	req := lineartest.Request(`{"numerator":"y","denominator":"x"}`, 0, number("y", -1, 3, sdk.MissingDrop), number("x", 2, 10, sdk.MissingDrop))
	req.Target.Epsilon = 1e-6
	out, err := sdktest.Run(Mechanism{}, req, tab, nil)
	if e, sd := lineartest.Get(out, "estimate")[0], lineartest.Get(out, "noise_sd")[0]; err != nil || e < -0.5 || e > 1.5 || sd > 2 {
		t.Errorf("%v ± %v (%v), beyond [-0.5, 1.5]", e, sd, err)
	}
}

// Where the noise is less than a lattice step, an empty denominator is no division by 0 either.
func TestEmptyDenominator(t *testing.T) {
	req := lineartest.Request(`{"numerator":"y","denominator":"x"}`, 0, number("y", -1, 3, sdk.MissingDrop), number("x", 2, 10, sdk.MissingDrop))
	req.Target.Epsilon, req.Public.Design.LargestCount = 1e17, 1<<53
	out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Columns: map[string]sdk.Values{"x": {Float64: []float64{}}, "y": {Float64: []float64{}}}}, nil)
	if e := lineartest.Get(out, "estimate"); err != nil || len(e) != 1 || !math.IsNaN(e[0]) {
		t.Errorf("%v, %v", e, err)
	}
}

func TestRefusals(t *testing.T) {
	y, x := number("y", -1, 3, sdk.MissingDrop), number("x", 0, 10, sdk.MissingDrop)
	for params, want := range map[string]string{
		`{"numerator":"x","denominator":"y"}`:          "negative lower bound",
		`{"numerator":"x","denominator":"x"}`:          "another column",
		`{"numerator":"x"}`:                            "denominator",
		`{"numerator":"z","denominator":"x"}`:          "not declared",
		`{"numerator":"y","denominator":"x","over":1}`: "unknown field",
	} {
		if _, err := (Mechanism{}).Plan(lineartest.Request(params, 0, y, x)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", params, err, want)
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

// Where the sum below the line is about as large as its noise, many intervals have one end or none, and still the ones that are
// shown, taken as at least their low end where the high one is blank, hold the ratio in 95 of 100 runs over all: a run whose
// interval holds everything counts as one that holds it. Fewer than 1,845 of 2,000, or 169 of 200, would have a probability
// below 1e-6 for a rate of 0.95 (Chernoff). The low ends say something: a third of the intervals have one. The twin takes a blank high end for
// twice the low one, and is refuted. The rows are a whole table, and a sample of a tenth of one.
func TestIntervalsWithOneEnd(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	y, x := number("y", 0, 10, sdk.MissingDrop), number("x", 0, 10, sdk.MissingDrop)
	rng := rand.New(rand.NewPCG(1, 3))
	for _, size := range []int{n, 10 * n} { // of the population
		var all [2][]float64
		above, below := 0.0, 0.0
		for i := range size {
			all[0], all[1] = append(all[0], float64(5+i%5)), append(all[1], float64(i%10/9)*10) // many pay, few times
			above, below = above+all[0][i], below+all[1][i]
		}
		runs, least := 2000, 1845
		params := `{"numerator":"y","denominator":"x","interval":{"level":95}}`
		if size > n {
			runs, least = 200, 169 // each takes a hundred times as long
			square := 0.9 * n / (n - 1.)
			params = fmt.Sprintf(`{"numerator":"y","denominator":"x","interval":{"level":95,"square":%v,"mean":%v,"rows":%d}}`, square, square/n, n)
		}
		req := lineartest.Request(params, 0, y, x)
		held, oneEnd, mirrored, shown := 0, 0, 0, 0
		for range runs {
			var drawnRows [2][]float64
			for _, i := range rng.Perm(size)[:n] {
				drawnRows[0], drawnRows[1] = append(drawnRows[0], all[0][i]), append(drawnRows[1], all[1][i])
			}
			tab := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"y": {Float64: drawnRows[0]}, "x": {Float64: drawnRows[1]}}}
			out, err := sdktest.Run(Mechanism{}, req, tab, drawn{src: src})
			if err != nil {
				t.Fatal(err)
			}
			low, high, flag := lineartest.Get(out, linear.LowField)[0], lineartest.Get(out, linear.HighField)[0], ""
			for _, c := range out.Result.Columns {
				if c.Name == sdk.FlagField {
					flag = c.Texts[0]
				}
			}
			switch {
			case flag == linear.NearZero:
				held++
				continue
			case flag == sdk.AtLeast:
				if oneEnd++; !math.IsNaN(high) || math.IsNaN(low) {
					t.Fatal("the flag names an end that is not there")
				}
				high = math.Inf(1)
			}
			shown++
			if low <= above/below && above/below <= high {
				held++
			}
			if low <= above/below && above/below <= 2*low {
				mirrored++
			}
		}
		t.Logf("of %d: %d of %d hold it, %d have one end, %d none; the twin holds it %d times of %d", size, held, runs, oneEnd, runs-shown, mirrored, shown)
		if held < least || oneEnd < runs/3 {
			t.Errorf("of %d: %d of %d hold the ratio; %d have one end", size, held, runs, oneEnd)
		}
		if mirrored > shown*9/10 {
			t.Errorf("of %d: the twin holds the ratio in %d of %d", size, mirrored, shown)
		}
	}
}
