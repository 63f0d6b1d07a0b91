package amplify

import "math"

// Efficiency is q·ε_n/ε: how much of the sample's information survives. A sampled sum needs 1/Efficiency times the noise of the same
// sum over the full table for the same guarantee. It is at most 1 and never reaches it for a rate below 1, because
// x ↦ log(1 + x(e^ε − 1)) is concave: any apparent gain is rounding error of e^ε − 1 (P18).
func Efficiency(q, eps float64) float64 {
	if !rate(q) || !(eps > 0) {
		return 0
	}
	if q == 1 {
		return 1
	}
	e := SampleEpsilon(q, eps)
	if math.IsInf(e, 1) {
		return q
	}
	return math.Min(q*(e/eps), 1)
}

// EfficiencyBound is log(1+c)/c, a lower bound on the efficiency of a design that targets ε = c·q: sampling is free only when ε is
// at most about q.
func EfficiencyBound(c float64) float64 {
	switch {
	case !(c >= 0):
		return 0
	case c < 1e-300:
		return 1
	case math.IsInf(c, 1):
		return 0
	}
	return math.Log1p(c) / c
}
