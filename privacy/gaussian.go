package privacy

import "math"

// gaussianDelta is the privacy profile of Gaussian noise whose mean moves by mu
// standard deviations, Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), rounded up (Balle and
// Wang 2018). Where the difference would cancel it is integrated from
// ∂δ/∂μ = φ(ε/μ − μ/2), which is positive.
func gaussianDelta(mu, eps float64) float64 {
	switch {
	case math.IsNaN(mu) || math.IsNaN(eps) || math.IsInf(mu, 1):
		return 1
	case mu <= 0:
		return 0
	}
	a := distance(mu, eps)
	b := eps/mu + mu/2
	if a > 38.6 {
		// The tail is below the smallest normal number: φ(a)/a bounds it.
		return math.Min(1, math.Max(5e-324, above(math.Exp(-a*a/2), 1e-9)))
	}
	first := tail(a)
	// e^ε φ(b) = φ(a). The logarithm keeps the second term in range, and the factor that
	// both share is computed once.
	second := math.Exp(eps + logTail(b))
	if b >= 30 {
		second = math.Exp(logMills(b) - a*a/2 - math.Log(2*math.Pi)/2)
	}
	if d := first - second; d > 1e-2*first {
		return math.Min(1, above(d, 1e-11)+0x1p-1022)
	}
	// Less than the smallest normal number was lost to underflow.
	return math.Min(1, above(shiftIntegral(mu, eps), 1e-11)+0x1p-1022)
}

// tail is P[N(0,1) > x].
func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// logTail is its logarithm, for any x >= 0.
func logTail(x float64) float64 {
	if x < 30 {
		return math.Log(tail(x))
	}
	return -x*x/2 - math.Log(2*math.Pi)/2 + logMills(x)
}

// logMills is the logarithm of tail over density, for x >= 30: the asymptotic series.
// The first term that is left out is 105/x^8, below 1.7e-10.
func logMills(x float64) float64 {
	y := 1 / (x * x)
	return math.Log1p(-y*(1-3*y*(1-5*y))) - math.Log(x)
}

// distance is ε/s − s/2, with the one rounding of a product and sum where they cancel.
func distance(s, eps float64) float64 { return math.FMA(-s/2, s, eps) / s }

// shiftIntegral is ∫_0^μ φ(ε/s − s/2) ds by Gauss–Legendre panels that shrink
// towards μ, where the integrand lives.
func shiftIntegral(mu, eps float64) float64 {
	var sum float64
	hi := mu
	// The integrand falls by more than e per (s·dlog): its logarithmic slope in s
	// at s is (ε/s − s/2)(ε/s² + 1/2).
	for hi > 0 {
		a := distance(hi, eps)
		if a > 39 {
			break
		}
		slope := math.Abs(a) * (eps/hi/hi + .5)
		width := hi / 2
		if slope*width > 1 {
			width = 1 / slope
		}
		lo := hi - width
		if width < hi*1e-15 || lo < mu*1e-18 {
			lo = 0
		}
		part := panel(lo, hi, eps)
		sum += part
		if part < 1e-18*sum {
			break
		}
		hi = lo
	}
	return sum
}

// Nodes and weights of the 10-point Gauss–Legendre rule on [−1, 1].
var legendreNodes = [5]float64{0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717}
var legendreWeights = [5]float64{0.2955242247147529, 0.2692667193099963, 0.2190863625159820, 0.1494513491505806, 0.0666713443086881}

func panel(lo, hi, eps float64) float64 {
	mid, half := (lo+hi)/2, (hi-lo)/2
	var sum float64
	for i, x := range legendreNodes {
		for _, s := range [2]float64{mid - half*x, mid + half*x} {
			a := distance(s, eps)
			sum += legendreWeights[i] * math.Exp(-a*a/2)
		}
	}
	return sum * half / math.Sqrt(2*math.Pi)
}
