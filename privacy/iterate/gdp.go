package iterate

import "math"

// Delta is the exact privacy profile of mu-Gaussian differential privacy, Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), rounded up.
//
// # Contract
//
// mu bounds the mechanism in the sense of Gaussian differential privacy, in both directions; eps >= 0. Anything else gives 1.
// Proof: gdp.proof.md.
func Delta(mu, eps float64) float64 {
	if mu == 0 && eps >= 0 {
		return 0
	}
	if !(mu > 0) || !(eps >= 0) || math.IsInf(mu, 1) {
		return 1
	}
	if math.IsInf(eps, 1) {
		return 0
	}
	d := profile(mu*(1+4e-16), eps*(1-4e-16))
	return math.Min(1, math.Max(d*(1+1e-12), math.SmallestNonzeroFloat64))
}

// profile is φ(a)·∫_a^b (1 − x·R(x)) dx with a = ε/μ − μ/2, b = a + μ and R the Mills ratio, −R' = 1 − x·R: nothing cancels.
func profile(mu, eps float64) float64 {
	a := eps/mu - mu/2
	b := eps/mu + mu/2
	switch {
	case mu <= 0.5:
		return density(a) * slopeIntegral(a, b)
	case a > 0:
		// The ratios differ by a good part of themselves here.
		return density(a) * (mills(a) - mills(b))
	default:
		return 0.5*math.Erfc(a/math.Sqrt2) - density(a)*mills(b)
	}
}

func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// mills is Φ(−x)/φ(x).
func mills(x float64) float64 {
	if x < 3 {
		return 0.5 * math.Erfc(x/math.Sqrt2) / density(x)
	}
	return 1 / (x + fraction(x))
}

// millsSlope is 1 − x·R(x) > 0.
func millsSlope(x float64) float64 {
	if x < 3 {
		return 1 - x*mills(x)
	}
	f := fraction(x)
	return f / (x + f)
}

// fraction is 1/(x + 2/(x + 3/(x + …))), the tail of Laplace's continued fraction of the Mills ratio, for x >= 3.
func fraction(x float64) float64 {
	f := 0.0
	for n := 120.0; n >= 2; n-- {
		f = n / (x + f)
	}
	return 1 / (x + f)
}

// Nodes and weights of the 8-point Gauss–Legendre rule on [−1, 1], the positive half.
var (
	gaussNodes   = [4]float64{0.18343464249564980494, 0.52553240991632898582, 0.79666647741362673959, 0.96028985649753623168}
	gaussWeights = [4]float64{0.36268378337836198297, 0.31370664587788728734, 0.22238103445337447054, 0.10122853629037625915}
)

// slopeIntegral is ∫_a^b (1 − x·R(x)) dx over at most half a unit.
func slopeIntegral(a, b float64) float64 {
	mid, half := (a+b)/2, (b-a)/2
	var sum float64
	for i, x := range gaussNodes {
		sum += gaussWeights[i] * (millsSlope(mid-half*x) + millsSlope(mid+half*x))
	}
	return sum * half
}

// Epsilon is the smallest epsilon at which [Delta] is at most delta, rounded up.
//
// # Contract
//
// As for [Delta]; 0 < delta < 1. A delta of 0 or less gives +Inf unless mu is 0. Proof: gdp.proof.md.
func Epsilon(mu, delta float64) float64 {
	switch {
	case mu == 0 || delta >= 1:
		return 0
	case !(mu > 0) || !(delta > 0) || math.IsInf(mu, 1):
		return math.Inf(1)
	case Delta(mu, 0) <= delta:
		return 0
	}
	// Φ(−a) <= e^{−a²/2} puts the answer below hi; bisection keeps Delta(hi) <= delta.
	lo, hi := 0.0, mu*(math.Sqrt(-2*math.Log(delta))+mu/2)*(1+1e-9)
	for Delta(mu, hi) > delta {
		if lo, hi = hi, 2*hi; math.IsInf(hi, 1) {
			return hi
		}
	}
	for i := 0; i < 200 && hi-lo > 2e-15*hi; i++ {
		mid := (lo + hi) / 2
		if Delta(mu, mid) <= delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
