package amplify

import "math"

// Posterior is q·e^ε / (1 + q(e^ε − 1)), rounded up. It bounds the probability that a unit is in a sample, as seen by somebody who
// knows outputs that spent eps on the sample, where the unit was drawn with probability at most q. It is q at eps = 0 and rises to 1.
//
// # Contract
//
// That of [Epsilon]. Proof: sampling.proof.md.
func Posterior(q, eps float64) float64 {
	if !rate(q) || !(eps >= 0) {
		return 1
	}
	q = math.Max(q, tiny)
	if eps > 600 {
		// e^{−ε} loses its digits: in logarithms, moved outward by more than they are off.
		odds := math.Log(q) - math.Log1p(-q) + eps
		return probability(math.Max(q, up(1/(1+math.Exp(-odds))*(1+1e-12))))
	}
	return probability(math.Max(q, up(q/Beta(q, eps))))
}
