package count

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// AddGaussian adds known numbers too.
func (s shifted) AddGaussian(ctx context.Context, _ privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return s.AddLaplace(ctx, privacy.DiscreteLaplace{}, v)
}

// ends are the intervals of the noisy sums from −far to far, and the law of the noise.
func ends(t *testing.T, req sdk.PlanRequest, far int64) (of map[int64][2]float64, mass func(int64) float64) {
	t.Helper()
	domain, noise := make([]string, 2*far+1), make([]int64, 2*far+1)
	for i := range domain {
		domain[i], noise[i] = fmt.Sprint(i), int64(i)-far
	}
	req.Public.Columns = []sdk.Column{category("g", domain...)}
	out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Columns: map[string]sdk.Values{"g": codes()}}, shifted{by: noise})
	if err != nil {
		t.Fatal(err)
	}
	of = map[int64][2]float64{}
	for i, y := range noise {
		of[y] = [2]float64{get(out, linear.LowField).Float64[i], get(out, linear.HighField).Float64[i]}
	}
	weight := func(z float64) float64 { return 0 }
	switch e := out.Plan.Event.(type) {
	case privacy.DiscreteLaplace:
		weight = func(z float64) float64 { return math.Exp(-math.Abs(z) / e.Scale) }
	case privacy.DiscreteGaussian:
		weight = func(z float64) float64 { return math.Exp(-z * z / (2 * e.Sigma * e.Sigma)) }
	}
	total := 0.0
	for z := -far; z <= far; z++ {
		total += weight(float64(z))
	}
	return of, func(z int64) float64 { return weight(float64(z)) / total }
}

// drawnOf are the probabilities that so many of n rows are drawn at a rate.
func drawnOf(n int64, rate float64) []float64 {
	if rate == 1 {
		return append(make([]float64, n), 1)
	}
	out := make([]float64, n+1)
	for k := range out {
		a, _ := math.Lgamma(float64(n) + 1)
		b, _ := math.Lgamma(float64(k) + 1)
		c, _ := math.Lgamma(float64(n-int64(k)) + 1)
		out[k] = math.Exp(a - b - c + float64(k)*math.Log(rate) + float64(n-int64(k))*math.Log1p(-rate))
	}
	return out
}

// holding is the least probability, over numbers of rows up to most, that the interval of a count holds the number, given that its noisy
// number is at least below, of numbers that are shown in one of 1e8 cases or more; by enumeration of the draw and the noise.
func holding(t *testing.T, params, told string, rate, epsilon, below float64) (least float64) {
	t.Helper()
	draw := ""
	if rate < 1 {
		draw = fmt.Sprintf(`,"square":%v`, 1-rate)
	}
	req := request("", 0)
	req.Params = json.RawMessage(fmt.Sprintf(`{"by":"g",%s"interval":{"level":95%s%s}}`, params, draw, told))
	req.Target.Epsilon = epsilon
	if rate < 1 {
		req.Public.Design = sdk.Design{Kind: "poisson", Rate: rate, MinWeight: 1 / rate, MaxWeight: 1 / rate, EqualWeights: true}
	}
	most := below*rate + 30/epsilon + 5*math.Sqrt(below*rate) // rows of a draw
	far := int64(most + 60/epsilon + 10*math.Sqrt(most) + 30)
	of, mass := ends(t, req, far)
	least = 1
	for n := int64(0); float64(n) <= most/rate; n += 1 + n/40 {
		drawn := drawnOf(n, rate)
		shown, held := 0.0, 0.0
		for y := -far; y <= far; y++ {
			if float64(y)/rate < below {
				continue
			}
			p := 0.0
			for k, q := range drawn {
				if z := y - int64(k); q > 1e-15 && z >= -far && z <= far {
					p += q * mass(z)
				}
			}
			if shown += p; of[y][0] <= float64(n) && float64(n) <= of[y][1] {
				held += p
			}
		}
		if shown > 1e-8 {
			least = math.Min(least, held/shown)
		}
	}
	return least
}

// P41: the interval of a count that suppress blanks below a number, or above a relative error, holds the number of rows, given that it is shown: of empty groups, of
// tiny ones and of those about the limit, over the whole law of noise and draw. The twin that is not told of the limit is caught.
func TestCountsThatAreSuppressed(t *testing.T) {
	const blank = 0.3
	rare := sdk.NoiseDeviation(privacy.DiscreteLaplace{Scale: 1 / 0.3}) / blank // what a relative error of no more asks for
	for _, c := range []struct {
		params               string
		rate, epsilon, below float64
	}{
		{"", 1, 1, 5.5}, {"", 1, 0.3, 40}, {`"noise":"gaussian",`, 1, 1, 25}, {`"noise":"gaussian",`, 1, 1, 60},
		{"", 0.2, 1, 30}, {"", 0.5, 2, 4}, {`"noise":"gaussian",`, 0.2, 1, 150}, {`"noise":"gaussian",`, 0.3, 10, 10}, {"", 1, 0.3, rare},
		// Next to the error of the draw the noise is small, so that the draw alone shows a few rows.
		{"", 0.01, 20, 30}, {"", 0.5, 5, 10}, {"", 0.2, 5, 300}, {`"noise":"gaussian",`, 0.9, 20, 60},
	} {
		told := fmt.Sprintf(`,"shown":%v`, c.below)
		if c.below == rare {
			told = fmt.Sprintf(`,"error":%v`, blank)
		}
		if got := holding(t, c.params, told, c.rate, c.epsilon, c.below); got < 0.95-1e-5 {
			t.Errorf("%+v: holds in %.4f of cases", c, got)
		}
		if got := holding(t, c.params, "", c.rate, c.epsilon, c.below); got > 0.9 {
			t.Errorf("%+v: an interval that forgets the limit holds in %.4f", c, got)
		}
	}
}
