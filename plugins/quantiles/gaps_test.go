package quantiles

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// drawer draws what a host would, from a fixed source.
type drawer struct {
	sdk.Host
	src *noise.Source
}

func (d drawer) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	in := make([]noise.Piece, len(pieces))
	for i, p := range pieces {
		in[i] = noise.Piece(p)
	}
	return noise.Select(d.src, in, rate)
}

func (d drawer) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(d.src, v, ev.Scale)
}

// apart are n values in two lumps, at 100 and 500, or spread over twenty numbers from there on; so many in the lower one.
func apart(n, lower int, spread bool) []float64 {
	out := make([]float64, n)
	for i := range out {
		from, k, of := 100.0, i, lower
		if i >= lower {
			from, k, of = 500, i-lower, n-lower
		}
		if out[i] = from; spread {
			out[i] += 20 * float64(k) / float64(of)
		}
	}
	return out
}

// shares returns how often the interval of a quantile holds it, of those that are shown, and how many are.
func shares(t *testing.T, values []float64, rank string, at, square float64, runs int) (held, shown float64) {
	t.Helper()
	truth := slices.Sorted(slices.Values(values))[int(math.Ceil(at*float64(len(values))))-1]
	n, rng, host := len(values), rand.New(rand.NewPCG(1, 2)), drawer{src: insecurenoise.NewSeeded(7)}
	if square > 0 {
		n /= 2
	}
	req := asked(`"quantiles":[`+rank+`],`, privacy.ReplaceOne, int64(n), square)
	for range runs {
		drawn := slices.Clone(values)
		if square > 0 {
			rng.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
		}
		out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: drawn[:n]}}}, host)
		if err != nil {
			t.Fatal(err)
		}
		ends := map[string]float64{}
		for _, c := range out.Result.Columns {
			if c.Float64 != nil {
				ends[c.Name] = c.Float64[0]
			}
		}
		low, high := ends[linear.LowField], ends[linear.HighField]
		if math.IsNaN(low) {
			continue
		}
		if shown++; low <= truth+0.01 && truth-0.01 <= high {
			held++
		}
	}
	return held / shown, shown / float64(runs)
}

// The interval of a quantile that lies ten rows from the edge of a wide gap, on either side, holds it: where all rows below the gap have
// one value and all above it another, and where values differ. Noise and draws are the same in each run. The twin takes values to lie densely.
func TestEndsBesideAGap(t *testing.T) {
	defer func() { gaps = 1 }()
	missed, all := 0.0, 0.0
	for _, c := range []struct {
		rank   string
		at     float64
		n      int
		square float64
	}{{"0.5", 0.5, 400, 0}, {"0.5", 0.5, 2000, 0}, {"0.1", 0.1, 2000, 0}, {"0.5", 0.5, 2000, 0.5}} {
		for _, spread := range []bool{false, true} {
			for _, side := range []int{-10, 10} {
				values := apart(c.n, int(c.at*float64(c.n))+side, spread)
				gaps = 1
				held, shown := shares(t, values, c.rank, c.at, c.square, 150)
				gaps = 0
				twin, _ := shares(t, values, c.rank, c.at, c.square, 150)
				if missed, all = missed+1-twin, all+1; held < 0.95 || shown < 0.9 {
					t.Errorf("%+v, spread %v, side %d: held in %v of %v that are shown", c, spread, side, held, shown)
				}
			}
		}
	}
	if missed < 0.3*all {
		t.Errorf("the twin misses in %v of cases", missed/all)
	}
}
