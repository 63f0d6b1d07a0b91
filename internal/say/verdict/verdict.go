package verdict

import (
	"math"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/privacy"
)

// Attacker holds upper bounds on what somebody can learn about one unit who knows all others.
type Attacker struct {
	// Guess is the largest chance to be right about the unit, where without the release it is
	// one in two.
	Guess float64 `json:"guess"`
	// Detection is the largest chance to recognise the truth with one false alarm in twenty.
	Detection float64 `json:"detection"`
}

// falseAlarm is the chance of a false alarm that Detection accepts.
const falseAlarm = 0.05

// OfPoint judges a guarantee by its ε and δ alone: it holds for everything that has them.
//
// The chances of two results differ by at most (e^ε − 1 + 2δ)/(e^ε + 1) in total variation (P2).
func OfPoint(p privacy.Point) Attacker {
	guess := (1 + math.Tanh(p.Epsilon/2) + 2*p.Delta/(math.Exp(p.Epsilon)+1)) / 2
	one := Curve{Epsilon: []float64{p.Epsilon}, Delta: []float64{p.Delta}}
	return Attacker{Guess: math.Min(guess, 1), Detection: one.Detection(falseAlarm)}
}

// Attacker judges a guarantee by the whole profile of its event, which is never above what was
// charged and often far below it.
func (p *Profile) Attacker(charged privacy.Point) Attacker {
	all := OfPoint(charged)
	right := reachOf * charged.Epsilon
	if !(right > 0) {
		right = 1
	}
	c, ok := p.Trace(charged, right)
	if !ok {
		return all
	}
	for i, eps := range c.Epsilon {
		all.Guess = math.Min(all.Guess, OfPoint(privacy.Point{Epsilon: eps, Delta: c.Delta[i]}).Guess)
	}
	all.Detection = math.Min(all.Detection, c.Detection(falseAlarm))
	return all
}

// OfDivergences judges what is known by bounds on Rényi divergences alone, as an account in ρ or
// at fixed orders is.
func OfDivergences(c rdp.Curve) Attacker {
	const delta = 1e-9 // where the curve ends: far below any chance that is printed
	most, _ := rdp.Epsilon(c, delta)
	if math.IsInf(most, 0) || math.IsNaN(most) {
		return Attacker{Guess: 1, Detection: 1}
	}
	bound := Curve{Epsilon: grid(most, reachOf*most, points)}
	all := OfPoint(privacy.Point{Epsilon: most, Delta: delta})
	for _, eps := range bound.Epsilon {
		d, _ := rdp.Delta(c, eps)
		bound.Delta = append(bound.Delta, d)
		all.Guess = math.Min(all.Guess, OfPoint(privacy.Point{Epsilon: eps, Delta: d}).Guess)
	}
	all.Detection = math.Min(all.Detection, bound.Detection(falseAlarm))
	return all
}

// AtOrders is the curve that divergences at some rising orders prove: one of a larger order
// bounds those of all smaller ones.
func AtOrders(orders, divergences []float64) rdp.Curve {
	return func(alpha float64) float64 {
		for i, o := range orders {
			if o >= alpha {
				return divergences[i]
			}
		}
		return math.Inf(1)
	}
}
