package sdktest

import "math"

// closeness is the hockey-stick divergence D_{e^eps} of the law of a + s·Lap(1) from
// that of b + t·Lap(1): the least delta with which the first is (eps, delta)-close
// to the second. Between the points a and b and outside of them the log of the
// ratio of the densities is linear, so that the set where it exceeds eps is made of
// at most three pieces, over which both densities are integrated in closed form.
func closeness(eps, a, s, b, t float64) float64 {
	lo, hi := math.Min(a, b), math.Max(a, b)
	// log p − log q − eps
	excess := func(x float64) float64 {
		return math.Log(t/s) - math.Abs(x-a)/s + math.Abs(x-b)/t - eps
	}
	total := 0.0
	piece := func(from, to float64) {
		if !(from < to) {
			return
		}
		// Masses are differences of tails, on the side where both are small.
		d := mass(from, to, a, s) - math.Exp(eps)*mass(from, to, b, t)
		if d > 0 {
			total += d
		}
	}
	// split integrates over the part of [from, to] where the linear excess is positive.
	split := func(from, to, atFrom, slope float64) {
		root := from - atFrom/slope
		switch {
		case slope == 0 || math.IsNaN(root):
			if atFrom > 0 {
				piece(from, to)
			}
		case slope > 0:
			piece(math.Max(from, root), to)
		default:
			piece(from, math.Min(to, root))
		}
	}
	inner := 0.0
	if hi > lo {
		inner = (excess(hi) - excess(lo)) / (hi - lo)
	}
	split(lo, hi, excess(lo), inner)
	// To the right of hi the slope is 1/t − 1/s; to the left it is the opposite, which
	// is the same seen in a mirror.
	outer := 1/t - 1/s
	split(hi, math.Inf(1), excess(hi), outer)
	at := excess(lo)
	switch root := lo + at/outer; {
	case outer == 0:
		if at > 0 {
			piece(math.Inf(-1), lo)
		}
	case outer > 0:
		piece(math.Inf(-1), math.Min(lo, root))
	default:
		piece(math.Max(math.Inf(-1), root), lo)
	}
	return total
}

// mass returns the probability that m + s·Lap(1) lies in [from, to].
func mass(from, to, m, s float64) float64 {
	u, v := (from-m)/s, (to-m)/s
	switch {
	case u >= 0:
		return -math.Exp(-u) / 2 * math.Expm1(u-v)
	case v <= 0:
		return -math.Exp(v) / 2 * math.Expm1(u-v)
	}
	return -math.Expm1(u)/2 - math.Expm1(-v)/2
}
