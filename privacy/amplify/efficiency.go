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

// LargestRate is the rate to use for a design of several groups of units with rates of their own: their maximum. Unit-specific
// Poisson rates, and strata with Poisson or with fixed public n_h of N_h, all amplify like their largest rate.
//
// # Contract
//
// The rates are public and do not depend on the data: proportional allocation rounded from private counts, allocation by a private
// variable and systematic sampling do not qualify. Proof: sampling.proof.md.
func LargestRate(rates ...float64) float64 {
	if len(rates) == 0 {
		return 1
	}
	var q float64
	for _, r := range rates {
		if !(r >= 0 && r <= 1) {
			return 1
		}
		q = math.Max(q, r)
	}
	if q == 0 {
		return 1
	}
	return q
}
