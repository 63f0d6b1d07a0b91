package ledger

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/privacy/step"
)

// Auditor replays a chain, record by record, from nothing. It has the meaning of records from
// books, as whoever wrote them had. It holds hashes, times, limits and the charges of
// nodes to rules of its own, so that a slip in a writer's check is found.
type Auditor struct {
	books
	ledger string
	seq    int64
	hash   string
	at     string
	hashes []string
	bounds map[int64]bounds
	files  map[int64][]Sum // of a sealed release
	acts   []Act
	found  []Finding
	tree   *tree
}

// maxFindings keeps a report of a wholly damaged ledger short.
const maxFindings = 1000

// NewAuditor starts a replay.
func NewAuditor() *Auditor {
	v := &Auditor{books: newBooks(), hash: genesis, bounds: map[int64]bounds{}, files: map[int64][]Sum{}, tree: newTree()}
	v.charged = v.slice
	return v
}

// Findings returns what was wrong so far.
func (v *Auditor) Findings() []Finding { return v.found }

// Head is the end of the chain so far.
func (v *Auditor) Head() Mark { return Mark{Ledger: v.ledger, Seq: v.seq, Head: v.hash} }

func (v *Auditor) find(code, where, format string, args ...any) {
	if len(v.found) < maxFindings {
		v.found = append(v.found, Finding{code, where, fmt.Sprintf(format, args...)})
	}
}

// Add checks the next record against all before it.
func (v *Auditor) Add(r Record) {
	where := fmt.Sprintf("record %d", r.Seq)
	if r.Kind == "ledger" && v.seq == 0 {
		var b ledgerBody
		if decode(r.Body, &b) == nil {
			v.ledger = b.Ledger
		}
	}
	switch {
	case r.Seq != v.seq+1:
		v.find(FoundChain, where, "follows record %d: records are missing", v.seq)
	case r.Prev != v.hash:
		v.find(FoundChain, where, "does not follow the record before it")
	}
	if hashRecord(v.ledger, &r) != r.Hash {
		v.find(FoundChain, where, "was changed: its hash is not that of its text")
	}
	v.seq, v.hash = r.Seq, r.Hash
	v.hashes = append(v.hashes, r.Hash)
	if err := v.replay(&r); err != nil {
		v.find(FoundBody, where, "%v", err)
	}
}

// replay carries out a record, and holds what it says of the state after it to the books.
func (v *Auditor) replay(r *Record) error {
	empty := bodies[r.Kind]
	if empty == nil {
		return fmt.Errorf("a record of an unknown kind")
	}
	b := empty()
	if decode(r.Body, b) != nil {
		return fmt.Errorf("its text cannot be read as a %s", r.Kind)
	}
	if err := v.time(b); err != nil {
		return err
	}
	if err := v.before(r, b); err != nil {
		return err
	}
	after, err := v.enter(r.Seq, b)
	if err != nil {
		return err
	}
	if err := v.state(b, after); err != nil {
		return err
	}
	return v.after(r, b)
}

// time holds the time of a record to that of the record before it.
func (v *Auditor) time(b body) error {
	at, err := parseTime(b.stamped().At)
	if err != nil {
		return fmt.Errorf("it has no time")
	}
	if c, ok := b.(*clockBody); ok { // the one record whose time may be before that
		was, err := parseTime(c.Was)
		switch {
		case err != nil:
			return fmt.Errorf("it has no time")
		case was != v.at:
			return fmt.Errorf("it passes over another time than that of the record before it")
		case at >= was:
			return fmt.Errorf("a clock is accepted that was not behind")
		}
	} else if at < v.at {
		return fmt.Errorf("its time is before that of the record before it")
	}
	v.at = at
	return nil
}

// state compares a record's account of the state after it with the books.
func (v *Auditor) state(b body, after []*Account) error {
	leaves, err := v.leaves()
	if err != nil {
		return err
	}
	for _, l := range leaves {
		v.tree.put(l.key, l.digest)
	}
	s := b.stamped()
	mine, err := afterText(after)
	switch {
	case err != nil || string(mine) != string(s.After):
		return fmt.Errorf("the state of its account after it does not follow from the chain")
	case s.State != v.tree.root():
		return fmt.Errorf("the state of the ledger after it does not follow from the chain")
	}
	return nil
}

// before checks what only the books before a record show.
func (v *Auditor) before(r *Record, b body) error {
	switch b := b.(type) {
	case *accountBody:
		k, err := b.key()
		if err != nil {
			return err
		}
		return v.alone(k)
	case *debitBody:
		return v.stepsPaid(r.Seq, b)
	}
	return nil
}

// after holds the accounts that a record changed to their limits, and takes note of what a
// replay is asked for.
func (v *Auditor) after(r *Record, b body) (err error) {
	switch b := b.(type) {
	case *accountBody, *limitBody, *approveBody:
		for _, a := range v.changed.accounts {
			if v.bounds[a.ID], err = a.bounds(); err != nil {
				return err
			}
		}
	case *debitBody, *chargeBody:
		for _, a := range v.changed.accounts {
			v.limits(r.Seq, a)
		}
	case *sealBody:
		v.files[b.Release] = b.Files
	case *clockBody, *refuseBody:
		a, err := actOf(r)
		v.acts = append(v.acts, a)
		return err
	}
	return nil
}

// limits finds fault with an account, or the slice that it stands for, above its limits.
func (v *Auditor) limits(seq int64, a *Account) {
	b := v.bounds[a.ID]
	if b.one == nil {
		return // the record of its limit has been found fault with
	}
	whole := a.Slice.Column != "" && a.Slice.Is == "" // its slices were charged one by one
	if !whole && !b.within(a) || !b.lives(a) {
		v.find(FoundOverspent, fmt.Sprintf("record %d", seq), "what it spends is above the limit of the account of %s", a.Key)
	}
}

// slice is limits for one slice of a charge.
func (v *Auditor) slice(a *Account, _ privacy.Cost) error {
	v.limits(v.seq, a)
	return nil
}

// alone replays the rules of tx.alone and tx.open.
func (v *Auditor) alone(k Key) error {
	for _, o := range v.accounts {
		switch {
		case o.Is(k):
			return fmt.Errorf("an account is opened twice")
		case o.Dataset == k.Dataset && o.Slice.Column != k.Slice.Column && !v.pairs[pair(k.name(), o.name())]:
			return fmt.Errorf("two accounts of one data set that are cut into different slices, and no record that this is meant")
		}
	}
	return nil
}

// auditSlack allows that another machine rounded a sample's charge in another way. It is far
// above any rounding and far below any amount that matters.
var auditSlack = big.NewRat(1, 1e9)

// stepsPaid computes again what a debit must charge at its nodes.
func (v *Auditor) stepsPaid(seq int64, b *debitBody) error {
	a := v.accounts[b.Account]
	if a == nil {
		return nil // enter says so
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		n := v.nodes[s.Node]
		if n == nil {
			n = s.node(seq, a)
		}
		short, err := n.short(s, a)
		if err != nil {
			return fmt.Errorf("a debit for %s that its account cannot charge: %w", n, err)
		}
		if short {
			v.find(FoundOverspent, fmt.Sprintf("record %d", seq), "is charged less for %s than all its releases cost together", n)
		}
	}
	return nil
}

// short reports whether a record charges less for a step than the proved price of the node. Of the data the record does not
// hold what was done to them.
func (n *Node) short(s *Stepped, a *Account) (bool, error) {
	if err := s.check(a); err != nil {
		return false, err
	}
	p, err := n.again(s.At, s.spent(), rational.Down(s.Charged.Minus(n.Charged).Delta), a)
	if err != nil || p == nil {
		return false, err
	}
	short := below(s.Charged.Epsilon, p.After.Charged.Epsilon) || below(s.Charged.Delta, p.After.Charged.Delta) ||
		anyBelow(s.Cost, p.Cost)
	of := map[string]privacy.Cost{}
	for _, c := range costsOf(s.Slices) {
		of[c.Is] = c.Cost
	}
	for i, c := range p.Slices {
		short = short || c != nil && (i >= len(n.Parts) || anyBelow(of[n.Parts[i].Is], c))
	}
	return short, nil
}

// again prices a step from the records of a node; delta is the δ at which it was priced. It is nil for the data.
func (n *Node) again(at int64, spends Limit, delta float64, a *Account) (*step.Price, error) {
	with, e := a.payer(privacy.Bill.Price), step.Event{At: at, Bill: privacy.Bill{Delta: delta}}
	var err error
	switch n.Kind {
	case "":
		return nil, nil
	case KindPanel:
		e.Bill.Event, err = privacy.FromCanonical([]byte(n.Event))
	case KindSeries:
		e.Measured, err = periods.Read(n.Event)
	default:
		draw, err := n.Sampling()
		if err != nil {
			return nil, err
		}
		own := privacy.Point{Epsilon: rational.Up(spends.Epsilon), Delta: rational.Up(spends.Delta)}
		return step.Draw{Sampling: draw}.Spend(n.State, own, with)
	}
	if err != nil {
		return nil, err
	}
	kind, err := n.kind()
	if err != nil {
		return nil, err
	}
	return kind.Step(n.State, e, with)
}

// anyBelow reports whether a part of a cost is below what it must be.
func anyBelow(got, want privacy.Cost) bool {
	for i, w := range want {
		if i >= len(got) || below(got[i], w) {
			return true
		}
	}
	return false
}

func below(got, want *big.Rat) bool {
	least := new(big.Rat).Mul(want, new(big.Rat).Sub(big.NewRat(1, 1), auditSlack))
	return got.Cmp(least) < 0
}

// Acts are those by which clocks were accepted, and the ledger was refused for good or that was lifted, the oldest first.
func (v *Auditor) Acts() []Act { return v.acts }

// Finding is one thing that is wrong with a ledger or with what it released.
type Finding struct {
	Code  string `json:"code"`
	Where string `json:"where"`
	What  string `json:"what"`
}

// The codes of findings.
const (
	FoundChain      = "chain"       // a record was changed, left out or put in
	FoundBody       = "record"      // a record says what cannot have happened
	FoundTables     = "tables"      // the tables do not follow from the chain
	FoundOverspent  = "overspent"   // a debit that the limit did not allow
	FoundRolledBack = "rolled-back" // a release is newer than the ledger
	FoundForked     = "forked"      // a release belongs to another line of history: a copy was used
	FoundAltered    = "altered"     // files differ from those that were sealed
	FoundUndebited  = "undebited"   // a release without a debit
	FoundStored     = "stored"      // stored bytes differ from those that were sealed
)
