package linear_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
)

// luck releases a statistic of many groups, each with a number of rows that is about n in a draw of a tenth, and returns how many of
// them are shown, and how many of these hold the value of the population.
func luck(t *testing.T, m sdk.Mechanism, params, kind, draw string, n, below float64, host sdk.Host, rng *rand.Rand) (shown, held float64) {
	const cells = 3000
	x, y := number("x", 0, 100), number("y", 0, 10)
	x.Missing, y.Missing = sdk.MissingDrop, sdk.MissingDrop
	req := lineartest.Request(fmt.Sprintf(`{"by":"g",%s,"noise":%q,"interval":{"level":95%s}}`, params, kind, draw), 0, x, y, groups(cells))
	req.Target.Epsilon = 1
	each, drawn := int(n), strings.Contains(draw, "square")
	if drawn {
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
			if !drawn || rng.Float64() < 0.1 {
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
	rows := lineartest.Get(out, linear.CountField)
	for g, v := range truth {
		if math.IsNaN(e[g]) || below > 0 && rows[g] < below {
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
				shown, held := luck(t, c.m, c.params, c.kind, draw, n, 0, newSeeded(seed), rand.New(rand.NewPCG(10, seed)))
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

// P41: values that are divided by a count hold given that suppress shows the group, of groups whose number of rows lies one to two standard
// deviations of its noise below the limit: in at least 95 of 100 cases, of hundreds that are shown. The noise and the draws are the same in
// each run. The twin is not told of the limit.
func TestValuesThatAreSuppressed(t *testing.T) {
	const below = 60
	var all, good [2]float64
	for i, c := range []struct {
		m            sdk.Mechanism
		params, kind string
	}{
		{mean.Mechanism{}, `"column":"x"`, "laplace"}, {proportion.Mechanism{}, `"column":"x","from":40`, "laplace"},
		{variance.Mechanism{}, `"column":"x"`, "laplace"}, {mean.Mechanism{}, `"column":"x"`, "gaussian"},
		{proportion.Mechanism{}, `"column":"x","from":40`, "gaussian"},
	} {
		for _, draw := range []string{"", `,"square":0.9`} {
			rows := below - 1.3*countNoise(t, c.m, c.params, c.kind, draw)
			for k, told := range []string{draw, draw + fmt.Sprintf(`,"shown":%d`, below)} {
				shown, held := luck(t, c.m, c.params, c.kind, told, rows, below, newSeeded(uint64(i)), rand.New(rand.NewPCG(10, uint64(i))))
				t.Logf("%s, %s%s: shown %.4f, held %.3f", c.m.Describe().Name, c.kind, told, shown, held)
				if k == 1 && held < 0.95 {
					t.Errorf("%s %s%s: %v of the values that are shown hold", c.m.Describe().Name, c.kind, draw, held)
				}
				if draw == "" {
					all[k], good[k] = all[k]+shown, good[k]+shown*held
				}
			}
		}
	}
	if twin := good[0] / all[0]; twin > 0.9 {
		t.Errorf("without the limit %v of the values that are shown hold", twin)
	}
}

// P41: totals of either sign that are shown because their relative error is at most 0.3 hold, where their magnitude is a standard deviation
// of the noise below what that asks for: in at least 95 of 100 cases, of some hundred that are shown. The noise is the same in each run. The
// twin is not told.
func TestTotalsThatAreSuppressed(t *testing.T) {
	const cells, blank = 4000, 0.3
	for _, kind := range []string{"laplace", "gaussian"} {
		for k, told := range []string{"", fmt.Sprintf(`,"error":%v`, blank)} {
			req := lineartest.Request(fmt.Sprintf(`{"by":"g","column":"x","noise":%q,"interval":{"level":95%s}}`, kind, told), 0, number("x", -100, 100), groups(cells))
			_, plan, err := sdktest.Plan(sum.Mechanism{}, req)
			if err != nil {
				t.Fatal(err)
			}
			sd := plan.Errors[0].NoiseSD
			rows := int(math.Round((1/blank - 1) * sd / 50))
			var xs []float64
			var codes []int32
			for g := range cells {
				for range rows {
					xs, codes = append(xs, float64(50-100*(g%2))), append(codes, int32(g))
				}
			}
			out, err := sdktest.Run(sum.Mechanism{}, req, sdktest.Table{Rows: len(xs), Columns: map[string]sdk.Values{"x": {Float64: xs}, "g": {Codes: codes}}}, newSeeded(3))
			if err != nil {
				t.Fatal(err)
			}
			shown, held := 0.0, 0.0
			for g, e := range lineartest.Get(out, sdk.EstimateField) {
				if math.Abs(e) < sd/blank {
					continue
				}
				truth := float64(rows * (50 - 100*(g%2)))
				if shown++; lineartest.Get(out, linear.LowField)[g] <= truth && truth <= lineartest.Get(out, linear.HighField)[g] {
					held++
				}
			}
			if shown < 100 || k == 1 && held < 0.95*shown || k == 0 && held > 0.9*shown {
				t.Errorf("%s%s: %v of %v hold", kind, told, held, shown)
			}
		}
	}
}

// One end of a ratio of two sums that are both 0, as far as their noise shows, is shown where the interval leaves 0 out: it then misses a
// ratio of 0 for sure. So it is shown in about one of 100 cases, and not in five. The twin has a level five times as lax. The noise is the
// same in each run.
func TestEndsOfNothingAreRare(t *testing.T) {
	const cells = 4000
	for level, want := range map[int]float64{95: 0.01, 75: 0.05} {
		for _, kind := range []string{"laplace", "gaussian"} {
			params := fmt.Sprintf(`{"by":"g","numerator":"x","denominator":"y","noise":%q,"interval":{"level":%d}}`, kind, level)
			req := lineartest.Request(params, 0, number("x", 0, 100), number("y", 0, 10), groups(cells))
			none := sdktest.Table{Columns: map[string]sdk.Values{"x": {}, "y": {}, "g": {}}}
			out, err := sdktest.Run(ratio.Mechanism{}, req, none, newSeeded(3))
			if err != nil {
				t.Fatal(err)
			}
			shown := 0.0
			for _, low := range lineartest.Get(out, linear.LowField) {
				if low > 0 {
					shown++
				}
			}
			if shown /= cells; shown > 1.6*want || shown < want/2 {
				t.Errorf("%s, level %d: an end is shown in %v of cases", kind, level, shown)
			}
		}
	}
}

// countNoise is the standard deviation of the noise in the number of rows by which a value is divided.
func countNoise(t *testing.T, m sdk.Mechanism, params, kind, draw string) float64 {
	x := number("x", 0, 100)
	x.Missing = sdk.MissingDrop
	req := lineartest.Request(fmt.Sprintf(`{"by":"g",%s,"noise":%q,"interval":{"level":95%s}}`, params, kind, draw), 0, x, groups(2))
	_, plan, err := sdktest.Plan(m, req)
	if err != nil {
		t.Fatal(err)
	}
	if over := plan.Errors[0].Over; over != nil && over.NoiseSD > 0 {
		return over.NoiseSD
	}
	return 3 // of the variance, about
}
