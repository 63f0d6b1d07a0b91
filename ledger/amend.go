package ledger

import (
	"context"
	"math/big"
	"strings"
)

// Proposal is a change of an account that waits for a second person.
type Proposal struct {
	Record  int64  `json:"record"` // that asked for it
	By      string `json:"by"`
	Limit   Limit  `json:"limit,omitzero"`
	EndRule bool   `json:"end_rule,omitempty"`        // one person may raise the limit again
	Life    bool   `json:"over_all_slices,omitempty"` // the limit over all slices
}

// Change is a wish for another limit. A part that is nil stays as it is.
type Change struct {
	Epsilon, Delta, Rho *big.Rat
	Life                bool // the limit over all slices
	Raise               bool // or lower; never one up and one down
	Reason              string
}

// of returns what a limit becomes. There is nothing to keep of a limit over all slices
// that was never set.
func (c Change) of(before *Limit) (Limit, error) {
	if before == nil {
		before = &Limit{Rho: c.Rho}
		if c.Rho == nil {
			before = &Limit{Epsilon: c.Epsilon, Delta: new(big.Rat)}
		}
	}
	after := *before
	if (c.Rho != nil) != (after.Rho != nil) || c.Rho != nil && (c.Epsilon != nil || c.Delta != nil) {
		return after, refuse(CodeLimit, "the limit is %s: change it in the same units", before)
	}
	for _, part := range []struct{ to, set **big.Rat }{{&after.Epsilon, &c.Epsilon}, {&after.Delta, &c.Delta}, {&after.Rho, &c.Rho}} {
		if *part.set != nil {
			*part.to = *part.set
		}
	}
	if !after.MayLimit() {
		return after, refuse(CodeLimit, "a limit needs ε of at least 0 and δ from 0 to 1, or ρ of at least 0")
	}
	return after, nil
}

// SetLimit changes the limit of an account, for a reason that is recorded. Where the
// account asks for two persons, a raise changes nothing but the account's Pending, and
// waits for Approve; a limit is lowered by one person, which ends what is pending.
//
// # Contract
//
// A limit is raised by nothing else but Approve. Proof: ledger.proof.md.
func (l *Ledger) SetLimit(ctx context.Context, k Key, c Change) (*Account, error) {
	return l.amend(ctx, k, func(t *tx, a *Account) error {
		before := a.limitOf(c.Life)
		limit, err := c.of(before)
		if err != nil {
			return err
		}
		o := a.Opening
		o.limit(limit, c.Life)
		if err := o.check(a.Key); err != nil {
			return err
		}
		switch {
		case before == nil && !c.Raise: // from none to one
		case before == nil:
			return refuse(CodeLimit, "%s has no limit over all slices: a first one lowers what may be spent", k)
		case c.Raise && (!before.AtMost(limit) || limit.AtMost(*before)):
			return refuse(CodeLimit, "%s does not raise the limit of %s, which is %s", limit, k, before)
		case !c.Raise && (!limit.AtMost(*before) || before.AtMost(limit)):
			return refuse(CodeLimit, "%s does not lower the limit of %s, which is %s", limit, k, before)
		}
		if c.Raise && a.TwoPersons {
			_, err := t.append(&proposeBody{Account: a.ID, Limit: limit, Life: c.Life, reasoned: reasoned{c.Reason}})
			return err
		}
		_, err = t.append(&limitBody{Account: a.ID, Limit: limit, Life: c.Life, Raised: c.Raise, reasoned: reasoned{c.Reason}})
		return err
	})
}

// SetTwoPersons makes it a rule of an account that two persons raise its limit, or asks
// a second person to end the rule.
func (l *Ledger) SetTwoPersons(ctx context.Context, k Key, on bool, reason string) (*Account, error) {
	return l.amend(ctx, k, func(t *tx, a *Account) error {
		switch {
		case on == a.TwoPersons && on:
			return refuse(CodeLimit, "two persons raise the limit of %s already", k)
		case on == a.TwoPersons:
			return refuse(CodeLimit, "one person may raise the limit of %s already", k)
		case !on:
			_, err := t.append(&proposeBody{Account: a.ID, EndRule: true, reasoned: reasoned{reason}})
			return err
		}
		_, err := t.append(&ruleBody{Account: a.ID, reasoned: reasoned{reason}})
		return err
	})
}

// Approve carries out what another person asked for. proposal is the record that asked,
// so that nobody approves what took its place in the meantime.
//
// # Contract
//
// The name of who approves differs from that of who asked. Names are recorded, not
// proven: whoever can write to the database can give any.
func (l *Ledger) Approve(ctx context.Context, k Key, proposal int64) (*Account, error) {
	return l.amend(ctx, k, func(t *tx, a *Account) error {
		p := a.Pending
		switch {
		case p == nil:
			return refuse(CodeLimit, "nothing waits for a second person on the account of %s", k)
		case p.Record != proposal:
			return refuse(CodeLimit, "record %d is not what waits for a second person on the account of %s, which is record %d: "+
				"look at it with dprelease ledger show, and give --proposal %d", proposal, k, p.Record, p.Record)
		case samePerson(p.By, l.by):
			return refuse(CodeLimit, "%s asked for it and cannot approve it: a second person must", p.By)
		}
		_, err := t.append(&approveBody{Account: a.ID, Proposal: proposal})
		return err
	})
}

// amend changes an account that is there.
func (l *Ledger) amend(ctx context.Context, k Key, f func(*tx, *Account) error) (a *Account, err error) {
	k = k.account() // what is changed holds for all slices
	err = l.write(ctx, func(t *tx) error {
		if a, err = t.opened(k); err != nil {
			return err
		}
		return f(t, a)
	})
	return a, err
}

// samePerson compares names without the host of a login: one person may use several.
func samePerson(a, b string) bool {
	name := func(s string) string {
		s, _, _ = strings.Cut(s, "@")
		return strings.ToLower(strings.Join(strings.Fields(s), " "))
	}
	return name(a) == name(b)
}
