package ledger

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

func (v *Auditor) account(r *Record, b *accountBody) error {
	a := &Account{ID: r.Seq, Key: Key{Dataset: b.Dataset, Unit: b.Unit, Slice: Slice{Column: b.Slice}}, Opening: Opening{Filter: b.Filter, Orders: b.Orders, TwoPersons: b.Two, Keeps: b.Keeps}}
	var err error
	if a.Relation, err = privacy.ParseRelation(b.Relation); err != nil {
		return err
	}
	if a.Limit, err = b.Limit(); err != nil {
		return err
	}
	if b.Lifetime != nil {
		a.Lifetime = new(Limit)
		if *a.Lifetime, err = b.Lifetime.Limit(); err != nil {
			return err
		}
	}
	a.Spent = a.nothing()
	if err := v.alone(a.Key); err != nil {
		return err
	}
	if v.keys[a.Key] {
		return fmt.Errorf("an account is opened twice")
	}
	v.keys[a.Key], v.accounts[a.ID] = true, a
	v.changed = append(v.changed, a)
	return v.bound(a)
}

// alone replays the rule of tx.alone.
func (v *Auditor) alone(k Key) error {
	for _, o := range v.accounts {
		if o.Dataset == k.Dataset && o.Slice.Column != k.Slice.Column && !v.pairs[pair(k.name(), o.name())] {
			return fmt.Errorf("two accounts of one data set that are cut into different slices, and no record that this is meant")
		}
	}
	return nil
}

// bound finds out once what the limits of an account mean in its units.
func (v *Auditor) bound(a *Account) (err error) {
	v.bounds[a.ID], err = a.bounds()
	return err
}

func (v *Auditor) limit(r *Record, b *limitBody) error {
	a := v.accounts[b.Account]
	l, err := b.Limit()
	if a == nil {
		return fmt.Errorf("the limit of an account that is not there")
	}
	before := &a.Limit
	if b.Life {
		before = a.Lifetime
	}
	first := before == nil && !b.Raised && a.Slice.Column != ""
	switch {
	case err != nil:
		return err
	case b.Reason == "":
		return fmt.Errorf("a limit is changed without a reason")
	case !first && (before == nil || b.Raised != before.AtMost(l) || !b.Raised && !l.AtMost(*before)):
		return fmt.Errorf("a limit is not changed as the record says")
	case b.Raised && a.TwoPersons:
		return fmt.Errorf("one person raised a limit that two must raise")
	}
	a.limit(l, b.Life)
	a.Pending = nil
	v.changed = append(v.changed, a)
	return v.bound(a)
}

// propose replays what asks for a second person, or makes that a rule.
func (v *Auditor) propose(r *Record, b *proposeBody) error {
	a := v.accounts[b.Account]
	if a == nil || b.Reason == "" || a.TwoPersons != (r.Kind == kindPropose) {
		return fmt.Errorf("it is not about an account that allows it, or has no reason")
	}
	v.changed = append(v.changed, a)
	if r.Kind == kindRule {
		a.TwoPersons = true
		return nil
	}
	before := &a.Limit
	if b.Life {
		before = a.Lifetime
	}
	if l, err := b.Limit(); !b.EndRule && (err != nil || before == nil || !before.AtMost(l)) {
		return fmt.Errorf("what it asks for is not a larger limit")
	}
	a.Pending = &Proposal{Record: r.Seq, By: b.By, LimitText: b.LimitText, EndRule: b.EndRule, Life: b.Life}
	return nil
}

func (v *Auditor) approve(r *Record, b *approveBody) error {
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
