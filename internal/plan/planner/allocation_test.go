package planner

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// every calls f for all whole numbers from 1 to of that add up to size.
func every(of []int64, size int64, f func(take []int64)) {
	take := make([]int64, len(of))
	var fill func(h int, left int64)
	fill = func(h int, left int64) {
		if h == len(of) {
			if left == 0 {
				f(take)
			}
			return
		}
		for take[h] = 1; take[h] <= min(of[h], left); take[h]++ {
			fill(h+1, left-take[h])
		}
	}
	fill(0, size)
}

// On small strata the allocation is the best of all: for noise and draw together, and for the
// draw alone. Without the noise the two are the same.
func TestAllocationIsTheBestOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	differ := 0
	for range 60 {
		a := allocation{}
		all := int64(0)
		for range 2 + rng.IntN(3) {
			of := 2 + rng.Int64N(11)
			all += of
			a.of, a.sd = append(a.of, of), append(a.sd, math.Exp(2*rng.NormFloat64()))
		}
		a.noise = noiseAt(math.Exp(3*rng.NormFloat64()), privacy.Point{Epsilon: math.Exp(rng.NormFloat64()), Delta: 1e-6 * float64(rng.IntN(2))})
		size := int64(len(a.of)) + rng.Int64N(all-int64(len(a.of)))
		least, drawn := math.Inf(1), math.Inf(1)
		every(a.of, size, func(take []int64) {
			least, drawn = math.Min(least, a.error(take)), math.Min(drawn, a.sampling(take))
		})
		best, neyman := a.best(size), a.neyman(slices.Repeat([]int64{1}, len(a.of)), a.of, size)
		if got := a.error(best); got > least*(1+1e-9) {
			t.Errorf("of %v, sd %.3g, size %d: %v has the error %g, the best %g", a.of, a.sd, size, best, got, least)
		}
		if got := a.sampling(neyman); got > drawn*(1+1e-9)+1e-9 {
			t.Errorf("of %v, sd %.3g, size %d: Neyman %v has %g, the best %g", a.of, a.sd, size, neyman, got, drawn)
		}
		if a.error(neyman) > least*(1+1e-6) {
			differ++
		}
		if a.noise = func(float64) float64 { return 0 }; a.sampling(a.best(size)) > drawn*(1+1e-9)+1e-9 {
			t.Errorf("of %v: without noise the allocation is not Neyman's", a.of)
		}
	}
	if differ < 20 {
		t.Errorf("Neyman was the best %d times of 60: the noise makes no difference", 60-differ)
	}
}

// On large strata no move of rows from one stratum to another makes the error smaller by more
// than a ten-thousandth, and proportional and Neyman's numbers are no better.
func TestAllocationOfLargeStrata(t *testing.T) {
	for _, eps := range []float64{0.01, 0.1, 1, 5} {
		a := allocation{of: []int64{4421, 755, 1018, 90}, sd: []float64{105, 120, 60, 250}, noise: noiseAt(800, privacy.Point{Epsilon: eps})}
		best := a.best(600)
		least := a.error(best)
		for from := range a.of {
			for to := range a.of {
				for _, rows := range []int64{1, 5, 20} {
					take := slices.Clone(best)
					take[from] -= rows
					take[to] += rows
					if take[from] >= 1 && take[to] <= a.of[to] && a.error(take) < least*(1-1e-4) {
						t.Errorf("ε %g: %v is better than %v: %g, %g", eps, take, best, a.error(take), least)
					}
				}
			}
		}
		for _, other := range [][]int64{{422, 72, 97, 9}, a.neyman([]int64{1, 1, 1, 1}, a.of, 600)} {
			if a.error(other) < least {
				t.Errorf("ε %g: %v is better than %v", eps, other, best)
			}
		}
	}
	if a := (allocation{of: []int64{3, 3}, sd: []float64{1, 1}, noise: func(float64) float64 { return 0 }}); a.best(7) != nil || a.best(1) != nil {
		t.Error("more rows than there are, or fewer than strata, were allocated")
	}
}
