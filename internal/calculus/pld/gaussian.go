package pld

import (
	"fmt"
	"math"
)

// gaussian is N(mu,1) against N(0,1): loss mu·x - mu²/2.
type gaussian struct{ mu float64 }

// Gaussian is the Gaussian mechanism. noiseMultiplier is the standard deviation
// over the L2 sensitivity under the relation at hand.
//
// # Contract
//
// The pair N(1, σ²) against N(0, σ²) dominates every pair of means at distance
// at most 1 (in any dimension). Composition of Gaussians is done in closed form.
func Gaussian(noiseMultiplier float64) Mechanism {
	return newLeaf(&gaussian{quotientUp(1, noiseMultiplier)}, check(noiseMultiplier > 0 && 1/noiseMultiplier < 1e150,
		"gaussian: noise multiplier must be positive and finite (%v)", noiseMultiplier))
}

func check(ok bool, format string, value any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("pld: "+format, value)
}

func (g *gaussian) ends() (lo, hi, pLo, pHi float64) {
	return math.Inf(-1), math.Inf(1), 0, 0
}

func (g *gaussian) above(l float64) (p, q float64) {
	return upperTail(l/g.mu - g.mu/2), upperTail(l/g.mu + g.mu/2)
}

func (g *gaussian) cell(a, b float64) (p, surplus float64) {
	xa, w := a/g.mu+g.mu/2, (b-a)/g.mu
	return panels(xa-g.mu, w, 1, 40, func(x, t float64) (float64, float64) {
		f := density(x)
		return f, -f * math.Expm1(-g.mu*t)
	})
}

// panels integrates a pair of smooth functions over [x, x+w] by Gauss–Legendre
// panels narrow enough for a relative error of 1e-14: f is called with the place
// and its distance t from x. The functions vary like exp(-x²/2) or, with the rate
// of steep, like exp(steep·x).
func panels(x, w, steep, limit float64, f func(x, t float64) (float64, float64)) (p, s float64) {
	t := math.Max(0, math.Min(w, -limit-x))
	for t < w {
		here := x + t
		rate := math.Abs(here) + 3*steep
		step, r := math.Min(w-t, 0.5/rate), gauss5
		if step*rate < 0.04 {
			r = gauss3
		}
		if !(t+step > t) {
			break
		}
		for k, u := range r.x {
			d := t + step*(1+u)/2
			a, b := f(x+d, d)
			p += a * r.w[k] * step / 2
			s += b * r.w[k] * step / 2
		}
		t += step
		if x+t > limit {
			break // what is left is below the smallest float64
		}
	}
	return p, s
}

func (g *gaussian) reach(tail float64) float64 {
	return g.mu * (quantile(tail) + g.mu/2)
}

func (g *gaussian) profile(eps float64) (float64, bool) { return gaussianDelta(g.mu, eps), true }

func (g *gaussian) measure(r request) (measure, error) {
	hi := g.reach(r.tail)
	// Lower than this the mass under P underflows: it is spread to minus infinity.
	lo := math.Max(-hi, g.mu*(g.mu/2-35))
	return discretise(g, math.Min(lo, hi), hi, r)
}

func (g *gaussian) gaps() []gap { return nil }

// quantile is an x with P(N(0,1) > x) at most tail, a hair beyond.
func quantile(tail float64) float64 {
	if tail >= 0.5 {
		return 0
	}
	target := math.Log(math.Max(tail, 1e-307))
	lo, hi := 0.0, 38.0
	for range 60 {
		if mid := (lo + hi) / 2; logUpperTail(mid) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func (g *gaussian) offset() float64 { return g.mu * g.mu }

func (g *gaussian) key() string { return fmt.Sprintf("gaussian(%x)", g.mu) }
