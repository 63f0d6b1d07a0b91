package count

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

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
		got := consistent(c.x, c.total, false)
		for i, w := range c.want {
			if math.Abs(got[i]-w) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
	// Clusters of unequal size: the draw has more rows than the average one, in every group. Noise alone is not scaled.
	if got := consistent([]float64{72, 12, 6}, 60, true); !reflect.DeepEqual(got, []float64{48, 8, 4}) {
		t.Errorf("a draw of many rows becomes %v", got)
	}
	if got := consistent([]float64{1, -1, 0.5}, 60, true); math.Abs(got[0]-got[1]-2) > 1e-9 {
		t.Errorf("noise alone becomes %v", got)
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
		got, far, mine, ours := consistent(x, total, false), 0.0, 0.0, 0.0
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
	if !reflect.DeepEqual(e, []float64{5, -3, 1}) || !reflect.DeepEqual(get(out, "consistent").Float64, consistent(e, 4, false)) {
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
// hold the truth (at most 6 % outside: 6.5 standard deviations above 5 %).
func TestNoiseIsAsPlanned(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	domain := make([]string, 20000)
	for i := range domain {
		domain[i] = fmt.Sprint(i)
	}
	for _, p := range []string{`{"by":"g","interval":{"level":95}}`, `{"by":"g","noise":"gaussian","interval":{"level":95}}`} {
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
			if truth < get(out, linear.LowField).Float64[i] || truth > get(out, linear.HighField).Float64[i] {
				outside++
			}
		}
		sd := math.Sqrt(squares / 20000)
		if math.Abs(sd/out.Plan.Errors[0].NoiseSD-1) > 0.06 || float64(outside) > 0.06*20000 {
			t.Errorf("%s: sd %v, planned %v; %d of 20,000 outside", p, sd, out.Plan.Errors[0].NoiseSD, outside)
		}
	}
}
