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
	return toEpsilon(c, delta, search)
}

// EpsilonAt is [Epsilon] over a fixed list of orders.
func EpsilonAt(c Curve, delta float64, orders []float64) (eps, order float64) {
	return toEpsilon(c, delta, func(objective func(alpha float64) float64) (value, order float64) {
		value = math.Inf(1)
		for _, a := range orders {
			if v := objective(a); v < value {
				value, order = v, a
			}
		}
		return value, order
	})
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
	c = floored(c)
	smallest, at := math.Inf(1), 0.0
	l, order := search(func(alpha float64) float64 {
		r := c(alpha)
		if r < smallest {
			smallest, at = r, alpha
		}
		return logDeltaOf(alpha, r, eps)
	})
	if tv := 0.5 * math.Log(-math.Expm1(-smallest)*(1+1e-15)); tv < l {
		l, order = tv, at
	}
	return deltaFromLog(l, order, c, eps)
}

// toEpsilon converts at the order that minimise finds.
func toEpsilon(c Curve, delta float64, minimise func(objective func(alpha float64) float64) (value, order float64)) (eps, order float64) {
	switch {
	case delta >= 0 && delta < 0x1p-1022:
		// Below the smallest normal number a logarithm is off by up to 36, on amd64. Only the
		// max-divergence says anything about a δ of 0.
		if eps = c(math.Inf(1)); math.IsInf(eps, 1) {
			return eps, 0
		}
		return eps, math.Inf(1)
	case !(delta > 0):
		return math.Inf(1), 0
	case delta >= 1:
		return 0, math.Inf(1)
	}
	c = floored(c)
	smallest, at := math.Inf(1), 0.0
	eps, order = minimise(func(alpha float64) float64 {
		r := c(alpha)
		if r < smallest {
			smallest, at = r, alpha
		}
		return epsilonOf(alpha, r, delta)
	})
	// Bretagnolle and Huber: the total variation distance, which is the delta of epsilon 0, is at most √(1 − e^−R).
	if -math.Expm1(-smallest)*(1+1e-15) <= delta*delta {
		return 0, at
	}
	return math.Max(eps, 0), order
}

// floored is the curve where divergences that underflow count for something: a rate of 1e-170 squared is 0, and its total variation
// distance is not.
func floored(c Curve) Curve {
	if c(math.Inf(1)) == 0 {
		return c // nothing happened
	}
	return func(alpha float64) float64 { return math.Max(c(alpha), 1e-290) }
}

// epsilonOf is the improved conversion at one order, ε = R + log(1−1/α) − (log δ + log α)/(α−1), which may be negative.
func epsilonOf(alpha, r, delta float64) float64 {
	if math.IsInf(r, 1) || math.IsNaN(r) || !(alpha > 1) {
		return math.Inf(1)
	}
	if math.IsInf(alpha, 1) {
		return r
	}
	a := alpha - 1
	up := r - math.Log(delta)/a
	down := math.Log1p(1/a) + math.Log(alpha)/a // log(α/(α−1)), which is small at large orders
	return up - down + 4e-16*(up+down)
}

// logDeltaOf is the same at a fixed ε: log δ = (α−1)(R − ε + log(1−1/α)) − log α, which may be positive.
func logDeltaOf(alpha, r, eps float64) float64 {
	if math.IsInf(r, 1) || math.IsNaN(r) || !(alpha > 1) {
		return math.Inf(1)
	}
	if math.IsInf(alpha, 1) {
		if r <= eps {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	a := alpha - 1
	shift := math.Log1p(1 / a)
	l := a*(r-eps-shift) - math.Log(alpha)
	return l + 4e-16*(a*(r+eps+shift)+math.Log(alpha))
}

// deltaFromLog leaves the logarithm. A probability that merely underflows is not reported as 0 unless the curve is eps-differentially
// private outright.
func deltaFromLog(l, order float64, c Curve, eps float64) (delta, at float64) {
	switch {
	case l >= 0:
		return 1, order
	case math.IsInf(l, -1):
		return 0, order
	}
	delta = math.Exp(l) * (1 + 1e-13*(1-l/100))
	if delta == 0 {
		if c(math.Inf(1)) <= eps {
			return 0, math.Inf(1)
		}
		delta = math.SmallestNonzeroFloat64
	}
	return math.Min(1, delta), order
}
