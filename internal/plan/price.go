package plan

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// charged is the accountant's answer at the target's δ: what the events of a bill cost together, or what its parts cost
// one by one, whichever is less. The ledger computes the same.
func charged(b privacy.Bill, r privacy.Relation, target privacy.Point) (privacy.Answer, error) {
	b.Delta = target.Delta
	a, err := b.Price(r)
	if err != nil {
		return a, err
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

// cost is the price on the population of a bill on the table.
func (p *Planned) cost(b privacy.Bill, onTable, target privacy.Point) (privacy.Answer, error) {
	if p.table == nil {
		return charged(b, p.inside, target)
	}
	a, err := charged(b, p.inside, onTable)
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
func (p *Planned) priceTable(draws []privacy.Bill) (*PricedDraw, error) {
	most, b := rational.Zero(), privacy.Bill{Parts: draws}
	for _, d := range draws {
		a, err := d.Price(p.inside)
		if err != nil {
			return nil, err
		}
		most = most.Plus(rational.Exactly(a.Epsilon, a.Delta))
	}
	own, b, err := atLeastDelta(b, []privacy.Relation{p.inside},
		privacy.Point{Epsilon: rational.Up(most.Epsilon), Delta: rational.Up(most.Delta)})
	if err != nil {
		return nil, err
	}
	use, err := p.table.useOf(p.Job, own)
	if err != nil {
		return nil, err
	}
	return &PricedDraw{PlannedDraw: &PlannedDraw{DraftDraw: p.table}, Answer: differenceOf(p.Job, use), Bill: b, Use: use}, nil
}

// atLeastDelta prices a bill with no δ where that costs no more than most, and otherwise with the δ of most.
func atLeastDelta(b privacy.Bill, under []privacy.Relation, most privacy.Point) (privacy.Point, privacy.Bill, error) {
	b.Delta = 0
	step, err := b.Most(under)
	if most.Delta > 0 && (err != nil || step.Epsilon > most.Epsilon) {
		b.Delta = most.Delta
		step, err = b.Most(under)
	}
	return step, b, err
}

// bill lists some parts of a draw. The parts of a raised draw spend more than their shares, so that its events alone say
// what it costs.
func (d *PlannedDraw) bill(parts []pricedPart) privacy.Bill {
	if d.raised {
		return privacy.Bill{Event: d.Design.Event(compose(eventsOf(parts))), Delta: d.OnTable().Delta}
	}
	b := leaves(parts)
	b.Draw, b.Delta = samplers.Sampling(d.Design), d.OnTable().Delta
	return b
}

// leaves lists parts of a draw as they are on the sample.
func leaves(parts []pricedPart) (b privacy.Bill) {
	for _, p := range parts {
		b.Parts = append(b.Parts, privacy.Bill{Event: p.event, Delta: p.share.Delta})
	}
	return b
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
