package ledger

import (
	"context"
	"errors"
	"math/big"
	"strings"
)

// account finds an account, nil where there is none, and holds it to the chain.
//
// # Contract
//
// What it returns is the state that the newest record of the account says, and the newest
// record of the ledger commits to; where it returns nil, no account of that key was ever
// opened. Everything else is refused with LEDGER_TAMPERED. Proof: ledger.proof.md.
func (t *tx) account(k Key) (*Account, error) {
	all, err := t.accounts("WHERE a.dataset = ? AND a.unit = ? AND a.relation = ?", k.Dataset, k.Unit, k.Relation.String())
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, t.holds(k.key(), nil, "the account of "+k.String()+" is gone: a table of the ledger")
	}
	return all[0], t.holds(k.key(), all[0].row(), "the account of "+k.String())
}

// accounts reads accounts, and holds each to its newest record.
func (t *tx) accounts(where string, args ...any) ([]*Account, error) {
	rows, err := t.rows("SELECT "+accountColumns+", COALESCE(r.seq, 0), COALESCE(r.kind, ''), COALESCE(r.body, ''), COALESCE(r.prev, ''), COALESCE(r.hash, '') FROM dprelease_accounts a LEFT JOIN dprelease_records r ON r.seq = a.last "+where+" ORDER BY a.id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*Account
	wrong := ""
	for rows.Next() {
		var r Record
		a, err := scanAccount(also{rows, []any{&r.Seq, &r.Kind, &r.Body, &r.Prev, &r.Hash}})
		if err != nil {
			return nil, err
		}
		if w := a.agrees(&r, t.l.id); w != "" && wrong == "" {
			wrong = "the account of " + a.Key.String() + ": " + w
		}
		out = append(out, a)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	if wrong != "" {
		return nil, t.tampered(wrong)
	}
	return out, nil
}

// open opens an account; the caller has found that there is none.
func (t *tx) open(k Key, o Opening) (*Account, error) {
	if k.Dataset == "" || k.Unit == "" || !k.Relation.Valid() || strings.Contains(k.Dataset+k.Unit, "\n") {
		return nil, refuse(CodeAccount, "an account needs a data set, a unit of privacy and a relation")
	}
	if err := o.check(k.Relation); err != nil {
		return nil, err
	}
	if o.Keeps != nil {
		o.Keeps = columnSet(o.Keeps)
	}
	orders, err := encode(o.Orders)
	if err != nil {
		return nil, err
	}
	a := &Account{ID: t.state.seq + 1, Key: k, Opening: o}
	for range a.Units() {
		a.Spent = append(a.Spent, new(big.Rat))
	}
	if err := t.exec("INSERT INTO dprelease_accounts (id, dataset, unit, relation, filter, orders, limit_epsilon, limit_delta, spent, debits) VALUES (?, ?, ?, ?, ?, ?, '', '', '', 0)",
		a.ID, k.Dataset, k.Unit, k.Relation.String(), o.Filter, orders); err != nil {
		return nil, err
	}
	_, err = t.append(kindAccount, &accountBody{Dataset: k.Dataset, Unit: k.Unit, Relation: k.Relation.String(),
		Filter: o.Filter, Orders: o.Orders, Epsilon: o.Limit.Epsilon.RatString(), Delta: o.Limit.Delta.RatString(), Two: o.TwoPersons, Keeps: o.Keeps}, a)
	return a, err
}

// saveAccount stores what of an account can change.
func (t *tx) saveAccount(a *Account) error {
	b := a.balance()
	spent, err := encode(b.Spent)
	if err != nil {
		return err
	}
	pending := ""
	if b.Pending != nil {
		if pending, err = encode(b.Pending); err != nil {
			return err
		}
	}
	keeps := ""
	if b.Keeps != nil {
		if keeps, err = encode(b.Keeps); err != nil {
			return err
		}
	}
	two := 0
	if b.TwoPersons {
		two = 1
	}
	return t.exec("UPDATE dprelease_accounts SET limit_epsilon = ?, limit_delta = ?, spent = ?, debits = ?, acts = ?, last = ?, two_persons = ?, pending = ?, keeps = ? WHERE id = ?",
		b.Epsilon, b.Delta, spent, b.Debits, b.Acts, a.last, two, pending, keeps, a.ID)
}

// OpenAccount opens an account; it is an error where it is open already.
func (l *Ledger) OpenAccount(ctx context.Context, k Key, o Opening) (a *Account, err error) {
	err = l.write(ctx, func(t *tx) error {
		if a, err = t.account(k); err != nil {
			return err
		}
		if a != nil {
			return refuse(CodeAccount, "the account of %s is open already, with the filter %s and the limit %s", k, a.Filter, a.Limit)
		}
		a, err = t.open(k, o)
		return err
	})
	return a, err
}

// Account returns the state of an account, nil where it is not open.
func (l *Ledger) Account(ctx context.Context, k Key) (a *Account, err error) {
	err = l.read(ctx, func(t *tx) error {
		a, err = t.account(k)
		return err
	})
	return a, err
}

// Accounts returns all accounts in the order in which they were opened.
func (l *Ledger) Accounts(ctx context.Context) (out []*Account, err error) {
	err = l.read(ctx, func(t *tx) error {
		out, err = t.accounts("")
		return err
	})
	return out, err
}
