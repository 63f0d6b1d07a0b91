package plan

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
)

// price evaluates the events on the population: of each release, of each draw,
// and of the whole job, which is what is charged.
func (p *Plan) price() error {
	outer, inside, relation := p.outer, p.inside, p.Job.Dataset.Relation
	var events, fresh, promised []privacy.Event
	var targets []job.Guarantee // of the fresh draws
	for _, d := range p.Draws {
		events = append(events, d.Event)
		if d.Kept != nil {
			if err := d.priceKept(p.Job); err != nil {
				return asPlanError(err, "draw %s: %v", d.Name, err)
			}
			continue
		}
		if p.Table != nil {
			if err := p.Table.stands(relation, []privacy.Event{d.Event}, Point(d.Target).Delta); err != nil {
				return asPlanError(err, "draw %s: %v", d.Name, err)
			}
		}
		fresh, targets = append(fresh, d.Event), append(targets, d.Target)
		parts := d.parts()
		shares := make([]privacy.Event, len(parts))
		for k, r := range parts {
			shares[k] = privacy.Approx{Eps: r.cost, Delta: r.share.Delta}
			event := d.Design.Event(r.event)
			together, err := d.promise(event, shares[k], outer, inside, d.own(r))
			if err == nil {
				*r.answer, err = p.cost(event, together, inside, d.own(r), Point(r.guarantee))
			}
			if err != nil {
				return failure.New(failure.ExitBug, "PLAN_UNSOUND", "%s: %v", r.name, err)
			}
		}
		together, err := d.promise(d.Event, compose(shares), outer, inside, d.OnTable())
		if err != nil {
			return failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
		}
		if d.Answer, err = p.cost(d.Event, together, inside, d.OnTable(), Point(d.Target)); err != nil {
			return failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
		}
		// The draws compose with the cost of the draw on the table.
		onTable, err := charged(d.Event, together, inside, d.OnTable())
		if err != nil {
			return failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
		}
		promised = append(promised, privacy.Approx{Eps: onTable.Epsilon, Delta: onTable.Delta})
	}
	answer := privacy.Answer{Relation: relation}
	var err error
	switch {
	case p.Table != nil:
		answer, err = p.priceTable(events, promised, inside)
	case len(fresh) > 0:
		p.Event = compose(fresh)
		answer, err = charged(p.Event, compose(promised), relation, Point(sum(targets...)))
		p.Fresh = privacy.Point{Epsilon: answer.Epsilon, Delta: answer.Delta}
	}
	if err != nil {
		return asPlanError(err, "job: %v", err)
	}
	if len(fresh) < len(p.Draws) {
		answer = plus(answer, p.Draws)
	}
	p.All, p.Answer = p.OnPopulation(compose(events)), answer
	return nil
}

// OnPopulation is an event on the table as the population sees it: amplified, with
// what earlier jobs did, where the table is itself a sample.
func (p *Plan) OnPopulation(e privacy.Event) privacy.Event {
	if p.outer == nil {
		return e
	}
	return p.outer.With(compose(append(p.Table.Kept.earlier(), e)))
}

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
func (p *Plan) cost(event, together privacy.Event, inside privacy.Relation, onTable, target privacy.Point) (privacy.Answer, error) {
	if p.Table == nil {
		return charged(event, together, inside, target)
	}
	a, err := charged(event, together, inside, onTable)
	if err != nil {
		return a, err
	}
	u, err := p.Table.useOf(p.Job, privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta})
	if err != nil {
		return a, err
	}
	return differenceOf(p.Job, u), nil
}

// priceTable finds what all draws from a table that is itself a sample cost
// together: composed on the table, and amplified with what earlier jobs did.
func (p *Plan) priceTable(events, promised []privacy.Event, inside privacy.Relation) (privacy.Answer, error) {
	most := noLimit()
	for _, e := range promised {
		a, ok := e.(privacy.Approx)
		eps, delta := new(big.Rat).SetFloat64(a.Eps), new(big.Rat).SetFloat64(a.Delta)
		if !ok || eps == nil || delta == nil {
			return privacy.Answer{}, fmt.Errorf("a draw without a charge on the table")
		}
		most.Epsilon.Add(most.Epsilon, eps)
		most.Delta.Add(most.Delta, delta)
	}
	// A δ is asked for only where it is needed.
	delta := 0.0
	a, err := privacy.EpsilonAt(compose(events), inside, delta)
	if most.Delta.Sign() > 0 && (err != nil || a.Epsilon > job.Up(most.Epsilon)) {
		delta = job.Up(most.Delta)
		a, err = privacy.EpsilonAt(compose(events), inside, delta)
	}
	if err != nil {
		return a, err
	}
	step := privacy.Point{Epsilon: math.Min(a.Epsilon, job.Up(most.Epsilon)), Delta: delta}
	k := p.Table.Kept
	k.Step = step
	if k.Use, err = p.Table.useOf(p.Job, step); err != nil {
		return a, err
	}
	return differenceOf(p.Job, k.Use), nil
}

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
