package ledger

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// Stepped is the part of a debit's record that is about one node. Amounts are exact.
type Stepped struct {
	Node   string `json:"node,omitempty"`   // none for the data
	Begins string `json:"begins,omitempty"` // the kind of a node that begins
	Begin
	SHA256  string       `json:"sha256,omitempty"` // of the encrypted secret of a panel that begins
	At      int64        `json:"at,omitempty"`     // the wave or step
	Spends  Limit        `json:"spends,omitzero"`  // ε and δ that this job spends on the sample of a draw
	Charged Limit        `json:"charged"`          // ε and δ of all that was charged at the node, this job included
	Cost    privacy.Cost `json:"cost"`             // of this job, in the account's units
	Slices  []charged    `json:"slices,omitempty"` // what the slices of a series are charged; Cost is then that of a life
}

// stepsOf returns what the record of a debit says of its steps. secrets are encrypted secrets of panels that begin.
func (t *tx) stepsOf(q *Request, nodes map[string]*Node, p *Priced, seq, account int64) ([]Stepped, map[string][]byte, error) {
	var out []Stepped
	secrets := map[string][]byte{}
	for i := range q.Steps {
		s, price := &q.Steps[i], p.Steps[i]
		r := Stepped{Node: s.Node, At: s.Does.At, Cost: price.Cost, Charged: price.After.Charged}
		if adds := price.After.Spent.Minus(price.Before.Spent); adds.Epsilon.Sign() != 0 || adds.Delta.Sign() != 0 {
			r.Spends = adds
		}
		if s.Node != "" && nodes[s.Node] == nil {
			n, err := s.begun()
			if err != nil {
				return nil, nil, err
			}
			r.Begins, r.Begin = s.Begins, n.Begin
			if s.Secret {
				n.Account, n.Debit = account, seq
				if secrets[s.Node], err = t.newSecret(n); err != nil {
					return nil, nil, err
				}
				r.SHA256 = digestOf(secrets[s.Node])
			}
		}
		if len(p.Slices) > 0 {
			all, err := inBuckets(p.Slices)
			if err != nil {
				return nil, nil, err
			}
			r.Slices = grouped(flat(all))
		}
		out = append(out, r)
	}
	return out, secrets, nil
}

// spent returns the amount that the step spends on the sample of a draw.
func (s *Stepped) spent() Limit {
	if s.Spends == (Limit{}) {
		return zero()
	}
	return s.Spends
}

// check refuses amounts that no step of an account has.
func (s *Stepped) check(a *Account) error {
	switch {
	case !s.spent().Finite() || !s.Charged.Finite():
		return fmt.Errorf("a step of a debit without an amount")
	case !a.isCost(s.Cost):
		return errCost
	}
	return nil
}

// step enters the step of a debit at a node, and returns its cost.
func (b *books) step(seq int64, a *Account, r *debitBody, s *Stepped) (privacy.Cost, error) {
	if err := s.check(a); err != nil {
		return nil, err
	}
	n := b.nodes[s.Node]
	switch {
	case s.Node == "":
		if s.Begins != "" || s.At != 0 || s.Spends != (Limit{}) || s.Slices != nil {
			return nil, fmt.Errorf("a step on the data that is about more")
		}
		return s.Cost, nil
	case (s.Begins == "") != (n != nil):
		return nil, fmt.Errorf("a step at a node that was not begun, or begins twice")
	case n == nil:
		n = s.node(seq, a)
		b.nodes[n.ID] = n
	case n.usable(a.ID, a.Slice.Is) != nil:
		return nil, fmt.Errorf("a step at a node that is not open, or belongs to another account")
	case slices.Contains(b.changed.nodes, n):
		return nil, fmt.Errorf("two steps at one node in one debit")
	}
	if n.Kind == KindSeries {
		if err := n.measures(b, r, s); err != nil {
			return nil, err
		}
	}
	if part := n.Kind == KindPanel || n.Kind == KindSeries; part != (s.At > 0) || part && s.Spends != (Limit{}) {
		return nil, fmt.Errorf("a step at a node of another kind")
	}
	if !n.Charged.AtMost(s.Charged) {
		return nil, fmt.Errorf("a step that gives something back")
	}
	n.Spent, n.Charged, n.Uses = n.Spent.Plus(s.spent()), s.Charged, n.Uses+1
	if s.At > 0 && !slices.Contains(n.Done, s.At) {
		n.Done = append(slices.Clone(n.Done), s.At)
		slices.Sort(n.Done)
	}
	b.changed.nodes = append(b.changed.nodes, n)
	return s.Cost, nil
}

// measures holds a step of a series to what began it.
//
// # Contract
//
// Without an error the debit begins a series and charges each slice of it, or it is a step of a series that a debit
// of the same account began, in the slice for which that one paid; the step before it has its bytes, and a step
// that was debited before charges again. Proof: series.proof.md.
func (n *Node) measures(b *books, r *debitBody, s *Stepped) error {
	if s.At < 1 || s.At > int64(len(n.Parts)) || len(r.Steps) != 1 {
		return fmt.Errorf("a step of a series that was not paid for")
	}
	if part := n.Parts[s.At-1]; part.Plan != r.Plan || spelled(part.Is) != spelled(r.Slice) {
		return fmt.Errorf("a step of a series that was not paid for")
	}
	costs := costsOf(s.Slices)
	if s.Begins != "" {
		open, plans := map[string]bool{}, map[string]bool{}
		for _, c := range costs {
			open[spelled(c.Is)] = true
		}
		for _, p := range n.Parts {
			if !open[spelled(p.Is)] || plans[p.Plan] {
				return fmt.Errorf("a series that does not charge each of its slices")
			}
			delete(open, spelled(p.Is))
			plans[p.Plan] = true
		}
		if s.At != 1 || len(open) > 0 || len(b.plans[r.Plan]) > 0 {
			return fmt.Errorf("a series that begins twice, or not with its first step, or charges a slice that it does not have")
		}
		return nil
	}
	if s.At > 1 && !slices.ContainsFunc(b.plans[n.Parts[s.At-2].Plan], (*Release).released) {
		return fmt.Errorf("a step of a series before the one before it")
	}
	if again := slices.Contains(n.Done, s.At); again != (len(costs) > 0) || again != (len(b.plans[r.Plan]) > 0) {
		return fmt.Errorf("a step of a series that is measured again and does not pay, or pays and is not")
	}
	return nil
}

// chargeSeries charges the slices of a series. The account stands for the slice of the step before and after.
func (b *books) chargeSeries(a *Account, of []charged, life privacy.Cost) error {
	is, before := a.Slice.Is, a.Spent
	costs := costsOf(of)
	if err := a.fits(costs); err != nil {
		return err
	}
	for _, c := range costs {
		for i, x := range c.Cost {
			if x.Cmp(life[i]) > 0 {
				return fmt.Errorf("a series that costs one slice more than a life")
			}
		}
	}
	if err := b.chargeSlices(a, costs); err != nil {
		return err
	}
	a.Spent = sumOf(before, life)
	return b.inSlice(a, is)
}
