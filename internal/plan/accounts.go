package plan

import (
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/step"
)

// Request is the plan in the words of the ledger, with the price that the plan has: a proposal, which the ledger prices
// itself. ids are those of the draws that the run keeps, by name; nil in a plan.
func (p *Priced) Request(ids map[string]string) (ledger.Request, error) {
	q, err := p.steps(ids)
	if err != nil {
		return q, failure.New(failure.ExitBug, "PLAN_UNSOUND", "the plan has no price at the ledger: %v", err)
	}
	q = p.Asks(q)
	for _, r := range p.Releases() {
		q.Charges = append(q.Charges, ledger.Charge{Name: r.Job.Name, Epsilon: r.Answer.Epsilon, Delta: r.Answer.Delta})
	}
	for _, d := range p.Draws {
		for _, k := range d.Keys {
			if k.Job.Tallied() {
				continue
			}
			q.Charges = append(q.Charges, ledger.Charge{Name: k.Job.Name + " (keys)", Epsilon: k.Answer.Epsilon, Delta: k.Answer.Delta})
		}
	}
	return q, nil
}

// steps lists all that a run does at the nodes of its account, and what it says that this costs.
func (p *Priced) steps(ids map[string]string) (q ledger.Request, err error) {
	if s := planned.StepOf(p.Job); s != nil {
		return p.ledgerSeries(s)
	}
	_, answer, _, err := p.Charged()
	if err != nil {
		return q, err
	}
	q.Charged = privacy.Point{Epsilon: answer.Epsilon, Delta: answer.Delta}
	if !p.Bill.Nothing() {
		q.Steps = append(q.Steps, ledger.Step{Does: step.Event{Bill: p.Bill}})
	}
	if w := p.panel; w != nil {
		s := ledger.Step{Node: w.ID, Begins: ledger.KindPanel, Secret: w.Drawn, Does: step.Event{Bill: p.Bill, At: w.Wave}}
		s.Name = w.Name
		q.Steps = []ledger.Step{s}
	}
	for _, d := range p.AllKept() {
		s, err := d.ledgerStep(ids[d.Name])
		if err != nil {
			return q, err
		}
		q.Steps = append(q.Steps, s)
	}
	for i := range q.Steps {
		if n := p.nodes[q.Steps[i].Node]; n != nil {
			q.Steps[i].Seen = n.Uses
		}
	}
	return q, nil
}
