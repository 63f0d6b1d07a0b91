package linear_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/variance"
)

// luck releases a statistic of many groups, each with a number of rows that is about n in a draw of a tenth, and returns how many of
// them are shown, and how many of these hold the value of the population.
func luck(t *testing.T, m sdk.Mechanism, params, kind, draw string, n float64, host sdk.Host, rng *rand.Rand) (shown, held float64) {
	const cells = 3000
	x, y := number("x", 0, 100), number("y", 0, 10)
	x.Missing, y.Missing = sdk.MissingDrop, sdk.MissingDrop
	req := lineartest.Request(fmt.Sprintf(`{"by":"g",%s,"noise":%q,"interval":{"level":95%s}}`, params, kind, draw), 0, x, y, groups(cells))
	req.Target.Epsilon = 1
	each := int(n)
	if draw != "" {
		each = int(10 * n)
	}
	var xs, ys []float64
	var codes []int32
	truth := make([]float64, cells)
	for g := range cells {
		var a, b, aa, p float64
		for range each {
			v, w := 30+20*rng.NormFloat64(), 2+4*rng.Float64()
			v = min(max(v, 0), 100)
			if a, b, aa = a+v, b+w, aa+v*v; v >= 40 {
				p++
			}
			if draw == "" || rng.Float64() < 0.1 {
				xs, ys, codes = append(xs, v), append(ys, w), append(codes, int32(g))
			}
		}
		k := float64(each)
		switch m.(type) {
		case mean.Mechanism:
			truth[g] = a / k
		case proportion.Mechanism:
			truth[g] = p / k
		case ratio.Mechanism:
			truth[g] = a / b
		default:
			truth[g] = aa/k - a/k*a/k
		}
	}
	out, err := sdktest.Run(m, req, sdktest.Table{Rows: len(xs), Columns: map[string]sdk.Values{"x": {Float64: xs}, "y": {Float64: ys}, "g": {Codes: codes}}}, host)
	if err != nil {
		t.Fatal(err)
	}
	e, low, high := lineartest.Get(out, sdk.EstimateField), lineartest.Get(out, linear.LowField), lineartest.Get(out, linear.HighField)
	for g, v := range truth {
		if math.IsNaN(e[g]) {
			continue
		}
		if shown++; !(low[g] > v) && !(high[g] < v) {
			held++

		}
	}
	return shown / cells, held / shown
}

// Values of groups that are shown in 1 to 10 of 100 draws, because luck lifted a noisy number of rows, hold their population's value as
// well: in at least 94 of 100 cases, of some hundred that are shown. The noise and the draws are the same in each run. The twin has the
// margin that Laplace noise had before, and smaller groups, which are shown as seldom: in less than 88 of 100.
func TestValuesShownByLuck(t *testing.T) {
	for _, twin := range []bool{false, true} {
		back := func() {}
		if twin {
			back = linear.NarrowLucky()
		}
		all, good := 0.0, 0.0
		for i, c := range []struct {
			m               sdk.Mechanism
			params, kind    string
			whole, of, twin float64 // rows of a group: of a whole table, of a draw, and of the twin's table
		}{
			{mean.Mechanism{}, `"column":"x"`, "laplace", 8, 9, 4}, {proportion.Mechanism{}, `"column":"x","from":40`, "laplace", 8, 5, 4},
			{ratio.Mechanism{}, `"numerator":"x","denominator":"y"`, "laplace", 12, 22, 8}, {variance.Mechanism{}, `"column":"x"`, "laplace", 13, 13, 5},
			{mean.Mechanism{}, `"column":"x"`, "gaussian", 13, 16, 0}, {proportion.Mechanism{}, `"column":"x","from":40`, "gaussian", 13, 14, 0},
		} {
			sizes := map[string]float64{"": c.whole, `,"square":0.9`: c.of}
			if twin {
				sizes = map[string]float64{"": c.twin}
			}
			for draw, n := range sizes {
				if n == 0 {
					continue
				}
				seed := uint64(10*i + len(draw))
				shown, held := luck(t, c.m, c.params, c.kind, draw, n, newSeeded(seed), rand.New(rand.NewPCG(10, seed)))
				t.Logf("%s, %s%s: shown %.3f, held %.3f", c.m.Describe().Name, c.kind, draw, shown, held)
				if shown < 0.005 || shown > 0.15 {
					t.Errorf("%s %s%s: %v are shown, which is not seldom", c.m.Describe().Name, c.kind, draw, shown)
				}
				all, good = all+shown, good+shown*held
			}
		}
		if back(); !twin && good/all < 0.94 || twin && good/all > 0.88 {
			t.Errorf("twin %v: %v of the values that are shown by luck hold", twin, good/all)
		}
	}
}
