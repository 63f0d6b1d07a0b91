package rdp

import "math"

// Epsilon converts a curve to the smallest epsilon it proves at delta, by the improved conversion, and returns the order that gave
// it. Orders are chosen automatically: a wide grid, refined around the optimum. (+Inf, 0) when no order proves anything.
//
// # Contract
//
// The order may depend on the curve and on delta, never on the data. A filter across jobs (P10) needs orders fixed beforehand: use
// [EpsilonAt]. Proof: convert.proof.md.
func Epsilon(c Curve, delta float64) (eps, order float64) {
	if !(delta > 0) {
		return pureEpsilon(c, delta)
	}
	return search(func(alpha float64) float64 { return epsilonOf(alpha, c(alpha), delta) })
}

// EpsilonAt is [Epsilon] over a fixed list of orders.
func EpsilonAt(c Curve, delta float64, orders []float64) (eps, order float64) {
	if !(delta > 0) {
		return pureEpsilon(c, delta)
	}
	return least(orders, func(alpha float64) float64 { return epsilonOf(alpha, c(alpha), delta) })
}

// Delta converts a curve to the smallest delta it proves at eps and returns the order that gave it, chosen automatically. It is at
// most 1; (1, 0) when no order proves anything.
//
// # Contract
//
// As for [Epsilon].
func Delta(c Curve, eps float64) (delta, order float64) {
	if !(eps >= 0) {
		return 1, 0
	}
	l, order := search(func(alpha float64) float64 { return logDeltaOf(alpha, c(alpha), eps) })
	return deltaFromLog(l, order)
}

// DeltaAt is [Delta] over a fixed list of orders.
func DeltaAt(c Curve, eps float64, orders []float64) (delta, order float64) {
	if !(eps >= 0) {
		return 1, 0
	}
	l, order := least(orders, func(alpha float64) float64 { return logDeltaOf(alpha, c(alpha), eps) })
	return deltaFromLog(l, order)
}

// pureEpsilon answers for delta = 0, where only the max-divergence says anything, and for a delta that is no probability.
func pureEpsilon(c Curve, delta float64) (eps, order float64) {
	if delta != 0 {
		return math.Inf(1), 0
	}
	if e := c(math.Inf(1)); !math.IsInf(e, 1) {
		return e, math.Inf(1)
	}
	return math.Inf(1), 0
}

// epsilonOf is the improved conversion at one order: ε = R + log(1−1/α) − (log δ + log α)/(α−1), and 0 where the total variation
// distance is already at most δ (Bretagnolle and Huber).
func epsilonOf(alpha, r, delta float64) float64 {
	if delta >= 1 {
		return 0
	}
	if math.IsInf(r, 1) || math.IsNaN(r) || !(alpha > 1) {
		return math.Inf(1)
	}
	if math.IsInf(alpha, 1) {
		return r
	}
	if delta*delta > -math.Expm1(-r)*(1+1e-15) {
		return 0
	}
	a := alpha - 1
	up := r - math.Log(delta)/a
	down := math.Log(alpha/a) + math.Log(alpha)/a
	return math.Max(0, up-down+4e-16*(up+down))
}

// logDeltaOf is the same at a fixed ε: log δ = (α−1)(R − ε + log(1−1/α)) − log α, or the logarithm of √(1−e^{−R}) if that is less.
func logDeltaOf(alpha, r, eps float64) float64 {
	if math.IsInf(r, 1) || math.IsNaN(r) || !(alpha > 1) {
		return 0
	}
	if math.IsInf(alpha, 1) {
		if r <= eps {
			return math.Inf(-1)
		}
		return 0
	}
	a := alpha - 1
	shift := math.Log(alpha / a)
	l := a*(r-eps-shift) - math.Log(alpha)
	l += 4e-16 * (a*(r+eps+shift) + math.Log(alpha))
	tv := 0.5 * math.Log(-math.Expm1(-r)*(1+1e-15))
	return math.Min(0, math.Min(l, tv))
}

func deltaFromLog(l, order float64) (float64, float64) {
	if math.IsInf(l, 1) || l >= 0 {
		return 1, order
	}
	if math.IsInf(l, -1) {
		return 0, order
	}
	// Never report 0 for a probability that merely underflows.
	return math.Min(1, math.Max(math.Exp(l)*(1+1e-13*(1-l/100)), math.SmallestNonzeroFloat64)), order
}
