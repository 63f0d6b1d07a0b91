package rdp

import "math"

// WithoutReplacement is the curve of any mechanism on a fixed-size sample without replacement (Wang, Balle and Kasiviswanathan
// 2019), from its curve on the sample; gamma = n/N. Where the divergence is small its terms of order three and more are loose, and the
// bound, alone in this package, can then fall slightly in alpha.
//
// # Contract
//
// Replace-one relation, c the curve under replace-one for replacing a record by ANY record of the domain (the place of the
// neighbour's record is taken by any other record of the population). The sample stays secret. Proof: wor.proof.md.
func WithoutReplacement(gamma float64, c Curve) Curve {
	if !(gamma >= 0 && gamma <= 1) {
		return noBound
	}
	if gamma == 0 {
		return domain(func(float64) float64 { return 0 })
	}
	if gamma == 1 {
		return c
	}
	// With a pure bound ε(∞) the j-th term also carries min{2, (e^ε(∞) − 1)^j}.
	logPure := logExpm1(c(math.Inf(1)))
	doubled := func(j float64) float64 { return (j-1)*c(j) + math.Ln2 }
	powered := func(j float64) float64 { return (j-1)*c(j) + j*logPure }
	moment := func(j float64) float64 {
		g := math.Min(doubled(j), powered(j))
		if j == 2 {
			g = math.Min(g, math.Log(4)+logExpm1(c(2)))
		}
		return g
	}
	return sampled(c, gamma, func(n float64) float64 {
		b := &blockSum{n: n, logRatio: math.Log(gamma), g: moment, envelopes: []func(float64) float64{doubled, powered}}
		return log1pExp(b.log(2))
	})
}
