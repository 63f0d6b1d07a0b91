package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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
		return n, nil
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
		case seen[s.Node]:
			return nil, refuse(CodeSample, "%s is used twice in one job", n)
		case err != nil:
			return nil, err
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

// together refuses steps of a job beside what the account was charged for, where no proof adds up the two: all jobs on a
// table that was collected by a draw go through that draw, and waves of a panel do not stand beside kept or collected samples.
func (t *tx) together(a *Account, q *Request) error {
	collected, err := t.node(CollectedID(a.Key))
	if err != nil {
		return err
	}
	has := func(kinds ...string) bool {
		return slices.ContainsFunc(q.Steps, func(s Step) bool { return slices.Contains(kinds, cmp.Or(s.Begins, kindOf(s.Node, KindDraw))) })
	}
	says := slices.ContainsFunc(q.Steps, func(s Step) bool { return s.Node == CollectedID(a.Key) })
	panels, draws := has(KindPanel), has(KindDraw, KindCollected)
	others := ""
	switch {
	case collected != nil && !says && !q.Free:
		others = "the earlier jobs on this data set said dataset.collected, and this one does not say the same"
	case collected == nil && says && a.paid() > 0:
		others = "the earlier jobs on this data set were not charged together for a table that is itself a sample, as dataset.collected has it"
	case panels:
		others, err = t.beside(a, "the earlier jobs on this data set kept a sample, and this one is about a wave of a panel",
			KindDraw, KindCollected)
	case draws:
		others, err = t.beside(a, "the earlier jobs on this data set released waves of a panel, and this one uses a sample that is kept or collected",
			KindPanel)
	}
	if err != nil || others == "" {
		return err
	}
	return refuse(CodeSample, "%v", &step.NoStep{Why: others})
}

func kindOf(node, kind string) string {
	if node == "" {
		return ""
	}
	return kind
}

// beside returns a text if an account has nodes of some kinds.
func (t *tx) beside(a *Account, text string, kinds ...string) (string, error) {
	found, err := t.nodes("WHERE account = ? AND kind IN ("+marks(len(kinds))+")", append([]any{a.ID}, anys(kinds)...)...)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return text, nil
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
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

// Stepped is the part of a debit's record that is about one node. Amounts are exact.
type Stepped struct {
	Node   string `json:"node,omitempty"`   // none for the data
	Begins string `json:"begins,omitempty"` // the kind of a node that begins
	Begin
	SHA256  string    `json:"sha256,omitempty"` // of the encrypted secret of a panel that begins
	At      int64     `json:"at,omitempty"`     // the wave or step
	Spends  []string  `json:"spends,omitempty"` // ε and δ that this job spends on the sample of a draw
	Charged []string  `json:"charged"`          // ε and δ of all that was charged at the node, this job included
	Cost    []string  `json:"cost"`             // of this job, in the account's units
	Slices  []charged `json:"slices,omitempty"` // what the slices of a series are charged; Cost is then that of a life
}

// stepsOf returns what the record of a debit says of its steps. secrets are encrypted secrets of panels that begin.
func (t *tx) stepsOf(q *Request, nodes map[string]*Node, p *Priced, seq, account int64) ([]Stepped, map[string][]byte, error) {
	var out []Stepped
	secrets := map[string][]byte{}
	for i := range q.Steps {
		s, price := &q.Steps[i], p.Steps[i]
		r := Stepped{Node: s.Node, At: s.Does.At, Cost: ratTexts(price.Cost), Charged: texts(price.After.Charged)}
		if adds := price.After.Spent.Minus(price.Before.Spent); adds.Epsilon.Sign() != 0 || adds.Delta.Sign() != 0 {
			r.Spends = texts(adds)
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

func texts(l Limit) []string { t := l.Texts(); return t[:] }

// amounts reads the amounts of a record.
func (s *Stepped) amounts() (spends, charged Limit, err error) {
	read := func(all []string) (l Limit) {
		if len(all) != 2 {
			err = fmt.Errorf("a step of a debit without an amount")
			return zero()
		}
		l, failed := parseLimit(all[0], all[1])
		if failed != nil || !l.Finite() {
			err = fmt.Errorf("a step of a debit without an amount")
		}
		return l
	}
	spends = zero()
	if s.Spends != nil {
		spends = read(s.Spends)
	}
	charged = read(s.Charged)
	return spends, charged, err
}

// step enters the step of a debit at a node, and returns its cost.
func (b *books) step(seq int64, a *Account, r *debitBody, s *Stepped) (privacy.Cost, error) {
	cost, err := a.readCost(s.Cost)
	if err != nil {
		return nil, err
	}
	spends, charged, err := s.amounts()
	if err != nil {
		return nil, err
	}
	n := b.nodes[s.Node]
	switch {
	case s.Node == "":
		if s.Begins != "" || s.At != 0 || s.Spends != nil || s.Slices != nil {
			return nil, fmt.Errorf("a step on the data that is about more")
		}
		return cost, nil
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
	if part := n.Kind == KindPanel || n.Kind == KindSeries; part != (s.At > 0) || part && s.Spends != nil {
		return nil, fmt.Errorf("a step at a node of another kind")
	}
	if !n.Charged.AtMost(charged) {
		return nil, fmt.Errorf("a step that gives something back")
	}
	n.Spent, n.Charged, n.Uses = n.Spent.Plus(spends), charged, n.Uses+1
	if s.At > 0 && !slices.Contains(n.Done, s.At) {
		n.Done = append(slices.Clone(n.Done), s.At)
		slices.Sort(n.Done)
	}
	b.changed.nodes = append(b.changed.nodes, n)
	return cost, nil
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
	costs, err := costsOf(s.Slices)
	if err != nil {
		return err
	}
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
	costs, err := costsOf(of)
	if err == nil {
		err = a.fits(costs)
	}
	if err != nil {
		return err
	}
	for _, c := range costs {
		for i, x := range c.Cost {
			if x.Cmp(life[i]) > 0 {
				return fmt.Errorf("a series that costs one slice more than a life")
			}
		}
	}
	all, err := inBuckets(costs)
	if err != nil {
		return err
	}
	for _, c := range all {
		after, err := a.chargeBucket(b.slices[a.ID][c.name], c.costs, b.charged)
		if err != nil {
			return err
		}
		b.setBucket(a.ID, c.name, after)
	}
	a.Spent = sumOf(before, life)
	return b.inSlice(a, is)
}

// sortedPins puts pins into the order of their names.
func sortedPins(pins []Pin) []Pin {
	pins = slices.Clone(pins)
	slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
	return pins
}
