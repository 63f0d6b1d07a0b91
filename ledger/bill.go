package ledger

import (
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// The ledger prices what it debits, by package privacy alone. What a job says that it costs is compared, and never
// believed. // P38

// pricer prices a bill under a relation.
type pricer func(privacy.Bill, privacy.Relation) (privacy.Answer, error)

// remembered prices a bill as this process did before. It computes nothing, so that no lock waits for it.
func remembered(b privacy.Bill, rel privacy.Relation) (privacy.Answer, error) {
	a, err, ok := b.Known(rel)
	if !ok {
		return a, &unpriced{b, rel}
	}
	return a, err
}

// unpriced asks for a price that nobody computed yet.
type unpriced struct {
	bill     privacy.Bill
	relation privacy.Relation
}

func (*unpriced) Error() string { return "a price is not known yet" }

// outside carries out a transaction. Where it asks for a price, the price is computed while no transaction runs, and the
// transaction begins anew, on whatever state there is then.
func outside(transaction func() error) error {
	for {
		err := transaction()
		var ask *unpriced
		if !errors.As(err, &ask) {
			return err
		}
		_, failed := ask.bill.Price(ask.relation)
		if _, _, ok := ask.bill.Known(ask.relation); !ok {
			return refuse(CodeBill, "the bill of the job cannot be written down, so it cannot be priced: %v", failed)
		}
	}
}

// Priced is the ledger's own price of a request.
type Priced struct {
	Cost    privacy.Cost  // in the account's units
	Charged privacy.Point // the guarantee of everything but the kept samples
	Uses    []*Use        // of kept samples
}

// Price returns what a job costs this account. samples are the states of the samples and panels that are there, by id.
func (a *Account) Price(q *Request, samples map[string]*Sample) (*Priced, error) {
	return a.priced(q, samples, privacy.Bill.Price)
}

// priced prices a request, by prices that ask knows.
//
// # Contract
//
// The cost is that of the bill by the ledger's own arithmetic: what is shared by its proved step, from the state in
// samples, which is that of the transaction. Relation and rates are those of the account and its records. A request is
// refused if it costs more than the job says. Proof: bill.proof.md.
func (a *Account) priced(q *Request, samples map[string]*Sample, ask pricer) (*Priced, error) {
	bill, claim, err := q.due(samples)
	if err != nil {
		return nil, err
	}
	if q.Panel == nil && rotates(bill) {
		return nil, refuse(CodeBill, "the bill amplifies by the waves of a panel, and the job is about none")
	}
	out := &Priced{Cost: a.nothing()}
	switch {
	case bill.Nothing() && len(q.Draws) == 0 && q.Panel == nil:
		return nil, refuse(CodeBill, "the bill lists nothing")
	case !bill.Nothing():
		if out.Charged, err = a.held(bill, []privacy.Relation{a.Relation}, claim, "the job", ask); err != nil {
			return nil, err
		}
		if out.Cost, err = a.Cost(bill.Tree(), out.Charged); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, step := range q.Draws {
		if seen[step.Sample] {
			return nil, refuse(CodeSample, "sample %s is used twice in one job", step.Sample)
		}
		seen[step.Sample] = true
		u, err := a.use(step, samples, ask)
		if err != nil {
			return nil, err
		}
		out.Cost, out.Uses = sumOf(out.Cost, u.Cost), append(out.Uses, u)
	}
	return out, nil
}

// use prices a step on a kept sample: on the sample by its bill, and on the population by the state of the sample.
func (a *Account) use(step Step, samples map[string]*Sample, ask pricer) (*Use, error) {
	s, err := step.of(samples)
	if err != nil {
		return nil, err
	}
	draw, err := s.Sampling()
	if err != nil {
		return nil, err
	}
	under, err := privacy.SampleRelations(draw, a.Relation)
	if err != nil {
		return nil, refuse(CodeFilter, "%s cannot be kept: %v", s, err)
	}
	own, err := a.held(step.Bill, under, privacy.Point{Epsilon: step.Epsilon, Delta: step.Delta}, "what is released from "+s.String(), ask)
	if err != nil {
		return nil, err
	}
	step.Epsilon, step.Delta = own.Epsilon, own.Delta
	return a.Use(s, step)
}

// held prices a bill under the worst of some relations, and refuses one that costs more than the job says.
func (a *Account) held(b privacy.Bill, under []privacy.Relation, claim privacy.Point, what string, ask pricer) (own privacy.Point, err error) {
	if b.Nothing() {
		return own, refuse(CodeBill, "the bill of %s lists nothing", what)
	}
	own.Delta = b.Delta
	for _, rel := range under {
		p, err := ask(b, rel)
		var wait *unpriced
		switch {
		case errors.As(err, &wait):
			return own, err
		case err != nil:
			return own, refuse(CodeBill, "%s has no price: %v", what, err)
		}
		own.Epsilon = math.Max(own.Epsilon, p.Epsilon)
	}
	if !(own.Epsilon <= claim.Epsilon && own.Delta <= claim.Delta) {
		return own, refuse(CodeBill, "%s costs ε %s, δ %s by the ledger's own arithmetic, and its bill says ε %s, δ %s: plan the job again; if that does not help, the plan is wrong and this is an error of the program",
			what, up(own.Epsilon), up(own.Delta), up(claim.Epsilon), up(claim.Delta))
	}
	return own, nil
}

// up writes an amount for people, rounded up.
func up(x float64) string { return Up(exactly(privacy.Point{Epsilon: x}).Epsilon) }

// rotates reports whether a bill amplifies by the waves of a panel.
func rotates(b privacy.Bill) bool {
	return !b.Nothing() && turns(b.Tree())
}

func turns(e privacy.Event) bool {
	_, ok := e.(privacy.Rotation)
	return ok || slices.ContainsFunc(privacy.Children(e), turns)
}

// Made holds the events on the data: one on each kept sample with its draw, by the id of the sample, and one for all the rest.
type Made struct {
	Data    privacy.Event // nil for nothing
	Samples map[string]privacy.Event
}

// billed returns what a request may do.
func (q *Request) billed(samples map[string]*Sample) (Made, error) {
	out := Made{Data: q.Bill.Tree(), Samples: map[string]privacy.Event{}}
	for _, step := range q.Draws {
		s, err := step.of(samples)
		if err != nil {
			return out, err
		}
		draw, err := s.Sampling()
		if err != nil {
			return out, err
		}
		out.Samples[step.Sample] = draw.With(step.Bill.Tree())
	}
	return out, nil
}

// drawn refuses the seal of a run that did anything else than its debit lists. // P38
func (k *Ticket) drawn() error {
	same := len(k.Made.Samples) == len(k.billed.Samples) && sameEvent(k.Made.Data, k.billed.Data)
	for id, e := range k.billed.Samples {
		same = same && sameEvent(k.Made.Samples[id], e)
	}
	if !same {
		return refuse(CodeBill, "the draws and the noise of this run are not those that were debited; nothing was published, and the budget is spent")
	}
	return nil
}

func sameEvent(a, b privacy.Event) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	one, err1 := privacy.Canonical(a)
	other, err2 := privacy.Canonical(b)
	return err1 == nil && err2 == nil && string(one) == string(other)
}
