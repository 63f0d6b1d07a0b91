package plan

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// bySplit is the method that charges what the releases cost one by one: each was
// held to its share of the sample's budget by whichever method is best for it alone,
// and what they need of their shares composes.
const bySplit = "split"

// charged is the accountant's answer at the target's δ: the smaller of what the
// events cost together, and what the shares that the releases were held to cost
// together (basic composition, then one amplification). The second never exceeds
// the target; that is what the budget was split for. It is nil for events that stand
// for themselves.
func charged(event, shares privacy.Event, r privacy.Relation, target privacy.Point) (privacy.Answer, error) {
	a, err := privacy.EpsilonAt(event, r, target.Delta)
	if err != nil {
		return a, err
	}
	if shares != nil {
		b, err := privacy.EpsilonAt(shares, r, target.Delta)
		if err != nil {
			return b, err
		}
		a.Methods = maps.Clone(a.Methods)
		a.Methods[bySplit] = privacy.Bound{Epsilon: b.Epsilon, Delta: b.Delta}
		if b.Epsilon < a.Epsilon {
			a.Epsilon, a.Delta, a.Upper, a.Method = b.Epsilon, b.Delta, b.Epsilon, bySplit
		}
	}
	return a, within(a, target)
}

func within(a privacy.Answer, target privacy.Point) error {
	if !(a.Epsilon <= target.Epsilon) {
		return fmt.Errorf("the events cost ε %.9g, more than the target %.9g", a.Epsilon, target.Epsilon)
	}
	return nil
}

// asPlanError is a refusal of the ledger, or a plan that was priced wrongly.
func asPlanError(err error, format string, args ...any) error {
	var known *ledger.Error
	if errors.As(err, &known) {
		return failure.New(failure.ExitBudget, known.Code, "%s", known.Message)
	}
	return failure.New(failure.ExitBug, "PLAN_UNSOUND", format, args...)
}

// cost is the price on the population of an event on the table.
func (p *Planned) cost(event, together privacy.Event, onTable, target privacy.Point) (privacy.Answer, error) {
	if p.table == nil {
		return charged(event, together, p.inside, target)
	}
	a, err := charged(event, together, p.inside, onTable)
	if err != nil {
		return a, err
	}
	u, err := p.table.useOf(p.Job, privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta})
	if err != nil {
		return a, err
	}
	return differenceOf(p.Job, u), nil
}

// priceTable finds what all draws from a table that is itself a sample cost
// together: composed on the table, and amplified with what earlier jobs did.
func (p *Planned) priceTable(events, promised []privacy.Event) (*PricedDraw, error) {
	most := rational.Zero()
	for _, e := range promised {
		a, ok := e.(privacy.Approx)
		eps, delta := new(big.Rat).SetFloat64(a.Eps), new(big.Rat).SetFloat64(a.Delta)
		if !ok || eps == nil || delta == nil {
			return nil, fmt.Errorf("a draw without a charge on the table")
		}
		most.Epsilon.Add(most.Epsilon, eps)
		most.Delta.Add(most.Delta, delta)
	}
	// A δ is asked for only where it is needed.
	delta := 0.0
	a, err := privacy.EpsilonAt(compose(events), p.inside, delta)
	if most.Delta.Sign() > 0 && (err != nil || a.Epsilon > rational.Up(most.Epsilon)) {
		delta = rational.Up(most.Delta)
		a, err = privacy.EpsilonAt(compose(events), p.inside, delta)
	}
	if err != nil {
		return nil, err
	}
	step := privacy.Point{Epsilon: math.Min(a.Epsilon, rational.Up(most.Epsilon)), Delta: delta}
	use, err := p.table.useOf(p.Job, step)
	if err != nil {
		return nil, err
	}
	return &PricedDraw{PlannedDraw: &PlannedDraw{DraftDraw: p.table}, Answer: differenceOf(p.Job, use), Step: step, Use: use}, nil
}

// promise is an event that costs no less than e, and no more than the target: the
// shares that the releases were held to, or for a raised draw, whose events alone say
// what it costs, their charge on a table that is itself a sample. It is nil where
// there is no such event but e.
func (d *PlannedDraw) promise(e, shares privacy.Event, outer privacy.Sampling, relation privacy.Relation, target privacy.Point) (privacy.Event, error) {
	if !d.raised {
		return d.Design.Event(shares), nil
	}
	if outer == nil {
		return nil, nil
	}
	a, err := privacy.EpsilonAt(e, relation, target.Delta)
	return privacy.Approx{Eps: a.Epsilon, Delta: a.Delta}, err
}

// sum adds exact amounts.
func sum(gs ...job.Guarantee) job.Guarantee {
	total := rational.Zero()
	for _, g := range gs {
		total = total.Plus(g)
	}
	return total
}

// Point rounds a target down (P17).
func Point(g job.Guarantee) privacy.Point {
	return privacy.Point{Epsilon: rational.Down(g.Epsilon), Delta: rational.Down(g.Delta)}
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
	return rational.Down(b.Mul(b, part).Quo(b, whole))
}
