package plan

import (
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// sum adds exact amounts.
func sum(gs ...job.Guarantee) job.Guarantee {
	total := job.Guarantee{Epsilon: new(big.Rat), Delta: new(big.Rat)}
	for _, g := range gs {
		total.Epsilon.Add(total.Epsilon, g.Epsilon)
		total.Delta.Add(total.Delta, g.Delta)
	}
	return total
}

// Point rounds a target down (P17).
func Point(g job.Guarantee) privacy.Point {
	return privacy.Point{Epsilon: job.Down(g.Epsilon), Delta: job.Down(g.Delta)}
}

// portion is the part of a whole budget that belongs to part when the budget was
// made for whole: the budget in proportion to the targets, each of ε and δ by
// itself, rounded down (P17). Portions of one whole add up to at most the budget.
func portion(budget privacy.Point, part, whole job.Guarantee) privacy.Point {
	return privacy.Point{
		Epsilon: share(budget.Epsilon, part.Epsilon, whole.Epsilon),
		Delta:   share(budget.Delta, part.Delta, whole.Delta),
	}
}

func share(budget float64, part, whole *big.Rat) float64 {
	if whole.Sign() == 0 {
		return 0
	}
	b := new(big.Rat).SetFloat64(budget)
	if b == nil {
		return 0
	}
	return job.Down(b.Mul(b, part).Quo(b, whole))
}
