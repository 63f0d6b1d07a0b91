package ledger

import (
	"context"
	"errors"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
)

// Proposal is a change of an account that waits for a second person.
type Proposal struct {
	Record  int64  `json:"record"` // that asked for it
	By      string `json:"by"`
	Epsilon string `json:"limit_epsilon,omitempty"` // exact
	Delta   string `json:"limit_delta,omitempty"`
	EndRule bool   `json:"end_rule,omitempty"` // one person may raise the limit again
}

// Change says what a limit is to become. What is nil stays as it is.
type Change struct {
	Epsilon, Delta *big.Rat
	Raise          bool // or lower; never one up and one down
	Reason         string
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
		if c.Reason == "" {
			return errNoReason
		}
		limit := a.Limit
		if c.Epsilon != nil {
			limit.Epsilon = c.Epsilon
		}
		if c.Delta != nil {
			limit.Delta = c.Delta
		}
		o := a.Opening
		o.Limit = limit
		if err := o.check(k.Relation); err != nil {
			return err
		}
		switch {
		case c.Raise && (!a.Limit.AtMost(limit) || limit.AtMost(a.Limit)):
			return refuse(CodeLimit, "%s does not raise the limit of %s, which is %s", limit, k, a.Limit)
		case !c.Raise && (!limit.AtMost(a.Limit) || a.Limit.AtMost(limit)):
			return refuse(CodeLimit, "%s does not lower the limit of %s, which is %s", limit, k, a.Limit)
		}
		eps, delta := limit.Epsilon.RatString(), limit.Delta.RatString()
		if c.Raise && a.TwoPersons {
			return t.propose(a, &proposeBody{Account: a.ID, Epsilon: eps, Delta: delta, Reason: c.Reason})
		}
		a.Limit, a.Pending = limit, nil
		_, err := t.append(kindLimit, &limitBody{Account: a.ID, Epsilon: eps, Delta: delta, Raised: c.Raise, Reason: c.Reason}, a)
		return err
	})
}

// SetTwoPersons makes it a rule of an account that two persons raise its limit, or asks
// a second person to end the rule.
func (l *Ledger) SetTwoPersons(ctx context.Context, k Key, on bool, reason string) (*Account, error) {
	return l.amend(ctx, k, func(t *tx, a *Account) error {
		switch {
		case reason == "":
			return errNoReason
		case on == a.TwoPersons && on:
			return refuse(CodeLimit, "two persons raise the limit of %s already", k)
		case on == a.TwoPersons:
			return refuse(CodeLimit, "one person may raise the limit of %s already", k)
		case !on:
			return t.propose(a, &proposeBody{Account: a.ID, EndRule: true, Reason: reason})
		}
		a.TwoPersons = true
		_, err := t.append(kindRule, &ruleBody{Account: a.ID, Reason: reason}, a)
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
			return refuse(CodeLimit, "record %d is not what waits for a second person on the account of %s, which is record %d: look at it with dprelease ledger show, and give --proposal %d", proposal, k, p.Record, p.Record)
		case samePerson(p.By, l.by):
			return refuse(CodeLimit, "%s asked for it and cannot approve it: a second person must", p.By)
		}
		if err := a.approved(); err != nil {
			return err
		}
		_, err := t.append(kindApprove, &approveBody{Account: a.ID, Proposal: proposal}, a)
		return err
	})
}

var errNoReason = refuse(CodeLimit, "a change of an account needs a reason, which is recorded")

// amend changes an account that is there.
func (l *Ledger) amend(ctx context.Context, k Key, f func(*tx, *Account) error) (a *Account, err error) {
	err = l.write(ctx, func(t *tx) error {
		if a, err = t.account(k); err != nil {
			return err
		}
		if a == nil {
			return refuse(CodeAccount, "there is no account of %s", k)
		}
		return f(t, a)
	})
	return a, err
}

// propose records what waits for a second person, in place of what waited before.
func (t *tx) propose(a *Account, b *proposeBody) error {
	a.Pending = &Proposal{Record: t.state.seq + 1, By: t.l.by, Epsilon: b.Epsilon, Delta: b.Delta, EndRule: b.EndRule}
	_, err := t.append(kindPropose, b, a)
	return err
}

// approved changes an account as its pending proposal says.
func (a *Account) approved() error {
	p := a.Pending
	if p == nil {
		return errors.New("nothing waits for a second person")
	}
	a.Pending = nil
	if p.EndRule {
		a.TwoPersons = false
		return nil
	}
	limit, err := parseLimit(p.Epsilon, p.Delta)
	if err == nil {
		a.Limit = limit
	}
	return err
}

// samePerson compares names without the host of a login: one person may use several.
func samePerson(a, b string) bool {
	name := func(s string) string {
		s, _, _ = strings.Cut(s, "@")
		return strings.ToLower(strings.Join(strings.Fields(s), " "))
	}
	return name(a) == name(b)
}

// Act is what somebody did to an account besides spending.
type Act struct {
	Record  int64    `json:"record"`
	At      string   `json:"at"`
	By      string   `json:"by,omitempty"` // empty in records of earlier versions
	Account int64    `json:"account"`
	What    string   `json:"what"`                    // account, limit, propose, approve, rule or keeps
	Epsilon string   `json:"limit_epsilon,omitempty"` // exact
	Delta   string   `json:"limit_delta,omitempty"`
	EndRule bool     `json:"end_rule,omitempty"`
	Two     bool     `json:"two_persons,omitempty"`
	Raised  bool     `json:"raised,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Columns []string `json:"columns,omitempty"` // that the account keeps from then on
	// Proposal is the record that an approval carried out.
	Proposal int64 `json:"proposal,omitempty"`
}

// Acts returns everything that was done to accounts besides spending, the oldest first.
func (l *Ledger) Acts(ctx context.Context) (out []Act, err error) {
	err = l.read(ctx, func(t *tx) error {
		return t.records("WHERE kind IN ('account', 'limit', 'propose', 'approve', 'rule', 'keeps')", func(r Record) error {
			a := Act{}
			if err := decodeSome(r.Body, &a); err != nil {
				return refuse(CodeTampered, "the record %d cannot be read", r.Seq)
			}
			a.Record, a.What = r.Seq, r.Kind
			for _, x := range []*string{&a.Epsilon, &a.Delta} {
				if amount, err := parseRat(*x); err == nil {
					*x = job.FormatAmount(amount)
				}
			}
			if r.Kind == kindAccount {
				a.Account = r.Seq
			}
			out = append(out, a)
			return nil
		})
	})
	return out, err
}
