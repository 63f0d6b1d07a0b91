package pld

import (
	"math"
	"testing"
)

// momentOfWaves is the mean of L^α under the absence of the unit, L the likelihood ratio of one of t
// waves of Gaussian noise: t^−α Σ α!/Π n_i! · exp(Σ n_i(n_i − 1)/2σ²) over all ways n to write α as t
// numbers. Its logarithm over α − 1 is the Rényi divergence of order α. It is a sum of a few
// exponentials, and shares nothing with the lattices and transforms of this package.
func momentOfWaves(t int64, sigma float64, alpha int) float64 {
	power := make([]float64, alpha+1) // the coefficients of (Σ z^n e^{n(n−1)/2σ²}/n!)^i
	power[0] = 1
	for range t {
		next := make([]float64, alpha+1)
		for have, c := range power {
			factor := 1.0 // of n
			for n := 0; have+n <= alpha; n++ {
				if n > 0 {
					factor /= float64(n)
				}
				next[have+n] += c * factor * math.Exp(float64(n*(n-1))/(2*sigma*sigma))
			}
		}
		power = next
	}
	out := power[alpha]
	for n := 1; n <= alpha; n++ {
		out *= float64(n) / float64(t)
	}
	return out
}

// deltaOneWay brackets δ(ε) of one direction.
func deltaOneWay(t *testing.T, m Mechanism, d direction, eps float64) Interval {
	t.Helper()
	q := &question{c: composition{[]term{{m.(node), 1}}}, at: eps, space: &workspace{}, o: Options{RelTol: 0.01, AbsTol: 1e-7}}
	q.below = q.c
	l, err := q.look(d)
	if err != nil {
		t.Fatal(err)
	}
	iv, err := q.direction(l, Interval{})
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

// The Rényi divergences of rotations, from the profiles that are charged: for every convex φ the mean
// of φ(L) is φ(1) plus ∫ φ″(γ)·δ(log γ), and so for φ(L) = L^α the moment is
// 1 + α(α − 1)·∫ e^{(α−1)ε}·δ_remove(ε) + e^{−αε}·δ_add(ε) over ε ≥ 0. With the upper bounds it is no
// less than the true moment, with the lower ones no more, and both are near it. The moments of another
// number of waves, or of a known wave, lie outside.
func TestRenyiOfWaves(t *testing.T) {
	for _, c := range []struct {
		waves int64
		sigma float64
		top   float64 // of the ε that count
	}{{2, 1, 7}, {12, 2, 3}} {
		m := OneOf(Part{1, c.waves, Gaussian(c.sigma)})
		const n = 24 // Simpson's rule
		var remove, add [n + 1]Interval
		for i := range remove {
			eps := c.top * float64(i) / n
			remove[i], add[i] = deltaOneWay(t, m, forward, eps), deltaOneWay(t, m, backward, eps)
		}
		for _, alpha := range []int{2, 3} {
			low, high, a := 0.0, 0.0, float64(alpha)
			for i := range remove {
				weight, eps := c.top/n/3*[]float64{2, 4}[i%2], c.top*float64(i)/n
				if i == 0 || i == n {
					weight /= 2
				}
				up, down := math.Exp((a-1)*eps), math.Exp(-a*eps)
				low += weight * (up*remove[i].Lower + down*add[i].Lower)
				high += weight * (up*remove[i].Upper + down*add[i].Upper)
			}
			low, high = 1+a*(a-1)*low, 1+a*(a-1)*high
			want := momentOfWaves(c.waves, c.sigma, alpha)
			// Simpson's rule and what lies beyond the last point leave less than a part in 100 of what is above 1.
			slack := 0.01 * (want - 1)
			if low > want+slack || high < want-slack || high-low > 0.05*(want-1) {
				t.Errorf("%d waves, σ=%g: E L^%d lies in [%.6f, %.6f], it is %.6f", c.waves, c.sigma, alpha, low, high, want)
			}
			for _, wrong := range []int64{1, c.waves - 1, c.waves + 1} {
				if other := momentOfWaves(max(wrong, 1), c.sigma, alpha); other > low-slack && other < high+slack {
					t.Errorf("%d waves, σ=%g: the moment of %d waves is not told apart", c.waves, c.sigma, wrong)
				}
			}
		}
	}
}
