package plan

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/privacy/step"
	"github.com/dprelease/dprelease/samplers"
)

// byKept is the method that charges a kept draw: what all its releases of all jobs
// cost together, less what earlier jobs were charged.
const byKept = "kept"

// planStep prices some parts of the draw together on the sample: by their planned events
// or by their shares, whichever is less. It has a δ only where a part needs one.
func (d *PlannedDraw) planStep(parts []pricedPart) (privacy.Point, privacy.Bill, error) {
	share := rational.Zero()
	for _, p := range parts {
		share = share.Plus(rational.Exactly(p.share.Epsilon, p.share.Delta))
	}
	// Each release was held to its share under every relation, and shares add up (P10).
	return atLeastDelta(leaves(parts), d.Relations, privacy.Point{Epsilon: rational.Up(share.Epsilon), Delta: rational.Up(share.Delta)})
}

// useOf prices a step on a kept draw in the units of a basic account, with the arithmetic
// of the debit.
func (d *DraftDraw) useOf(j *job.Job, own privacy.Point) (*step.Price, error) {
	draw := step.Draw{Sampling: samplers.Sampling(d.Design)}
	p, err := draw.Spend(d.Kept.State(), own, step.Account{Relation: j.Dataset.Relation, Basic: true})
	if none := (*step.NoStep)(nil); errors.As(err, &none) {
		return nil, &ledger.Error{Code: ledger.CodeFilter, Message: "draw " + d.Name + ": " + none.Error()}
	}
	return p, err
}

// ledgerStep is a step in the words of the ledger; id is that of a draw which this run
// keeps, "" in a plan.
func (d *PricedDraw) ledgerStep(id string) (ledger.Step, error) {
	k := d.Kept
	s := ledger.Step{Node: d.SampleID(id), Does: step.Event{Bill: d.Bill}}
	if k.Node != nil && k.Node.Kind == ledger.KindDraw {
		return s, nil
	}
	s.Begins, s.Draw, s.Name = ledger.KindDraw, samplers.Sampling(d.Design), d.Name
	if k.ID != "" {
		s.Begins = ledger.KindCollected
	}
	facts, err := json.Marshal(planned.DesignText{Kind: d.Design.Kind(), Facts: d.Design.Facts()})
	s.Facts = string(facts)
	return s, err
}

// priceKept finds what the releases of a kept draw cost, together, and each of its parts alone.
func (d *PlannedDraw) priceKept(j *job.Job) (*PricedDraw, []privacy.Answer, error) {
	parts := d.parts()
	own, bill, err := d.planStep(parts)
	if err != nil {
		return nil, nil, err
	}
	if err := d.stands(j.Dataset.Relation, eventsOf(parts), Point(d.Target).Delta); err != nil {
		return nil, nil, err
	}
	out := &PricedDraw{PlannedDraw: d, Bill: bill}
	if out.Use, err = d.useOf(j, own); err != nil {
		return nil, nil, err
	}
	out.Answer = differenceOf(j, out.Use)
	if err := within(out.Answer, Point(d.Target)); err != nil {
		return nil, nil, err
	}
	if out.Answer.Delta > rational.Up(d.Target.Delta) {
		return nil, nil, fmt.Errorf("the events cost δ %.9g, more than the target", out.Answer.Delta)
	}
	answers := make([]privacy.Answer, len(parts))
	for i, p := range parts {
		own, _, err := d.planStep([]pricedPart{p})
		if err != nil {
			return nil, nil, err
		}
		u, err := d.useOf(j, own)
		if err != nil {
			return nil, nil, err
		}
		answers[i] = differenceOf(j, u)
	}
	return out, answers, nil
}

// differenceOf is the cost that a use adds on the population.
func differenceOf(j *job.Job, u *step.Price) privacy.Answer {
	d := u.Adds()
	p := privacy.Point{Epsilon: rational.Up(d.Epsilon), Delta: rational.Up(d.Delta)}
	return privacy.Answer{Relation: j.Dataset.Relation, Epsilon: p.Epsilon, Delta: p.Delta, Upper: p.Epsilon, Method: byKept,
		Methods: map[string]privacy.Bound{byKept: {Epsilon: p.Epsilon, Delta: p.Delta}}}
}

// plus adds what kept draws cost to what everything else does.
func plus(a privacy.Answer, draws []*PricedDraw) privacy.Answer {
	total := rational.Exactly(a.Epsilon, a.Delta)
	for _, d := range draws {
		if d.Kept != nil {
			total = total.Plus(d.Use.Adds())
		}
	}
	a.Epsilon, a.Delta = rational.Up(total.Epsilon), rational.Up(total.Delta)
	a.Upper, a.Method = a.Epsilon, byKept
	a.Methods = map[string]privacy.Bound{byKept: {Epsilon: a.Epsilon, Delta: a.Delta}}
	return a
}
