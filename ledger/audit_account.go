package ledger

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

func (v *Auditor) account(r *Record) error {
	var b accountBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := &Account{ID: r.Seq, Key: Key{Dataset: b.Dataset, Unit: b.Unit}, Opening: Opening{Filter: b.Filter, Orders: b.Orders, TwoPersons: b.Two, Keeps: b.Keeps}}
	var err error
	if a.Relation, err = privacy.ParseRelation(b.Relation); err != nil {
		return err
	}
	if a.Limit, err = parseLimit(b.Epsilon, b.Delta); err != nil {
		return err
	}
	for range a.Units() {
		a.Spent = append(a.Spent, new(big.Rat))
	}
	if v.keys[a.Key] {
		return fmt.Errorf("an account is opened twice")
	}
	v.keys[a.Key], v.accounts[a.ID] = true, a
	v.changed = append(v.changed, a)
	return v.bound(a)
}

// bound finds out once what an account's limit means in its units.
func (v *Auditor) bound(a *Account) error {
	f, places, err := a.filter(a.Relation, a.Limit)
	if err != nil {
		return err
	}
	v.bounds[a.ID], v.places[a.ID] = f.Remaining(), places
	return nil
}

func (v *Auditor) limit(r *Record) error {
	var b limitBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	l, err := parseLimit(b.Epsilon, b.Delta)
	switch {
	case a == nil:
		return fmt.Errorf("the limit of an account that is not there")
	case err != nil:
		return err
	case b.Reason == "":
		return fmt.Errorf("a limit is changed without a reason")
	case b.Raised != a.Limit.AtMost(l) || !b.Raised && !l.AtMost(a.Limit):
		return fmt.Errorf("a limit is not changed as the record says")
	case b.Raised && a.TwoPersons:
		return fmt.Errorf("one person raised a limit that two must raise")
	}
	a.Limit, a.Pending = l, nil
	v.changed = append(v.changed, a)
	return v.bound(a)
}

// propose replays what asks for a second person, or makes that a rule.
func (v *Auditor) propose(r *Record) error {
	var b proposeBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	if a == nil || b.Reason == "" || a.TwoPersons != (r.Kind == kindPropose) {
		return fmt.Errorf("it is not about an account that allows it, or has no reason")
	}
	v.changed = append(v.changed, a)
	if r.Kind == kindRule {
		a.TwoPersons = true
		return nil
	}
	if l, err := parseLimit(b.Epsilon, b.Delta); !b.EndRule && (err != nil || !a.Limit.AtMost(l)) {
		return fmt.Errorf("what it asks for is not a larger limit")
	}
	a.Pending = &Proposal{Record: r.Seq, By: b.By, Epsilon: b.Epsilon, Delta: b.Delta, EndRule: b.EndRule}
	return nil
}

func (v *Auditor) approve(r *Record) error {
	var b approveBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	switch {
	case a == nil || a.Pending == nil || a.Pending.Record != b.Proposal:
		return fmt.Errorf("it approves what nobody asked for")
	case samePerson(a.Pending.By, b.By):
		return fmt.Errorf("one person asked for a change and approved it")
	}
	v.changed = append(v.changed, a)
	if err := a.approved(); err != nil {
		return err
	}
	return v.bound(a)
}
