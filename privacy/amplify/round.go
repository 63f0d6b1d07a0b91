package amplify

import "math"

// slack covers the rounding of the handful of floating-point operations in one rule: each is good to an ulp (2.2e-16), and none of
// the formulas amplifies a relative error, because log1p(x) and expm1(x) are evaluated where their condition number is at most 2.
const slack = 2e-15

// least is the smallest positive number. Positive results that underflow are rounded up to it.
const least = 5e-324

// tiny is the smallest number that has all its digits. math.Log of a smaller one is off by up to 36 on amd64: a rate is rounded up
// to tiny before its logarithm is taken.
const tiny = 0x1p-1022

// up moves a non-negative result outward for a guarantee; NaN becomes "no guarantee".
func up(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return math.Inf(1)
	case x <= 0:
		return 0
	}
	return math.Nextafter(x*(1+slack), math.Inf(1))
}

// down moves a non-negative result inward for something that may be spent; NaN becomes "nothing".
func down(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	if math.IsInf(x, 1) {
		return x
	}
	return math.Nextafter(x*(1-slack), 0)
}

// probability limits a delta to [0, 1]; NaN becomes 1.
func probability(x float64) float64 {
	switch {
	case math.IsNaN(x) || x > 1:
		return 1
	case x < 0:
		return 0
	}
	return x
}

// rate reports whether q is a usable inclusion probability.
func rate(q float64) bool { return q > 0 && q <= 1 }

// settle lowers x until forward(x) <= target, so that an inverse never overspends; it starts a few units in the last place below
// the exact inverse, so that one or two steps are enough, and falls back to bisection.
func settle(x, target float64, forward func(float64) float64) float64 {
	if !(x > 0) || !(target >= 0) {
		return 0
	}
	step := slack
	for range 8 {
		if forward(x) <= target {
			return x
		}
		x *= 1 - step
		step *= 4
	}
	return bisect(0, x, target, 200, forward)
}

// bisect halves [lo, hi] while numbers lie between. The answer is the largest x that forward was found within the target at; lo if
// there was none.
func bisect(lo, hi, target float64, steps int, forward func(float64) float64) float64 {
	for range steps {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if forward(mid) <= target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// Invert returns the largest x in [0, limit] that bracketing can certify to have forward(x) <= target, for a forward function that
// is non-decreasing. The answer is always one at which forward was evaluated and found within the target; 0 if none was.
func Invert(target, limit float64, forward func(float64) float64) float64 {
	if !(target >= 0) || !(limit > 0) {
		return 0
	}
	if forward(limit) <= target {
		return limit
	}
	lo, hi := 0.0, math.Min(limit, math.MaxFloat64)
	// Halve the exponent until the bracket is narrow in relative terms, then bisect.
	for range 64 {
		mid := math.Sqrt(math.Max(lo, 5e-324)) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if forward(mid) <= target {
			lo = mid
		} else {
			hi = mid
		}
		if lo > 0 && hi < 2*lo {
			break
		}
	}
	return bisect(lo, hi, target, 60, forward)
}
