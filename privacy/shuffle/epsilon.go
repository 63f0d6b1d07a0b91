package shuffle

import "math"

// Settings of the summation: a coarse pass finds the place, a fine one certifies it. The value is the relative width of a block of
// counts, about twice the relative change of epsilon that it may hide.
const (
	coarseSlack = 2e-3
	fineSlack   = 8e-5
)

// family makes the summation of one analysis for a given eps0, prepared for deltas of about the given size.
type family func(eps0, delta, slack float64) profile

// profile brackets delta as a function of eps; both ends fall in eps.
type profile interface{ delta(eps float64) Interval }

// Epsilon brackets the numeric "Hiding among the clones" bound on the epsilon that n shuffled reports have at delta, for any
// eps0-differentially private randomizer.
//
// # Contract
//
// Replace-one, n public; all n users run randomizers that are eps0-differentially private under replacing the input, and only the
// shuffled multiset is seen (P8). Proof: clones.proof.md.
func Epsilon(n int64, eps0, delta float64) (Interval, error) {
	if err := checkAll(n, eps0, checkDelta(delta)); err != nil {
		return Interval{}, err
	}
	return bounded(n, func(n int64) Interval { return solve(cloneFamily(n), eps0, delta) }), nil
}

// Delta is the same bound at a given epsilon.
//
// # Contract
//
// As for [Epsilon].
func Delta(n int64, eps0, eps float64) (Interval, error) {
	if err := checkAll(n, eps0, checkEps(eps)); err != nil {
		return Interval{}, err
	}
	return bounded(n, func(n int64) Interval { return evaluate(cloneFamily(n), eps0, eps) }), nil
}

// LargestLocal is the largest local eps0 for which [Delta] certifies that n shuffled reports are (eps, delta)-differentially private: what
// each user may spend. It is rounded down.
//
// # Contract
//
// As for [Epsilon].
func LargestLocal(n int64, eps, delta float64) (float64, error) {
	if err := checkAll(n, 0, checkEps(eps), checkDelta(delta)); err != nil {
		return 0, err
	}
	return largest(cloneFamily(min(n, maxUsers)), eps, delta), nil
}

// maxUsers is the number of users beyond which further ones are not counted: the sums would take too long, and hiding among fewer is a
// sound bound because more users never hurt.
const maxUsers = 1_000_000_000

// bounded evaluates at no more than maxUsers; the lower end is then unknown.
func bounded(n int64, f func(n int64) Interval) Interval {
	v := f(min(n, maxUsers))
	if n > maxUsers {
		v.Lower = 0
	}
	return v
}

func checkAll(n int64, eps0 float64, more ...error) error {
	if err := check(n, eps0); err != nil {
		return err
	}
	for _, err := range more {
		if err != nil {
			return err
		}
	}
	return nil
}

func cloneFamily(n int64) family {
	return func(eps0, delta, slack float64) profile {
		return newClones(n, math.Exp(-eps0), -math.Expm1(-eps0), eps0, delta, slack)
	}
}

// evaluate widens the window until the probability outside it does not matter.
func evaluate(f family, eps0, eps float64) Interval {
	if eps >= eps0 {
		return Interval{}
	}
	scale := 1e-9
	for {
		v := f(eps0, scale, fineSlack).delta(eps)
		if v.Upper >= scale*0.01 || scale < 1e-300 {
			return v
		}
		scale = math.Max(v.Upper, scale*1e-30)
	}
}

// solve finds eps with delta(eps) = delta, from above for Upper and from below for Lower: a coarse summation finds the place, a few
// Newton steps of the fine one certify both ends.
func solve(f family, eps0, delta float64) Interval {
	if delta == 0 || eps0 == 0 {
		return Interval{Lower: eps0, Upper: eps0}
	}
	coarse := f(eps0, delta, coarseSlack)
	above := func(e float64) float64 { return coarse.delta(e).Upper }
	guess := descend(above, delta, eps0, 1e-3)
	if guess == 0 {
		return Interval{}
	}
	// How fast log delta falls in log eps.
	slope := math.Max(1, math.Log(above(guess*0.999)/above(math.Min(guess*1.001, eps0*(1-1e-12))))/0.002)
	if math.IsNaN(slope) || math.IsInf(slope, 0) {
		slope = 1
	}
	fine := f(eps0, delta, fineSlack)
	upper := newton(func(e float64) float64 { return math.Log(fine.delta(e).Upper / delta) }, guess, slope, -1)
	if upper >= guess {
		upper = guess // certified as well, by the coarse summation
	}
	below := func(e float64) float64 { return fine.delta(e).Lower }
	lower := newton(func(e float64) float64 { return math.Log(below(e) / delta) }, upper, slope, 1)
	if lower == 0 {
		// Near eps0 delta falls off a cliff, which Newton steps jump over.
		if lower = descend(below, delta, eps0, rootTol) * (1 - 2*rootTol); below(lower) < delta {
			lower = 0
		}
	}
	return Interval{Lower: math.Min(lower, upper), Upper: upper}
}

// rootTol is the relative width to which roots are found.
const rootTol = 1e-6

// newton looks for an x near guess at which the falling function g has the wanted sign (−1: g <= 0, the certified upper end; +1:
// g >= 0, the lower end) and |g| is small. When it finds none it returns the guess for an upper end and 0 for a lower end.
func newton(g func(x float64) float64, guess, slope, sign float64) float64 {
	best := guess
	if sign > 0 {
		best = 0
	}
	x, lastX, lastV := guess, 0.0, 0.0
	for i := 0; i < 8; i++ {
		v := g(x)
		// The secant through the last two points, once there are two that differ enough to show a slope.
		if s := (lastV - v) / math.Log(x/lastX); i > 0 && math.Abs(v-lastV) > 1e-7 && s > slope/4 && s < slope*4 {
			slope = s
		}
		lastX, lastV = x, v
		if v*sign >= 0 && (sign < 0 && x < best || sign > 0 && x > best) {
			best = x
		}
		if v*sign >= 0 && math.Abs(v) < 4*rootTol*slope {
			break
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			break
		}
		// Aim a little to the wanted side.
		x *= math.Exp(v/slope - sign*rootTol)
	}
	return best
}

// descend finds an x in [0, hi] with f(x) <= target, f falling, of relative distance tol to the smallest such x, by regula falsi on
// log f with bisection as a safeguard. f(hi) = 0.
func descend(f func(e float64) float64, target, hi, tol float64) float64 {
	lo, fhi := 0.0, 0.0
	flo := f(lo)
	if flo <= target {
		return lo
	}
	for i := 0; i < 200 && hi-lo > tol*hi && hi > 1e-300; i++ {
		mid := (lo + hi) / 2
		if lo == 0 {
			mid = hi / 16
		}
		if lo > 0 && fhi > 0 && i%3 != 2 {
			y0, y1 := math.Log(flo/target), math.Log(fhi/target)
			// Interpolate in log x, and alternate on either side of the estimate, so that both ends move.
			x := lo*math.Exp(math.Log(hi/lo)*y0/(y0-y1)) + float64(i%2*2-1)*tol/4*hi
			if x > lo && x < hi {
				mid = x
			}
		}
		if v := f(mid); v <= target {
			hi, fhi = mid, v
		} else {
			lo, flo = mid, v
		}
	}
	return hi
}

// largest bisects for the largest eps0 that meets the target.
func largest(f family, eps, delta float64) float64 {
	if delta == 0 {
		return eps
	}
	ok := func(eps0 float64) bool { return f(eps0, delta, fineSlack).delta(eps).Upper <= delta }
	lo, hi := eps, math.Max(2*eps, 1e-6)
	for ok(hi) {
		if lo, hi = hi, 2*hi; hi > 1e5 {
			return lo
		}
	}
	for i := 0; i < 60 && hi-lo > 1e-7*hi; i++ {
		mid := (lo + hi) / 2
		if ok(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
