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
	if math.Abs(x) < 1<<62 {
		n := int64(math.RoundToEven(x))
		var carry uint64
		sum[0], carry = bits.Add64(sum[0], uint64(n), 0)
		sum[1] += uint64(n>>63) + carry
		return
	}
	addWords(sum, large(x)...)
}

// large converts a whole number of at least 2^62 to 128 bits.
func large(x float64) []uint64 {
	const limit = 1 << limitBits
	m, e := math.Frexp(math.Min(math.Abs(x), limit))
	n, shift := uint64(m*(1<<53)), e-53 // 10 to 38
	lo, hi := n<<shift, n>>(64-shift)
	if x < 0 {
		lo, hi = negate(lo, hi)
	}
	return []uint64{lo, hi}
}

func negate(lo, hi uint64) (uint64, uint64) {
	lo, carry := bits.Add64(^lo, 1, 0)
	return lo, ^hi + carry
}

func addWords(sum []uint64, words ...uint64) {
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], words[0], 0)
	sum[1] += words[1] + carry
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
	shift := bits.LeadingZeros64(hi)
	if hi == 0 {
		shift = 64 + bits.LeadingZeros64(lo)
	}
	lo, hi = shifted(lo, hi, shift)
	qhi, r := hi/n, hi%n
	qlo, r := bits.Div64(r, lo, n)
	top := bits.LeadingZeros64(qhi)
	if qhi == 0 {
		top = 64 + bits.LeadingZeros64(qlo)
	}
	qlo, qhi = shifted(qlo, qhi, top)
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

func shifted(lo, hi uint64, by int) (uint64, uint64) {
	if by >= 64 {
		lo, hi, by = 0, lo, by-64
	}
	return lo << by, hi<<by | lo>>(64-by)
}
