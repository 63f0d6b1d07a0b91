package privacy

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// SampleBudgetAdditive is [SampleBudget] for a mechanism for which the arrival of a
// record costs at most the share arrival of what a replaced one does: half, as with
// noise that is added to a centred sum, or more where only a part of what is run on the
// draw is such. Poisson sampling under replace-one then amplifies more: at rate
// 0.1 and a target of 1, a half gives 5.5 instead of 2.9. The answer is what the
// mechanism may spend under replace-one. Where delta is positive, or the draw is another
// one, it is [SampleBudget]: an (ε, δ) point says too little about smaller ε for a gain.
//
// # Contract
//
// That of [SampleBudget]; arrival lies in [½, 1]; and for a target with delta 0 the
// mechanism is (arrival·ε)-differentially private under add-remove on the sample, where
// ε is the budget returned, and ε-differentially private under replace-one. Everything
// that is run on the draw shares this one budget: releases that each keep to the share
// keep to it together. Proof: additive.proof.md.
func SampleBudgetAdditive(s Sampling, rel Relation, target Point, arrival float64) (Point, error) {
	b, err := SampleBudget(s, rel, target)
	if err != nil {
		return b, err
	}
	if !(arrival >= 0.5 && arrival <= 1) {
		return Point{}, wrong("arrival", "must lie in [0.5, 1] (%g)", arrival)
	}
	p, ok := s.(Poisson)
	if !ok || rel != ReplaceOne || target.Delta > 0 || p.Rate == 1 || arrival == 1 {
		return b, nil
	}
	// Twice the ε of the other rule, and the square of e^ε/q, are never reached.
	limit := 2*b.Epsilon + 2*target.Epsilon - 2*math.Log(p.Rate) + 2
	x := amplify.Invert(target.Epsilon, limit, func(x float64) float64 {
		return amplify.PoissonReplacePure(p.Rate, math.Nextafter(x*arrival, math.Inf(1)), x)
	})
	return Point{math.Max(b.Epsilon, x), 0}, nil
}
