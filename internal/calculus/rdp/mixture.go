package rdp

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// Mixture is the curve of a mechanism that runs with probability p and otherwise does nothing, where it is public which of the two
// happened (P5.3: the units drawn above the last stage count as published, and the neighbour's unit is among them with
// probability p).
//
// # Contract
//
// The coin is independent of the data, p is an upper bound on its probability. Proof: mixture.proof.md.
func Mixture(p float64, c Curve) Curve {
	if !(p >= 0 && p <= 1) {
		return noBound
	}
	if p == 0 {
		return domain(func(float64) float64 { return 0 })
	}
	return domain(func(alpha float64) float64 {
		base := c(alpha)
		if math.IsInf(alpha, 1) || math.IsInf(base, 1) || p == 1 {
			return base
		}
		a := alpha - 1
		return math.Min(outward(amplify.Epsilon(p, a*base)/a), base)
	})
}
