package quantiles

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// What a plan says of the error in rank is what is measured, without and with intervals, weights and other relations; and the
// interval that it says reaches as far in rank, over noise and draw. The noise is the same in each run of the test.
func TestForecasts(t *testing.T) {
	const n, runs = 1000, 120
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: n, Missing: sdk.MissingRefuse}
	for _, c := range []struct {
		params string
		rows   int64 // public
		weight float64
	}{
		{`"quantiles":[0.5]`, 0, 1}, {`"quantiles":"quartiles"`, n, 1}, {`"quantiles":"quartiles"`, 0, 10}, {`"quantiles":"quartiles","method":"tree"`, 0, 1},
		{`"quantiles":[0.5],"interval":{"level":95}`, n, 1}, {`"quantiles":[0.25,0.5],"interval":{"level":95,"square":0.9,"mean":0.0009,"rows":1000}`, n, 1},
	} {
		req := lineartest.Request(fmt.Sprintf(`{"column":"x",%s}`, c.params), c.rows, x)
		req.Target, req.Public.Design.MinWeight, req.Public.Design.MaxWeight = privacy.Point{Epsilon: 1}, c.weight, c.weight
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i) + 0.5
		}
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		m, err := l.choose(req)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := m.plan(req)
		if err != nil {
			t.Fatal(err)
		}
		host, sum, k, reach := seededHost{src: insecurenoise.NewSeeded(7)}, 0.0, 0.0, 0.0
		for range runs {
			out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: values}}}, host)
			if err != nil {
				t.Fatal(err)
			}
			low, high := lineartest.Get(out, "interval_low"), lineartest.Get(out, "interval_high")
			for i, q := range lineartest.Get(out, "quantile") {
				d := c.weight * (lineartest.Get(out, "estimate")[i] - q*n)
				sum, k = sum+d*d, k+1
				if low != nil && q == 0.5 {
					reach += (high[i] - low[i]) / runs / n
				}
			}
		}
		forecast := m.(interface{ rankSD() float64 }).rankSD()
		if r := math.Sqrt(sum/k) / forecast; r < 0.75 || r > 1.3 {
			t.Errorf("%s: the error in rank is %.2f times the forecast, %v", c.params, r, forecast)
		}
		if reach == 0 {
			continue
		}
		var of, from, to float64
		if _, err := fmt.Sscanf(plan.Errors[0].Note, "the interval of the quantile %f reaches from about the rank %f to %f of", &of, &from, &to); err != nil || of != 0.5 {
			t.Fatalf("%q: %v", plan.Errors[0].Note, err)
		}
		if r := reach / (to - from); r < 0.8 || r > 1.25 {
			t.Errorf("%s: intervals are %.2f times as wide as was said", c.params, r)
		}
	}
}

// seededHost draws noise that is the same in every run of a test.
type seededHost struct {
	sdk.Host
	src *noise.Source
}

func (h seededHost) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(h.src, v, ev.Scale)
}

func (h seededHost) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteGaussian(h.src, v, ev.Sigma)
}

func (h seededHost) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	in := make([]noise.Piece, len(pieces))
	for i, p := range pieces {
		in[i] = noise.Piece(p)
	}
	return noise.Select(h.src, in, rate)
}

// Where nobody knows what a row of the sample stands for, the plan has no error in rank, and stands.
func TestNoForecastOfUnknownWeights(t *testing.T) {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 100, Missing: sdk.MissingRefuse}
	for _, method := range []string{"recursion", "tree"} {
		for _, weight := range []float64{0, math.Inf(1)} {
			req := lineartest.Request(fmt.Sprintf(`{"column":"x","quantiles":[0.5],"step":1,"method":%q}`, method), 0, x)
			req.Target, req.Public.Design.MinWeight, req.Public.Design.MaxWeight = privacy.Point{Epsilon: 1}, weight, weight
			plan, err := Mechanism{}.Plan(req)
			if err != nil {
				t.Logf("%s, weight %v: refused: %v", method, weight, err)
				continue
			}
			if err := plan.Check(req); err != nil {
				t.Errorf("%s, weight %v: %v", method, weight, err)
			}
		}
	}
}
