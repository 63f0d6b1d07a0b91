package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

func surveyNodes(t *testing.T, least, most float64) *Nodes {
	t.Helper()
	req := sdk.PlanRequest{
		Public: sdk.Public{Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove}, Design: sdk.Design{Kind: "poisson", MinWeight: least, MaxWeight: most}},
		Target: privacy.Point{Epsilon: 1},
	}
	k := NewNodes(req, &Interval{Level: 95, Square: 1, Weighted: true, Replacement: true}, 1)
	if k == nil {
		t.Fatalf("no nodes for weights between %v and %v", least, most)
	}
	return k
}

// A row adds whole numbers of at least 0 that add up to One, whatever its weight is, and at
// the nodes they make its weight. Its square is never taken for smaller than it is, nor for
// more than a third larger where it lies above a 27th of the largest weight.
func TestRowsAtNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for _, b := range [][2]float64{{1, 2}, {1, 40}, {5, 20}, {0, 7}, {1, 1e6}, {0.5, 1e-3 + 1}} {
		k := surveyNodes(t, b[0], b[1])
		for range 2000 {
			w := []float64{b[0], b[1], b[0] + (b[1]-b[0])*rng.Float64(), b[0] - 1, 2 * b[1], math.NaN(), math.Inf(1), math.Inf(-1), k.at[rng.IntN(k.N())]}[rng.IntN(9)]
			sums := make([]int64, k.N())
			k.Add(w, sums)
			total, touched, mean, square := int64(0), 0, 0.0, 0.0
			for i, s := range sums {
				if s < 0 {
					t.Fatalf("weight %v between %v: %v", w, b, sums)
				}
				if s > 0 {
					touched++
				}
				total += s
				mean += k.at[i] * float64(s) / float64(k.One)
				square += k.at[i] * k.at[i] * float64(s) / float64(k.One)
			}
			if total != k.One || touched > 2 {
				t.Fatalf("weight %v between %v: %v adds up to %d of %d", w, b, sums, total, k.One)
			}
			if math.IsNaN(w) {
				continue
			}
			w = min(max(w, b[0]), b[1])
			if fine := b[1] * 1e-5; math.Abs(mean-w) > fine || square < w*w-fine*b[1] || w > b[1]/27 && square > w*w*4/3+fine*b[1] {
				t.Fatalf("weight %v between %v: %v and square %v", w, b, mean, square)
			}
		}
	}
	if k := NewNodes(sdk.PlanRequest{Public: sdk.Public{Design: sdk.Design{MinWeight: 4, MaxWeight: 5}}, Target: privacy.Point{Epsilon: 1}}, &Interval{Square: 1}, 1); k != nil {
		t.Error("weights that are nearly equal need no nodes")
	}
}

// Rows of unequal weights in a bin, Poisson draws and Laplace noise, all from a fixed seed. The
// interval holds the true number about as often as it says, and it is shorter than one that
// takes the largest weight for each row. The twin takes the least weight, and misses.
func TestIntervalOfWeightedBins(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights []float64
		units   []int
		scale   float64 // of the noise in a count at a node
		shorter float64
	}{
		{"few heavy rows", []float64{40, 5, 2}, []int{80, 500, 800}, 1, 0.75},
		{"little noise", []float64{40, 5, 2}, []int{80, 500, 800}, 0.1, 0.75},
		{"one small stratum", []float64{40, 8}, []int{4, 40}, 1, 1.1},
		{"few rows at the largest, little noise", []float64{40, 8}, []int{120, 200}, 0.1, 1.1},
		{"an empty bin", []float64{40}, []int{0}, 1, 1.1},
		{"all at the largest", []float64{40}, []int{2000}, 1, 1.1},
	} {
		k := surveyNodes(t, 1, 40)
		k.interval.Replacement = false
		twin := *k
		twin.interval = &Interval{Level: 95, Square: 1.0 / 40, Weighted: true}
		rng := rand.New(rand.NewPCG(7, 8))
		scale := float64(k.One) * c.scale
		noise := noiseOf(privacy.DiscreteLaplace{Scale: scale})
		truth := 0.0
		for _, n := range c.units {
			truth += float64(n)
		}
		const runs = 2000
		held, forgot, width, rough := 0, 0, 0.0, 0.0
		plain := NewLattice(0, 0x1p-10, 1, 40)
		for range runs {
			sums, drawn := make([]int64, k.N()), 0.0
			for i, w := range c.weights {
				for range c.units[i] {
					if rng.Float64()*w < 1 {
						k.Add(w, sums)
						drawn += w
					}
				}
			}
			laplace := func() float64 { return c.scale * (rng.ExpFloat64() - rng.ExpFloat64()) }
			for i := range sums {
				sums[i] += int64(math.Round(float64(k.One) * laplace()))
			}
			row := k.Row(sums, noise)
			if row[2] <= truth && truth <= row[3] {
				held++
			}
			width += row[3] - row[2]
			if row := twin.Row(sums, noise); row[2] <= truth && truth <= row[3] {
				forgot++
			}
			old := Counts{Lattice: plain, scale: 1}
			out := old.Row([]int64{int64(math.Round((drawn + 40*laplace()) / plain.Step))}, noiseOf(privacy.DiscreteLaplace{Scale: 40 * c.scale / plain.Step}), k.interval, old.Rough(k.interval))
			rough += out[3] - out[2]
		}
		share, short := float64(held)/runs, width/rough
		if share < 0.94 || short > c.shorter {
			t.Errorf("%s: held in %v, %v of the width with the largest weight", c.name, share, short)
		}
		if truth > 1000 && float64(forgot)/runs > 0.93 {
			t.Errorf("%s: an interval that takes weights for small holds in %v", c.name, float64(forgot)/runs)
		}
	}
}
