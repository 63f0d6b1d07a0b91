package sdktest

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// lowerBound and upperBound are the one-sided Clopper–Pearson bounds: with
// probability at least 1 − alpha, over k successes in n independent runs, the bound
// is on the right side of the probability of success, whatever that is.

func lowerBound(k, n int, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	lo, _ := bisect(func(x float64) bool { return mathext.RegIncBeta(float64(k), float64(n-k+1), x) < alpha })
	return lo
}

func upperBound(k, n int, alpha float64) float64 {
	if k == n {
		return 1
	}
	// 1 − I_x(k+1, n−k) = I_{1−x}(n−k, k+1), which keeps its digits.
	_, hi := bisect(func(x float64) bool { return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-x) > alpha })
	return hi
}

// bisect finds where below turns false in [0, 1].
func bisect(below func(x float64) bool) (lo, hi float64) {
	lo, hi = 0, 1
	for range 60 {
		if mid := lo + (hi-lo)/2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}

// shown is the ε that k of n runs in an event, against l of n on the neighbour, show
// at that δ with probability 1 − 2·alpha; at least 0.
func shown(k, l, n int, delta, alpha float64) float64 {
	p, q := lowerBound(k, n, alpha)-delta, upperBound(l, n, alpha)
	if !(p > q) {
		return 0
	}
	return math.Log(p / q)
}
