package amplify

import "math"

// Posterior is q·e^ε / (1 + q(e^ε − 1)), rounded up: how likely it can at most be that a unit is in a sample, for somebody who
// saw outputs that spent eps on the sample, when it was drawn with probability at most q. It is q at eps = 0 and rises to 1.
//
// # Contract
//
// That of [Epsilon]. Proof: sampling.proof.md.
func Posterior(q, eps float64) float64 {
	if !rate(q) || !(eps >= 0) {
		return 1
	}
	return probability(math.Max(q, up(q/Beta(q, eps))))
}
