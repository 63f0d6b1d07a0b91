package ledger

import (
	"fmt"
	"slices"
)

// The records about the ledger and its accounts, and what each means.

type ledgerBody struct {
	stamp
	Format int    `json:"format"`
	Ledger string `json:"ledger"`
	Secret string `json:"secret"` // SHA-256 of the ledger's secret
}

func (r *ledgerBody) enter(b *books, seq int64) error {
	switch {
	case seq != 1:
		return fmt.Errorf("a ledger begins in its middle")
	case r.Format != Format:
		return fmt.Errorf("its records have format %d, and this program knows format %d", r.Format, Format)
	}
	b.changed.secret = r.Secret
	return nil
}

type accountBody struct {
	stamp
	accountName
	Opening
}

func (r *accountBody) enter(b *books, seq int64) error {
	k, err := r.key()
	if err != nil {
		return err
	}
	if !r.Limit.MayLimit() || r.Lifetime != nil && !r.Lifetime.MayLimit() {
		return fmt.Errorf("an account is opened without a limit")
	}
	a := Unopened(k, r.Opening)
	a.ID = seq
	b.accounts[a.ID] = a
	b.change(a)
	return nil
}

type limitBody struct {
	stamp
	Account int64 `json:"account"`
	Limit   Limit `json:"limit"`
	Raised  bool  `json:"raised"`
	reasoned
	Life bool `json:"over_all_slices,omitempty"`
}

func (r *limitBody) enter(b *books, _ int64) error {
	a, err := b.of(r.Account)
	if err != nil {
		return err
	}
	l, before := r.Limit, a.limitOf(r.Life)
	first := before == nil && !r.Raised && a.Slice.Column != ""
	switch {
	case !l.MayLimit():
		return fmt.Errorf("it sets no limit")
	case !first && (before == nil || r.Raised != before.AtMost(l) || !r.Raised && !l.AtMost(*before)):
		return fmt.Errorf("a limit is not changed as the record says")
	case r.Raised && a.TwoPersons:
		return fmt.Errorf("one person raised a limit that two must raise")
	}
	a.limit(l, r.Life)
	a.Pending = nil
	return nil
}

// proposeBody asks a second person for a larger limit, or for the end of the rule that
// two persons raise it.
type proposeBody struct {
	stamp
	Account int64 `json:"account"`
	Limit   Limit `json:"limit,omitzero"`
	EndRule bool  `json:"end_rule,omitempty"`
	reasoned
	Life bool `json:"over_all_slices,omitempty"`
}

func (r *proposeBody) enter(b *books, seq int64) error {
	a, err := b.of(r.Account)
	switch {
	case err != nil:
		return err
	case !a.TwoPersons:
		return fmt.Errorf("it asks for a second person where one person is enough")
	}
	if before := a.limitOf(r.Life); !r.EndRule {
		if !r.Limit.MayLimit() || before == nil || !before.AtMost(r.Limit) {
			return fmt.Errorf("what it asks for is not a larger limit")
		}
	}
	a.Pending = &Proposal{Record: seq, By: r.By, Limit: r.Limit, EndRule: r.EndRule, Life: r.Life}
	return nil
}

type approveBody struct {
	stamp
	Account  int64 `json:"account"`
	Proposal int64 `json:"proposal"` // the record
}

func (r *approveBody) enter(b *books, _ int64) error {
	a, err := b.of(r.Account)
	switch {
	case err != nil:
		return err
	case a.Pending == nil || a.Pending.Record != r.Proposal:
		return fmt.Errorf("it approves what nobody asked for")
	case samePerson(a.Pending.By, r.By):
		return fmt.Errorf("one person asked for a change and approved it")
	}
	p := a.Pending
	a.Pending = nil
	if p.EndRule {
		a.TwoPersons = false
		return nil
	}
	a.limit(p.Limit, p.Life)
	return nil
}

// ruleBody says that from now on two persons raise the limit of an account.
type ruleBody struct {
	stamp
	Account int64 `json:"account"`
	reasoned
}

func (r *ruleBody) enter(b *books, _ int64) error {
	a, err := b.of(r.Account)
	switch {
	case err != nil:
		return err
	case a.TwoPersons:
		return fmt.Errorf("a rule that holds already")
	}
	a.TwoPersons = true
	return nil
}

// keepsBody records the columns that an account keeps from now on.
type keepsBody struct {
	stamp
	Account int64    `json:"account"`
	Columns []string `json:"columns"`
	reasoned
}

func (r *keepsBody) enter(b *books, _ int64) error {
	a, err := b.of(r.Account)
	switch {
	case err != nil:
		return err
	case !slices.Equal(columnSet(r.Columns), r.Columns):
		return fmt.Errorf("kept columns that are not in order")
	case !KeepsAll(r.Columns, a.Keeps):
		return fmt.Errorf("an account no longer keeps a column that earlier releases rely on")
	case a.Keeps != nil && rowKept(r.Columns) && !rowKept(a.Keeps):
		return fmt.Errorf("an account keeps a row in a table of which earlier releases say nothing")
	}
	a.Keeps = r.Columns
	return nil
}

// separateBody says that two accounts may spend on the same data, each with a limit of
// its own; where it names one account, that its slices may.
type separateBody struct {
	stamp
	Accounts []accountName `json:"accounts"`
	reasoned
}

func (r *separateBody) enter(b *books, _ int64) error {
	n := len(r.Accounts)
	if n != 1 && n != 2 {
		return fmt.Errorf("it names neither one account nor two")
	}
	p := pair(r.Accounts[0], r.Accounts[n-1])
	switch {
	case b.pairs[p]:
		return fmt.Errorf("accounts, slices or panels are separate twice")
	case (n == 1) != (p[0] == p[1]):
		return fmt.Errorf("an account is not separate from itself")
	}
	b.pairs[p] = true
	b.changed.pairs = append(b.changed.pairs, p)
	return nil
}

// clockBody says that a clock is right although it is behind the newest record. It changes
// nothing but the time to which later records are held.
type clockBody struct {
	stamp
	Was string `json:"was"` // the time of the record before it
	reasoned
}

func (r *clockBody) enter(*books, int64) error { return nil }

// refuseBody says that somebody refused the ledger for good, or lifted that.
type refuseBody struct {
	stamp
	Lifted bool `json:"lifted,omitempty"`
	reasoned
}

func (r *refuseBody) enter(b *books, _ int64) error {
	if r.Lifted == (b.refused == "") {
		return fmt.Errorf("a ledger is refused twice, or what nobody refused is lifted")
	}
	b.refused, b.changed.refused = r.By+": "+r.Reason, true
	if r.Lifted {
		b.refused = ""
	}
	return nil
}

type lookBody struct {
	stamp
	accountName
	Job     string            `json:"job"`
	Columns map[string]string `json:"columns"`
}

func (r *lookBody) enter(*books, int64) error {
	if r.Dataset == "" {
		return fmt.Errorf("a look at nothing")
	}
	return nil
}
