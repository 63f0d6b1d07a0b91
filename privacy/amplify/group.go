package amplify

import "math"

// GroupEpsilon is k·ε, rounded up: pure privacy of k units at once.
func GroupEpsilon(k, eps float64) float64 {
	if !(k >= 1) || !(eps >= 0) {
		return math.Inf(1)
	}
	if eps == 0 || k == 1 {
		return eps
	}
	return scale(k, eps)
}

// GroupDelta bounds the delta at eps of a mechanism when k units change at once, from its profile for one unit:
// δ_{M,k}(ε) <= (e^ε − 1)/(e^{ε/k} − 1) · δ_M(ε/k). A profile that vanishes from some ε0 on gives the pure rule: 0 from k·ε0 on.
//
// # Contract
//
// delta is non-increasing in eps and bounds the mechanism for any one changed unit, whatever the other units are.
// Proof: group.proof.md.
func GroupDelta(k, eps float64, delta func(eps float64) float64) float64 {
	if !(k >= 1) || !(eps >= 0) {
		return 1
	}
	if k == 1 {
		return probability(delta(eps))
	}
	part := eps / k
	if math.FMA(k, part, -eps) > 0 {
		part = math.Nextafter(part, 0)
	}
	d := delta(part)
	if !(d > 0) {
		return probability(d)
	}
	return probability(up(groupFactor(k, eps, part) * d))
}

// groupFactor is Σ_{i<k} e^{iε/k} = (e^ε − 1)/(e^{ε/k} − 1). part is ε/k rounded down, which makes the quotient no smaller.
func groupFactor(k, eps, part float64) float64 {
	if part < 1e-300 {
		return k * math.Exp(eps)
	}
	if eps > 700 {
		// Half a unit in the last place of eps is worth 2^-53·eps of the factor.
		return math.Exp(eps-part-math.Log1p(-math.Exp(-part))) * (1 + eps*0x1p-50)
	}
	return math.Expm1(eps) / math.Expm1(part)
}

// PureDelta is the profile of an eps0-differentially private mechanism, (e^ε0 − e^ε)/(e^ε0 + 1) below ε0 and 0 from there on: binary
// randomized response attains it and every such mechanism is a post-processing of that.
func PureDelta(eps0, eps float64) float64 {
	if !(eps0 >= 0) || !(eps >= 0) {
		return 1
	}
	if eps >= eps0 {
		return 0
	}
	if math.IsInf(eps0, 1) {
		return 1
	}
	return probability(math.Max(up(-math.Expm1(eps-eps0)/(1+math.Exp(-eps0))), least))
}

// ApproxDelta is the profile of an (eps0, delta0)-differentially private mechanism: with probability delta0 everything is revealed,
// otherwise it is binary randomized response.
func ApproxDelta(eps0, delta0, eps float64) float64 {
	if !(delta0 >= 0 && delta0 <= 1) {
		return 1
	}
	p := PureDelta(eps0, eps)
	if p == 0 || delta0 == 0 {
		return probability(delta0 + p)
	}
	return probability(up(delta0 + (1-delta0)*p))
}
