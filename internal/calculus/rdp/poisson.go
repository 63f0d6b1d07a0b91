package rdp

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// Poisson is the curve of any mechanism on a Poisson sample (Zhu and Wang 2019), from its curve on the sample. withoutFactor3 drops
// the factor 3 of the terms of order three and more, which is proved for Gaussian and Laplace noise only.
//
// # Contract
//
// Add-remove relation, c the curve under add-remove; every record enters independently with probability rate (or less); the sample
// and its size stay secret. withoutFactor3 only for additive Gaussian or Laplace noise. Proof: poisson.proof.md.
func Poisson(rate float64, c Curve, withoutFactor3 bool) Curve {
	if !(rate >= 0 && rate <= 1) {
		return noBound
	}
	if rate == 0 {
		return domain(func(float64) float64 { return 0 })
	}
	if rate == 1 {
		return c
	}
	factor := math.Log(3)
	if withoutFactor3 {
		factor = 0
	}
	return sampled(c, rate, func(n float64) float64 { return zhuWang(n, rate, c, factor) })
}

// zhuWang is log A at an integer order n >= 2, from A − 1 = Σ_{l≥2} C(n,l)γ^l(1−γ)^{n−l}(w_l·e^{(l−1)ε(l)} − 1), w_2 = 1, w_l = 3 or 1: the
// leading terms of the published sum are the binomial probabilities of 0 and 1, so the 1 is subtracted term by term.
func zhuWang(n, rate float64, c Curve, factor float64) float64 {
	weighted := func(j float64) float64 {
		g := (j - 1) * c(j)
		if j > 2 {
			g += factor
		}
		return g
	}
	b := &blockSum{
		n:         n,
		logRatio:  math.Log(rate) - math.Log1p(-rate),
		g:         func(j float64) float64 { return logExpm1(weighted(j)) },
		envelopes: []func(float64) float64{weighted}, // used for j > 2 only
	}
	return log1pExp(b.log(2) + n*math.Log1p(-rate))
}

// sampled turns a bound on log A at integer orders into a curve: log A is convex in α and zero at α = 1, so between integers the
// chord bounds it; a sampled mechanism is never worse than the same mechanism on everything, nor than pure amplification.
func sampled(c Curve, rate float64, logA func(n float64) float64) Curve {
	return domain(func(alpha float64) float64 {
		limit := math.Min(c(alpha), amplify.Epsilon(rate, c(math.Inf(1))))
		if math.IsInf(alpha, 1) || alpha >= 1<<52 {
			return limit
		}
		n := math.Floor(alpha)
		f := alpha - n
		var g float64
		switch {
		case f == 0:
			g = logA(n)
		case n == 1:
			g = f * logA(2)
		default:
			g = (1-f)*logA(n) + f*logA(n+1)
		}
		return math.Min(outward(g/(alpha-1)), limit)
	})
}
