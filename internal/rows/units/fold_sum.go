package units

import (
	"math"
	"math/bits"
)

// A sum counts whole grains. A grain is 2^-60 of the power of two at or above the declared bounds, so that a double of
// the size of the bounds is a whole number of grains.
const (
	grainBits = 60
	// A row counts at most 2^limitBits grains, 2^30 times that power of two. 2^36 rows of that size fit in 128 bits.
	limitBits = 90
)

// grains is the grain of a sum.
type grains struct {
	scale float64 // grains in 1: a power of two
	exp   int     // a grain is 2^exp
}

// newGrains returns the grain for the declared bounds of a folded value.
func newGrains(lower, upper float64) grains {
	_, e := math.Frexp(math.Max(math.Abs(lower), math.Abs(upper)))
	e = max(e, -900) // no grain is subnormal
	return grains{math.Ldexp(1, grainBits-e), e - grainBits}
}

// add rounds a value to the nearest grain, limits it to 2^limitBits grains, and adds it to a sum of two words.
func (g grains) add(sum []uint64, x float64) {
	x *= g.scale // exact, or below half a grain, or beyond the limit
	n := int64(math.RoundToEven(x))
	lo, hi := uint64(n), uint64(n>>63)
	if math.Abs(x) >= 1<<62 {
		lo, hi = large(x)
	}
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], lo, 0)
	sum[1] += hi + carry
}

// large converts a whole number of at least 2^62 to 128 bits.
func large(x float64) (lo, hi uint64) {
	const limit = 1 << limitBits
	m, e := math.Frexp(math.Min(math.Abs(x), limit))
	n, shift := uint64(m*(1<<53)), e-53 // 10 to 38
	lo, hi = n<<shift, n>>(64-shift)
	if x < 0 {
		return negate(lo, hi)
	}
	return lo, hi
}

func negate(lo, hi uint64) (uint64, uint64) {
	lo, carry := bits.Add64(^lo, 1, 0)
	return lo, ^hi + carry
}

// value divides a sum by n and rounds the exact quotient once, to the nearest float64, ties to even.
func (g grains) value(sum []uint64, n uint64) float64 {
	lo, hi := sum[0], sum[1]
	negative := hi>>63 == 1
	if negative {
		lo, hi = negate(lo, hi)
	}
	if lo|hi == 0 {
		return 0
	}
	// With its top bit set, the quotient by n has at least 64 bits: more than a float64 keeps.
	lo, hi, shift := topped(lo, hi)
	qhi, r := hi/n, hi%n
	qlo, r := bits.Div64(r, lo, n)
	qlo, qhi, top := topped(qlo, qhi)
	if qlo|r != 0 {
		qhi |= 1 // the low bits only decide ties
	}
	x := math.Ldexp(float64(qhi), 64-top-shift+g.exp)
	if math.IsInf(x, 0) {
		x = math.MaxFloat64
	}
	if negative {
		return -x
	}
	return x
}

// topped shifts a number that is not zero so that its top bit is set, and returns by how much.
func topped(lo, hi uint64) (uint64, uint64, int) {
	moved := 0
	if hi == 0 {
		lo, hi, moved = 0, lo, 64
	}
	by := bits.LeadingZeros64(hi)
	return lo << by, hi<<by | lo>>(64-by), moved + by
}
