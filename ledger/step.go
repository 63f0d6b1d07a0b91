package ledger

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/privacy/step"
)

// Step is all that a job does at one node of its account.
type Step struct {
	Node   string // its id, "" for the data
	Begins string // its kind, where this job begins it if it is not there: "" for the data, and for a sample that was kept before
	Begin
	Draw   privacy.Sampling // the design of a draw that begins
	Secret bool             // the units of a panel are allotted by a secret of the ledger, which its first wave makes
	// Seen counts the debits of the node that the plan knew of. Where there are others, nothing is debited, and the job is
	// planned again; unless the plan is Steady, whatever was debited before.
	Seen   int64
	Steady bool
	Does   step.Event
}

// text returns the canonical bytes that decide what steps of the node cost, "" for the data and a sample that was kept before.
func (s *Step) text() (text string, err error) {
	switch s.Begins {
	case KindDraw, KindCollected:
		return eventText(s.Draw)
	case KindPanel:
		var b []byte
		b, err = privacy.Canonical(s.Does.Bill.Tree())
		text = string(b)
	case KindSeries:
		text, err = periods.Text(s.Does.Measured)
	}
	if err != nil {
		err = refuse(CodeSample, "what is to be done at a node of the account cannot be written down: %v", err)
	}
	return text, err
}

// eventText writes a design as the ledger stores it. The event inside does not matter and
// is always the same.
func eventText(s privacy.Sampling) (string, error) {
	if s == nil {
		return "", refuse(CodeSample, "the whole table is no draw that can be kept")
	}
	b, err := privacy.Canonical(s.With(privacy.Pure{Eps: 1}))
	if err != nil {
		return "", refuse(CodeSample, "the design of a sample that is to be kept cannot be written down: %v", err)
	}
	return string(b), nil
}

// begun is the node as it begins with the step.
func (s *Step) begun() (*Node, error) {
	n := &Node{ID: s.Node, Kind: s.Begins, Begin: s.Begin, State: step.Fresh()}
	n.Pins = sortedPins(s.Pins)
	var err error
	n.Event, err = s.text()
	return n, err
}

// at returns the node of a step as it stands.
func (s *Step) at(nodes map[string]*Node) (*Node, error) {
	if n := nodes[s.Node]; n != nil {
		return n, n.usable(n.Account, n.Slice)
	}
	if s.Node != "" && s.Begins == "" {
		return nil, refuse(CodeSample, "sample %s is not there", s.Node)
	}
	return s.begun()
}

// Priced is the ledger's own price of a request.
type Priced struct {
	Cost    privacy.Cost  // in the account's units; of a series for a unit that is in all of its slices
	Slices  []SliceCost   // of a series that is charged
	Charged privacy.Point // the guarantee of all of it: printed, never added up
	Steps   []*step.Price // in the order of the request
}

// Price returns what a job costs this account. nodes are the states of those that are there, by id.
func (a *Account) Price(q *Request, nodes map[string]*Node) (*Priced, error) {
	return a.priced(q, nodes, privacy.Bill.Price)
}

// priced prices a request, by prices that ask knows.
//
// # Contract
//
// The cost is that of the bill by the ledger's own arithmetic: of each node by the proved step of its kind, from the state in
// nodes, which is that of the transaction. Relation and rates are those of the account and its records. A request is
// refused if it costs more than the job says. Proof: bill.proof.md.
func (a *Account) priced(q *Request, nodes map[string]*Node, ask pricer) (*Priced, error) {
	out, total, one := &Priced{Cost: a.nothing()}, zero(), privacy.Point{}
	if len(q.Steps) == 0 && !q.Free {
		return nil, refuse(CodeBill, "the bill lists nothing")
	}
	with, seen := a.payer(ask), map[string]bool{}
	for i := range q.Steps {
		s := &q.Steps[i]
		n, err := s.at(nodes)
		switch {
		case err != nil:
			return nil, err
		case seen[s.Node]:
			return nil, refuse(CodeSample, "%s is used twice in one job", n)
		case n.Kind == KindSeries && len(q.Steps) > 1:
			return nil, refuse(CodeBill, "the bill of a series lists more than the series")
		}
		seen[s.Node] = true
		kind, err := n.kind()
		if err != nil {
			return nil, err
		}
		p, err := kind.Step(n.State, s.Does, with)
		if err != nil {
			return nil, unstepped(n, err)
		}
		if p.Cost == nil {
			p.Cost = a.nothing()
		}
		if out.Slices, err = n.slices(p); err != nil {
			return nil, err
		}
		out.Cost, out.Steps, total = sumOf(out.Cost, p.Cost), append(out.Steps, p), total.Plus(p.Adds())
		one.Epsilon = math.Max(one.Epsilon, p.One.Epsilon)
	}
	out.Charged = privacy.Point{Epsilon: rational.Up(total.Epsilon), Delta: rational.Up(total.Delta)}
	for _, c := range [...]struct {
		what string
		own  privacy.Point
		says privacy.Point
	}{{"the job", out.Charged, q.Charged}, {"a slice of the series", one, q.One}} {
		if !(c.own.Epsilon <= c.says.Epsilon && c.own.Delta <= c.says.Delta) {
			return nil, refuse(CodeBill, "%s costs ε %s, δ %s by the ledger's own arithmetic, and its bill says ε %s, δ %s: "+
				"plan the job again; if that does not help, the plan is wrong and this is an error of the program",
				c.what, up(c.own.Epsilon), up(c.own.Delta), up(c.says.Epsilon), up(c.says.Delta))
		}
	}
	return out, nil
}

// payer is the account as steps at its nodes see it.
func (a *Account) payer(ask pricer) step.Account {
	return step.Account{Relation: a.Relation, Basic: a.Filter == Basic, Price: ask, Cost: a.Cost}
}

// slices names the slices that a step is charged.
func (n *Node) slices(p *step.Price) (out []SliceCost, err error) {
	if n.Kind == KindSeries && (len(p.Slices) > len(n.Parts) || len(p.Before.Done) == 0 && len(p.Slices) < len(n.Parts)) {
		return nil, refuse(CodeBill, "the bill of the series measures other periods than its steps")
	}
	for i, c := range p.Slices {
		if c != nil {
			out = append(out, SliceCost{n.Parts[i].Is, c})
		}
	}
	return out, nil
}

// unstepped is the refusal of a step.
func unstepped(n *Node, err error) error {
	what := "the job"
	if n.ID != "" {
		what = n.String()
	}
	var wait *unpriced
	var known *Error
	var none *step.NoStep
	switch {
	case errors.As(err, &wait), errors.As(err, &known):
		return err
	case errors.As(err, &none):
		return refuse(CodeFilter, "%s: %v", what, err)
	}
	return refuse(CodeBill, "%s has no price: %v", what, err)
}

// up writes an amount for people, rounded up.
func up(x float64) string { return Up(exactly(privacy.Point{Epsilon: x}).Epsilon) }

// stepped reads the nodes of a request in the transaction of its debit, and reports whether one of them has moved since the
// job was planned.
func (t *tx) stepped(q *Request) (nodes map[string]*Node, moved bool, err error) {
	nodes = map[string]*Node{}
	for i := range q.Steps {
		s := &q.Steps[i]
		if s.Node == "" {
			continue
		}
		n, err := t.node(s.Node)
		switch {
		case err != nil:
			return nil, false, err
		case n == nil && s.Begins == "":
			return nil, false, refuse(CodeSample, "%s has no sample %s", t.l.address, s.Node)
		case n == nil:
			moved = moved || s.Seen != 0
			continue
		case s.Begins == KindDraw:
			return nil, false, refuse(CodeSample, "there is a sample %s already", s.Node)
		}
		nodes[s.Node] = n
		moved = moved || !s.Steady && n.Uses != s.Seen
	}
	return nodes, moved, nil
}

// goOn holds a request to the nodes that it goes on with.
//
// # Contract
//
// A node that was paid for is used by jobs of its account alone, while it is open, and with the very pins that its first
// debit recorded; or the request is refused before anything is debited. Proof: pins.proof.md. // P36
func (t *tx) goOn(a *Account, q *Request, nodes map[string]*Node) error {
	for i := range q.Steps {
		s := &q.Steps[i]
		if s.Begins == KindSeries {
			if err := t.inOrder(s, q.Plan); err != nil {
				return err
			}
		}
		n := nodes[s.Node]
		if n == nil {
			continue
		}
		if err := n.usable(a.ID, a.Slice.Is); err != nil {
			return err
		}
		if s.Secret != n.secret() {
			return refuse(CodeTampered, "%s does not have the secret of its allotment", n)
		}
		if err := n.differs(s, false); err != nil {
			return err
		}
	}
	return t.together(a, q)
}

// did describes, for each kind of node that does not stand beside every other, the earlier jobs.
var did = map[string]string{
	KindDraw:      "kept a sample",
	KindCollected: "said dataset.collected, and were charged for a table that is itself a sample",
	KindPanel:     "released waves of a panel",
}

// together refuses steps of a job beside what the account was charged for, where no proof adds up the two: all jobs on a
// table that was collected by a draw go through that draw, and waves of a panel do not stand beside kept or collected samples.
func (t *tx) together(a *Account, q *Request) error {
	id, kinds, says := CollectedID(a.Key), map[string]bool{}, false
	for _, s := range q.Steps {
		if s.Node != "" {
			kinds[cmp.Or(s.Begins, KindDraw)] = true
		}
		says = says || s.Node == id
	}
	collected, err := t.node(id)
	if err != nil {
		return err
	}
	switch {
	case collected != nil && !says && !q.Free:
		return noStep(did[KindCollected], "this one does not say the same")
	case collected == nil && says && a.paid() > 0:
		return noStep("were not charged together", "this one says dataset.collected")
	case !kinds[KindPanel] && !kinds[KindDraw] && !kinds[KindCollected]:
		return nil
	}
	apart := [2]any{KindPanel, KindPanel}
	if kinds[KindPanel] {
		apart = [2]any{KindDraw, KindCollected}
	}
	others, err := t.nodes("WHERE account = ? AND kind IN (?, ?)", a.ID, apart[0], apart[1])
	if err == nil && len(others) > 0 {
		err = noStep(did[others[0].Kind], "this one uses a sample of another kind")
	}
	return err
}

// noStep refuses what earlier jobs and this one do together.
func noStep(earlier, now string) error {
	return refuse(CodeSample, "%v", &step.NoStep{Why: "the earlier jobs on this data set " + earlier + ", and " + now})
}

// inOrder refuses a step of a series whose step before has no bytes.
func (t *tx) inOrder(s *Step, plan string) error {
	at := s.Does.At
	if at < 1 || at > int64(len(s.Parts)) || s.Parts[at-1].Plan != plan {
		return refuse(CodeBill, "the job is no step of its series")
	}
	if at == 1 {
		return nil
	}
	before, err := t.releasesOf(s.Parts[at-2].Plan)
	if err == nil && !slices.ContainsFunc(before, (*Release).released) {
		err = refuse(CodeSeries, "the step before %s was not measured", s.Parts[at-1].Is)
	}
	return err
}
