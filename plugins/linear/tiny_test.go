package linear_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	vary "github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

// seeded adds noise that is the same in every run of a test.
type seeded struct {
	sdk.Host
	src *noise.Source
}

func newSeeded(seed uint64) seeded { return seeded{src: insecurenoise.NewSeeded(seed)} }

func (d seeded) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(d.src, v, ev.Scale)
}

func (d seeded) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteGaussian(d.src, v, ev.Sigma)
}

// A group of which no row was drawn may be empty: the interval of its number of rows holds 0, however small the noise is, for a
// Poisson sample, a simple random one and a table that is one of these, with Laplace and Gaussian noise, in a count and in a bin.
// Before, the lower end was 7.5 of 100 rows where one row in a hundred is drawn, as the root of a quadratic equation that
// nothing below half a row solves.
func TestEmptyGroupsMayBeEmpty(t *testing.T) {
	none := sdktest.Table{Columns: map[string]sdk.Values{"x": {}, "g": {}}}
	for _, draw := range []string{`"square":0.99`, `"square":0.99497,"mean":0.00497,"rows":200`, `"square":0.9,"weighted":true`} {
		for _, kind := range []string{"laplace", "gaussian"} {
			for _, epsilon := range []float64{0.1, 1, 5, 50} {
				for _, m := range []struct {
					mechanism sdk.Mechanism
					params    string
				}{{count.Mechanism{}, `"by":"g"`}, {histogram.Mechanism{}, `"column":"x","edges":[0,1,2]`}} {
					req := lineartest.Request(fmt.Sprintf(`{%s,"noise":%q,"interval":{"level":95,%s}}`, m.params, kind, draw), 0, number("x", 0, 2), groups(2))
					req.Target.Epsilon, req.Public.Design.MaxWeight = epsilon, 100
					out, err := sdktest.Run(m.mechanism, req, none, nil)
					if err != nil {
						t.Fatal(err)
					}
					for i, low := range lineartest.Get(out, linear.LowField) {
						if high := lineartest.Get(out, linear.HighField)[i]; !(low <= 0 && high > 0) {
							t.Errorf("%s at ε %v: an empty cell has the interval %v to %v", req.Params, epsilon, low, high)
						}
					}
				}
			}
		}
	}
}

// The interval of a share near 0 or 1 holds as often as it says. Each of 1,000 simple random samples of 200 of 20,000 rows holds the share
// with a probability of at least 0.93 (an interval of a discrete number of rows cannot do better, and has half a row more), so
// fewer than 890 hold it with a probability of 2e-6 (Chernoff) at most. The twin is the mean of the same zeros and ones, which
// takes the variance from the rows that were drawn, as shares did before: it holds in fewer.
func TestSharesNearTheirEndsHold(t *testing.T) {
	const draws, all, n = 1000, 20_000, 200
	number := number("x", 0, 1)
	for i, share := range []float64{0.002, 0.005, 0.01, 0.995} {
		host, rng := newSeeded(uint64(i)), rand.New(rand.NewPCG(40, uint64(i)))
		held := map[string]int{}
		mechanisms := map[string]sdk.Mechanism{"share": proportion.Mechanism{}, "twin": mean.Mechanism{}}
		for range draws {
			values := make([]float64, n)
			left := int(share * all)
			for j := range values { // one row after the other, without replacement
				if rng.IntN(all-j) < left {
					values[j], left = 1, left-1
				}
			}
			table := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: values}}}
			for name, m := range mechanisms {
				params := `{"column":"x","from":0.5,"interval":{"level":95,"square":0.99497,"mean":0.0049749,"rows":200}}`
				if name == "twin" {
					params = `{"column":"x","interval":{"level":95,"square":0.99497,"mean":0.0049749,"rows":200}}`
				}
				req := lineartest.Request(params, all, number)
				req.Target.Epsilon = 5
				req.Public.Design = sdk.Design{Kind: "srswor", Rate: 0.01, SampleSize: n, MinWeight: 100, MaxWeight: 100, EqualWeights: true}
				out, err := sdktest.Run(m, req, table, host)
				if err != nil {
					t.Fatal(err)
				}
				if low, high := lineartest.Get(out, linear.LowField)[0], lineartest.Get(out, linear.HighField)[0]; low <= share && share <= high {
					held[name]++
				}
			}
		}
		t.Logf("share %v: %v", share, held)
		if held["share"] < 890 {
			t.Errorf("the interval of a share of %v holds in %d of %d samples", share, held["share"], draws)
		}
		if share != 0.002 && held["twin"] >= held["share"] || share == 0.005 && held["twin"] >= 890 {
			t.Errorf("share %v: the twin holds in %d of %d samples", share, held["twin"], draws)
		}
	}
}

// The columns of the whole error are those of the textbook: of 200 of 20,000 rows √((1 − f)·s²/n + noise²) with 199 degrees of freedom,
// for a mean, its total, numbers and shares of rows, a ratio (whose residuals count) and a variance (with fourth moments).
func TestWholeError(t *testing.T) {
	const n, all = 200, 20_000
	values, codes := make([]float64, n), make([]int32, n)
	others, first, large := make([]float64, n), 0.0, 0.0
	for i := range values {
		values[i], others[i], codes[i] = float64(i*i%97), float64(1+i%7), int32(i%5/4)
		first += float64(1-codes[i]) / n
		if values[i] >= 50 {
			large += 1.0 / n
		}
	}
	middle, below := stat.Mean(values, nil), stat.Mean(others, nil)
	variance := stat.PopVariance(values, nil)
	spread := func(z func(i int) float64) float64 {
		zs := make([]float64, n)
		for i := range zs {
			zs[i] = z(i)
		}
		return math.Sqrt(0.99 * stat.Variance(zs, nil) / n)
	}
	draw, share := spread(func(i int) float64 { return values[i] }), spread(func(i int) float64 { return float64(codes[i]) })
	some := spread(func(i int) float64 { return float64(min(1, int(values[i])/50)) })
	quotient := spread(func(i int) float64 { return (values[i] - middle/below*others[i]) / below })
	squares := spread(func(i int) float64 { return (values[i] - middle) * (values[i] - middle) })
	for params, c := range map[string]struct {
		m           sdk.Mechanism
		scale, draw float64
	}{
		`"column":"x"`: {mean.Mechanism{}, 1, draw}, `"column":"x" `: {sum.Mechanism{}, all, draw}, `"by":"g"`: {count.Mechanism{}, all, share},
		`"column":"x","from":1000`: {proportion.Mechanism{}, 1, 0}, `"column":"x","from":50`: {proportion.Mechanism{}, 1, some},
		`"column":"x","edges":[0,50,2000]`:  {histogram.Mechanism{}, all, some},
		`"numerator":"x","denominator":"y"`: {ratio.Mechanism{}, 1, quotient}, `"column":"x","noise":"auto"`: {vary.Mechanism{}, 1, squares},
		`"column":"x","noise":"laplace"`: {vary.SD(), 1, squares / 2 / math.Sqrt(variance)},
	} {
		req := lineartest.Request(`{`+params+`,"interval":{"level":95,"square":0.994974874,"mean":0.00497487437,"rows":200}}`, all, number("x", 0, 2000), number("y", 0, 2000), groups(2))
		req.Public.Design = sdk.Design{Kind: "srswor", Rate: 0.01, SampleSize: n, MinWeight: 100, MaxWeight: 100, EqualWeights: true}
		req.Target.Epsilon = 500000
		table := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: values}, "y": {Float64: others}, "g": {Codes: codes}}}
		out, err := sdktest.Run(c.m, req, table, nil)
		if err != nil {
			t.Fatal(params, err)
		}
		noise, got := lineartest.Get(out, sdk.SDField)[0], lineartest.Get(out, linear.ErrorField)[0]
		if want := math.Hypot(noise, c.scale*c.draw); math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%s: the standard error is %v, want %v", params, got, want)
		}
		if df, cv, x := lineartest.Get(out, linear.FreedomField)[0], lineartest.Get(out, linear.CVField)[0], lineartest.Get(out, sdk.EstimateField)[0]; df != n-1 || math.Abs(cv-math.Min(10, got/x)) > 1e-4 {
			t.Errorf("%s: %v degrees of freedom, cv %v of %v", params, df, cv, x)
		}
	}
}
