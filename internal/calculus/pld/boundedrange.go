package pld

import (
	"fmt"
	"math"
)

// boundedRange is the pair with the density e^((l-top)/2)/(2(1-e^-top)) of losses on
// [-top, top]: that of laplace without its atoms, scaled to mass 1.
type boundedRange struct {
	laplace
	scale float64
}

// BoundedRange dominates every eps-bounded-range mechanism: its losses between
// neighbours lie in an interval [t-eps, t].
//
// # Contract
//
// eps bounds the range for every ordered pair of neighbours, and is above 0. The pair
// has the largest profile of all such mechanisms. No one mechanism has it at every epsilon,
// so a lower bound for compositions of the pair does not hold for the mechanism.
// Proof: ../../../privacy/bounded_range.proof.md.
func BoundedRange(eps float64) Mechanism {
	return newLeaf(newBoundedRange(eps), check(eps > 0 && eps < 1e300, "bounded range: eps must be positive and finite (%v)", eps))
}

func newBoundedRange(eps float64) *boundedRange {
	return &boundedRange{laplace{eps}, -2 / math.Expm1(-eps)}
}

func (p *boundedRange) ends() (lo, hi, pLo, pHi float64) { return -p.top, p.top, 0, 0 }

func (p *boundedRange) cell(a, b float64) (mass, surplus float64) {
	mass, surplus = p.laplace.cell(a, b)
	return mass * p.scale, surplus * p.scale
}

func (p *boundedRange) above(l float64) (mass, other float64) {
	if l >= p.top {
		return 0, 0
	}
	if l <= -p.top {
		return 1, 1
	}
	return -math.Expm1((l-p.top)/2) * p.scale / 2, math.Exp(-p.top) * math.Expm1((p.top-l)/2) * p.scale / 2
}

func (p *boundedRange) profile(eps float64) (float64, bool) {
	if eps >= p.top {
		return 0, true
	}
	if eps <= -p.top {
		return -math.Expm1(eps), true
	}
	u := math.Expm1((eps - p.top) / 2)
	return u * u * p.scale / 2, true
}

func (p *boundedRange) measure(r request) (measure, error) { return discretise(p, -p.top, p.top, r) }

func (p *boundedRange) gaps() []gap { return nil }

func (p *boundedRange) key() string { return fmt.Sprintf("bounded range(%x)", p.top) }
