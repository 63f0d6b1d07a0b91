package linear_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

// kept is a host that adds no noise and keeps the sums.
type kept struct {
	sdk.Host
	sums []int64
}

func (k *kept) AddGaussian(_ context.Context, _ privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	k.sums = slices.Clone(values)
	return values, nil
}

// twoPeriods is a host that answers with the sums of two periods, whose noise is correlated.
type twoPeriods struct {
	sdk.Host
	sums        [2][]int64
	noise       [2][]float64
	correlation float64
	calls       int
}

func (h *twoPeriods) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, _ []int64) ([]int64, error) {
	out := slices.Clone(h.sums[h.calls])
	for i := range out {
		z := h.noise[0][i]
		if h.calls == 1 {
			z = h.correlation*z + math.Sqrt(1-h.correlation*h.correlation)*h.noise[1][i]
		}
		out[i] += int64(math.RoundToEven(ev.Sigma * z))
	}
	h.calls++
	return out, nil
}

// changes returns how often the interval of a change holds the true one, over 1,500 cells with few or many rows. Told is
// the correlation that the mechanism is told.
func changes(t *testing.T, m sdk.Mechanism, params string, correlation, told float64) (held float64) {
	t.Helper()
	const cells = 1500
	req := lineartest.Request(params+`,"by":"g","noise":"gaussian","interval":{"level":95}}`, 0, number("y", -1, 3), number("x", 0, 2), groups(cells))
	req.Target.Delta = 1e-6
	r := rand.New(rand.NewPCG(31, 7))
	host, truth := &twoPeriods{correlation: correlation}, [2][]float64{}
	for p := range 2 {
		var xs, ys []float64
		var codes []int32
		for g := range cells {
			for i := range 60 + 20*p + 200*(g%2) {
				x := 0.5 + 1.5*r.Float64()
				xs, ys, codes = append(xs, x), append(ys, float64(p)-1+x*float64((g+i)%3)/2), append(codes, int32(g))
			}
		}
		k := &kept{}
		out, err := sdktest.Run(m, req, sdktest.Table{Rows: len(xs), Columns: map[string]sdk.Values{"x": {Float64: xs}, "y": {Float64: ys}, "g": {Codes: codes}}}, k)
		if err != nil {
			t.Fatal(err)
		}
		host.sums[p], truth[p] = k.sums, lineartest.Get(out, sdk.EstimateField)
		for range k.sums {
			host.noise[p] = append(host.noise[p], r.NormFloat64())
		}
	}
	req.Params = fmt.Appendf(nil, `%s,"by":"g","noise":"gaussian","interval":{"level":95,"change":{"correlation":%g}}}`, params, told)
	out, err := sdktest.Run(m, req, sdktest.Table{}, host)
	if err != nil {
		t.Fatal(err)
	}
	low, high := lineartest.Get(out, linear.LowField), lineartest.Get(out, linear.HighField)
	n := 0.0
	for g := range cells {
		if d := truth[0][g] - truth[1][g]; !math.IsNaN(low[g]) {
			n++
			if low[g] <= d && d <= high[g] {
				held++
			}
		}
	}
	if n < 0.9*cells {
		t.Fatalf("%v of %d cells have a change", n, cells)
	}
	return held / n
}

// The interval of a change holds the true one as often as it says, whatever the noise of the two periods shares. One that
// does not know what they share is too wide or too narrow. The noise is the same in each run of the test.
func TestChangesHold(t *testing.T) {
	for _, c := range []struct {
		name, params string
		m            sdk.Mechanism
	}{
		{"mean", `{"column":"y"`, mean.Mechanism{}},
		{"share", `{"column":"y","from":0.5`, proportion.Mechanism{}},
		{"ratio", `{"numerator":"y","denominator":"x"`, ratio.Mechanism{}},
	} {
		for _, correlation := range []float64{-0.8, 0.5, 0.9} {
			held := changes(t, c.m, c.params, correlation, correlation)
			t.Logf("%s, %v: %.3f", c.name, correlation, held)
			if held < 0.93 || held > 0.975 { // it is wider where the noise may have made a figure visible
				t.Errorf("%s, correlation %v: the interval holds in %.3f of all cells", c.name, correlation, held)
			}
		}
		if held := changes(t, c.m, c.params, 0.9, 0); held < 0.99 {
			t.Errorf("%s: noise that is taken for independent leaves the interval as narrow: %.3f", c.name, held)
		}
		if held := changes(t, c.m, c.params, -0.8, 0); held > 0.92 {
			t.Errorf("%s: noise that is taken for independent holds all the same: %.3f", c.name, held)
		}
	}
}

// What is no quotient of two sums tells no change, and says so.
func TestNoChangeOfAVariance(t *testing.T) {
	req := lineartest.Request(`{"column":"y","interval":{"level":95,"change":{"correlation":0}}}`, 0, number("y", -1, 3))
	if _, err := (variance.Mechanism{}).Plan(req); err == nil || !strings.Contains(err.Error(), "tells no change") {
		t.Errorf("%v", err)
	}
}
