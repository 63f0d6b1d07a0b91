package rdp

import "math"

// Curve is an upper bound on the Rényi divergence of order alpha in (1, Inf), in both directions, for one fixed relation.
// It returns +Inf where no bound is known (and for an alpha that is not above 1), and is never NaN, never negative and
// non-decreasing in alpha (up to the looseness of the bound, see [WithoutReplacement]). A curve at alpha = +Inf bounds
// the max-divergence, that is pure epsilon.
type Curve func(alpha float64) float64

// margin is the relative amount by which every computed curve is moved outward (P17). Rounding error of the sums and integrals in
// this package stays below 1e-12; the tests compare them with 50-digit values.
const margin = 1e-11

// outward moves a computed bound up by the margin and maps anything that is not a number to "no bound".
func outward(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	if x <= 0 {
		return 0
	}
	return x * (1 + margin)
}

// closed moves a closed form that went through a few exponentials and logarithms outward.
func closed(x float64) float64 { return ulps(x * (1 + 6e-15)) }

// ulps moves a formula of two or three operations up by the few units in the last place it can be off.
func ulps(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	if x <= 0 {
		return 0
	}
	return x * (1 + 8e-16)
}

// noBound is the curve of a mechanism about which nothing is known.
func noBound(float64) float64 { return math.Inf(1) }

// domain makes a curve of a formula for orders above 1: other orders, and NaN, give no bound.
func domain(f func(alpha float64) float64) Curve {
	return func(alpha float64) float64 {
		if !(alpha > 1) {
			return math.Inf(1)
		}
		v := f(alpha)
		if math.IsNaN(v) {
			return math.Inf(1)
		}
		return math.Max(v, 0)
	}
}

// Compose is the curve of several mechanisms run on the same data, the choice of each allowed to depend on earlier outputs as long
// as its curve is fixed in advance: divergences of one order add up. An empty composition costs nothing.
//
// # Contract
//
// All curves are for the same relation. Proof: compose.proof.md.
func Compose(curves ...Curve) Curve {
	parts := append([]Curve(nil), curves...)
	return domain(func(alpha float64) float64 {
		var sum float64
		for _, c := range parts {
			sum += c(alpha)
		}
		return ulpsN(sum, len(parts))
	})
}

// ulpsN covers the rounding of a sum of n non-negative terms.
func ulpsN(x float64, n int) float64 {
	if n <= 1 {
		return x
	}
	return x * (1 + float64(n)*2.3e-16)
}

// Repeat is the n-fold composition of one mechanism. Zero repetitions cost nothing; a negative number has no bound.
//
// # Contract
//
// The repetitions are independent uses of the data with fresh randomness. Repeating something that was run on one kept sample is
// not a repetition of the sampled curve (P4). Proof: compose.proof.md.
func Repeat(n int64, c Curve) Curve {
	switch {
	case n < 0:
		return noBound
	case n == 0:
		return domain(func(float64) float64 { return 0 })
	}
	return domain(func(alpha float64) float64 {
		return ulps(float64(n) * c(alpha))
	})
}
