package rdp

import "math"

// Gaussian is the curve of Gaussian noise, alpha / (2 s²), where s is the standard deviation divided by the L2 sensitivity under
// the relation at hand.
//
// # Contract
//
// The noise is independent of the data. Proof: closed.proof.md.
func Gaussian(noiseMultiplier float64) Curve {
	if !(noiseMultiplier > 0) {
		return noBound
	}
	if math.IsInf(noiseMultiplier, 1) {
		return domain(func(float64) float64 { return 0 })
	}
	return domain(func(alpha float64) float64 {
		// Divide twice: s² underflows long before the quotient overflows.
		return ulps(alpha / noiseMultiplier / noiseMultiplier / 2)
	})
}

// Laplace is the curve of Laplace noise, where b is the scale divided by the L1 sensitivity under the relation at hand; the
// mechanism is 1/b differentially private.
//
// # Contract
//
// The noise is independent of the data. Proof: closed.proof.md.
func Laplace(b float64) Curve {
	if !(b > 0) {
		return noBound
	}
	eps := 1 / b
	return domain(func(alpha float64) float64 {
		return math.Min(closed(laplaceDivergence(alpha, eps)), ulps(eps))
	})
}

// laplaceDivergence evaluates log{ α/(2α−1)·e^{(α−1)ε} + (α−1)/(2α−1)·e^{−αε} } / (α−1).
func laplaceDivergence(alpha, eps float64) float64 {
	if math.IsInf(alpha, 1) || math.IsInf(eps, 1) {
		return eps
	}
	a := alpha - 1
	x, y := a*eps, alpha*eps
	share := alpha / (alpha + a)
	if x > 30 {
		return eps + math.Log(share+(1-share)*math.Exp(-x-y))/a
	}
	// Both terms are non-negative: α·x = a·y, so the linear parts that would cancel are taken out beforehand.
	excess := share*expm1x(x) + (1-share)*expm1x(-y)
	return math.Log1p(excess) / a
}

// expm1x is e^x − 1 − x, which is never negative, without cancellation for small x.
func expm1x(x float64) float64 {
	if math.Abs(x) > 0.3 {
		return math.Expm1(x) - x
	}
	term := x * x / 2
	sum := term
	for k := 3.0; math.Abs(term) > 1e-18*sum; k++ {
		term *= x / k
		sum += term
	}
	return sum
}

// RandomizedResponse is the curve of k-ary randomized response: the true category with probability e^eps0/(e^eps0 + k − 1), each
// other with 1/(e^eps0 + k − 1). Two neighbours differ in one answer.
//
// # Contract
//
// k >= 2. Proof: closed.proof.md.
func RandomizedResponse(k int, eps0 float64) Curve {
	if k < 2 || !(eps0 >= 0) {
		return noBound
	}
	return domain(func(alpha float64) float64 {
		return math.Min(closed(responseDivergence(alpha, eps0, float64(k))), ulps(eps0))
	})
}

// Pure is the curve of any mechanism that is eps-differentially private. It is the best such curve: binary randomized response
// has exactly this divergence and every eps-differentially private mechanism is a post-processing of it.
//
// # Contract
//
// eps is the pure guarantee in both directions. Proof: closed.proof.md.
func Pure(eps float64) Curve { return RandomizedResponse(2, eps) }

// responseDivergence evaluates log{ p^α r^{1−α} + r^α p^{1−α} + (k−2) r } / (α−1) with r = 1/(e^ε+k−1), p = r·e^ε.
func responseDivergence(alpha, eps, k float64) float64 {
	if eps == 0 {
		return 0
	}
	if math.IsInf(alpha, 1) || math.IsInf(eps, 1) {
		return eps
	}
	a := alpha - 1
	x := a * eps
	// The two categories in which the neighbours differ carry this mass; the rest are equally likely under both.
	inv := math.Exp(-eps)
	mass := (1 + inv) / (1 + (k-1)*inv)
	if x > 30 {
		// log of e^x·{ mass·[1/(1+e^-ε) + e^{-2x}·e^-ε/(1+e^-ε)] + (1−mass)·e^{-x} }
		up := 1 / (1 + inv)
		rest := (k - 2) * inv / (1 + (k-1)*inv)
		return eps + math.Log(mass*(up+(1-up)*math.Exp(-2*x))+rest*math.Exp(-x))/a
	}
	s := math.Sinh(x / 2)
	excess := mass * (2*s*s + math.Tanh(eps/2)*math.Sinh(x))
	return math.Log1p(excess) / a
}

// ZCDP is the curve rho·alpha of rho-zero-concentrated differential privacy.
//
// # Contract
//
// The mechanism is rho-zCDP under the relation at hand. Proof: closed.proof.md.
func ZCDP(rho float64) Curve {
	if !(rho >= 0) {
		return noBound
	}
	if rho == 0 {
		return domain(func(float64) float64 { return 0 })
	}
	return domain(func(alpha float64) float64 { return ulps(rho * alpha) })
}
