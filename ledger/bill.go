package ledger

import (
	"errors"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
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

// Made records the acts of a run at one node: an event, a draw of the node included, or the row of each matrix of a series and its
// noise.
type Made struct {
	Event    privacy.Event
	Measured []periods.Series
}

// text writes down what was made, "" for what cannot be.
func (m Made) text() string {
	if m.Event == nil {
		text, err := periods.Text(m.Measured)
		if err != nil {
			return ""
		}
		return text
	}
	text, err := privacy.Canonical(m.Event)
	if err != nil {
		return ""
	}
	return string(text)
}

// billed returns what a request may do at each node, by its id.
func (q *Request) billed(nodes map[string]*Node) (map[string]Made, error) {
	out := map[string]Made{}
	for i := range q.Steps {
		s := &q.Steps[i]
		n, err := s.at(nodes)
		if err != nil {
			return nil, err
		}
		one := Made{Event: s.Does.Bill.Tree()}
		switch n.Kind {
		case KindDraw, KindCollected:
			draw, err := n.Sampling()
			if err != nil {
				return nil, err
			}
			one.Event = draw.With(one.Event)
		case KindSeries:
			if one.Measured, err = periods.Run(s.Does.Measured, int(s.Does.At-1)); err != nil {
				return nil, err
			}
		}
		out[s.Node] = one
	}
	return out, nil
}

// drawn refuses the seal of a run that did anything else than its debit lists. // P38
func (k *Ticket) drawn() error {
	same := len(k.Made) == len(k.billed)
	for id, m := range k.billed {
		made, ok := k.Made[id]
		same = same && ok && m.text() != "" && made.text() == m.text()
	}
	if !same {
		return refuse(CodeBill,
			"the draws and the noise of this run are not those that were debited; nothing was published, and the budget is spent")
	}
	return nil
}
