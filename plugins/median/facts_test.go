package median

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// Public figures of the papers on sampling: how much larger the smooth sensitivity
// of the median is in a sample than in its population, for the same guarantee on
// the population. Lognormal(5, 0.5), N = 10,001, δ = 1/2N, published β: 1.28, 3.72,
// 4.24 and 23.30. One population decides the figure; the ranges are those of 25
// populations, within which the median of nine must lie.
func TestRatioOfSmoothSensitivities(t *testing.T) {
	const size = 10001
	delta := 1 / (2.0 * size)
	for _, c := range []struct {
		epsilon  float64
		n        int64
		low, top float64
	}{{0.1, 1001, 1.23, 1.40}, {0.1, 101, 3.39, 4.35}, {1, 1001, 2.68, 4.90}, {1, 101, 14.1, 25.0}} {
		rng := rand.New(rand.NewPCG(7, 8))
		var medians []float64
		for range 9 {
			x := make([]float64, size)
			for i := range x {
				x[i] = math.Min(1e4, math.Exp(5+0.5*rng.NormFloat64()))
			}
			whole := sensitivityOfMedian(x, privacy.Point{Epsilon: c.epsilon, Delta: delta})
			on, err := privacy.SampleBudget(privacy.WithoutReplacement{Take: c.n, Of: size}, privacy.ReplaceOne, privacy.Point{Epsilon: c.epsilon, Delta: delta})
			if err != nil {
				t.Fatal(err)
			}
			var ratios []float64
			for range 60 {
				rng.Shuffle(size, func(i, j int) { x[i], x[j] = x[j], x[i] })
				ratios = append(ratios, sensitivityOfMedian(x[:c.n], on)/whole)
			}
			slices.Sort(ratios)
			medians = append(medians, ratios[len(ratios)/2])
		}
		slices.Sort(medians)
		if m := medians[4]; m < c.low || m > c.top {
			t.Errorf("ε=%g n=%d: the ratio is %.3g, want it in [%g, %g]", c.epsilon, c.n, m, c.low, c.top)
		}
	}
}

func sensitivityOfMedian(x []float64, at privacy.Point) float64 {
	tab := sortedTable(x, 0, 1e4)
	return tab.smoothSensitivity(rank{num: 1, den: 2}.place(len(x)), at.Epsilon/(2*math.Log(2/at.Delta)), floorOf(tab))
}
