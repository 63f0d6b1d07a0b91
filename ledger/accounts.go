package ledger

import (
	"context"
	"slices"
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
	all, err := t.accounts("WHERE a.dataset = ? AND a.unit = ? AND a.relation = ? AND a.slice = ?", k.Dataset, k.Unit, k.Relation.String(),
		k.Slice.Column)
	if err != nil {
		return nil, err
	}
	name := "the account of " + k.account().String()
	if len(all) == 0 {
		return nil, t.holds(k.key(), nil, name+" is gone: a table of the ledger")
	}
	a := all[0]
	t.books.accounts[a.ID] = a
	if err := t.holds(k.key(), a.row(), name); err != nil {
		return nil, err
	}
	return a, t.inSlice(a, k.Slice.Is)
}

// opened finds the account of all slices, and refuses a key of which there is none.
func (t *tx) opened(k Key) (*Account, error) {
	a, err := t.account(k.account())
	if err == nil && a == nil {
		err = refuse(CodeAccount, "there is no account of %s", k)
	}
	return a, err
}

// accounts reads accounts, and holds each to its newest record.
func (t *tx) accounts(where string, args ...any) ([]*Account, error) {
	wrong := ""
	out, err := all(t, func(row scanner) (*Account, error) {
		var r Record
		a, err := scanAccount(also{row, []any{&r.Seq, &r.Kind, &r.Body, &r.Prev, &r.Hash}})
		if err != nil {
			return nil, err
		}
		if w := a.agrees(&r, t.l.id); w != "" && wrong == "" {
			wrong = "the account of " + a.Key.String() + ": " + w
		}
		return a, nil
	}, "SELECT "+accountColumns+", COALESCE(r.seq, 0), COALESCE(r.kind, ''), COALESCE(r.body, ''), COALESCE(r.prev, ''), "+
		"COALESCE(r.hash, '') FROM dprelease_accounts a LEFT JOIN dprelease_records r ON r.seq = a.last "+where+" ORDER BY a.id", args...)
	if err != nil {
		return nil, err
	}
	if wrong != "" {
		return nil, t.tampered(wrong)
	}
	return out, nil
}

// open opens an account; the caller has found that there is none.
func (t *tx) open(k Key, o Opening) (*Account, error) {
	if k.Dataset == "" || k.Unit == "" || !k.Relation.Valid() || strings.Contains(k.Dataset+k.Unit+k.Slice.Column, "\n") ||
		k.Slice.Column == "" && k.Slice.Is != "" {
		return nil, refuse(CodeAccount, "an account needs a data set, a unit of privacy and a relation, and a slice needs its column")
	}
	if err := o.check(k); err != nil {
		return nil, err
	}
	if err := t.alone(k); err != nil {
		return nil, err
	}
	if o.Keeps != nil {
		o.Keeps = columnSet(o.Keeps)
	}
	r, err := t.append(&accountBody{accountName: k.name(), Opening: o})
	if err != nil {
		return nil, err
	}
	a := t.books.accounts[r.Seq]
	return a, t.inSlice(a, k.Slice.Is)
}

// alone refuses a second account of a data set that is cut into other slices, or not cut:
// each unit would then be paid for out of two limits. A person can say that this is meant;
// what is shown of the data set then adds the two up.
//
// # Contract
//
// Without a separate record for each pair, all accounts of one data set id have the same
// column of slices, or none has any. Proof: slices.proof.md.
func (t *tx) alone(k Key) error {
	others, err := t.accounts("WHERE a.dataset = ? AND a.slice <> ?", k.Dataset, k.Slice.Column)
	if err != nil {
		return err
	}
	for _, o := range others {
		there, err := t.separate(pair(k.name(), o.name()))
		if err != nil {
			return err
		}
		if !there {
			return refuse(CodeSame, "the account of %s is about %s of the same data, and this one would be about %s: each %s would be paid "+
				"for out of two limits; use the one that is there, or say that it is meant: dprelease ledger separate %s %s --reason TEXT",
				o.Key, o.Slice, k.account().Slice, k.Unit, k.flags(""), o.flags("from"))
		}
	}
	return nil
}

// saveAccount stores an account.
func (t *tx) saveAccount(a *Account) error {
	state, err := encode(a.row())
	if err != nil {
		return err
	}
	return t.upsert("dprelease_accounts", "id", "dataset, unit, relation, slice", "last, state",
		[]any{a.ID, a.Dataset, a.Unit, a.Relation.String(), a.Slice.Column, a.last, state})
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

// Account returns the state of an account, nil where it is not open; with what a slice has
// spent, where the key names one.
func (l *Ledger) Account(ctx context.Context, k Key) (*Account, error) {
	return reading(ctx, l, func(t *tx) (*Account, error) { return t.account(k) })
}

// OfDataset returns the accounts of one data set: one for each unit of privacy and relation,
// and way of being cut into slices.
func (l *Ledger) OfDataset(ctx context.Context, dataset string) ([]*Account, error) {
	return reading(ctx, l, func(t *tx) ([]*Account, error) { return t.accounts("WHERE a.dataset = ?", dataset) })
}

// MayOpen refuses an account that cannot be opened beside the others of its data set.
func (l *Ledger) MayOpen(ctx context.Context, k Key) error {
	return l.read(ctx, func(t *tx) error { return t.alone(k) })
}

// Accounts returns all accounts in the order in which they were opened. An account with
// slices is one of them.
func (l *Ledger) Accounts(ctx context.Context) ([]*Account, error) {
	return reading(ctx, l, func(t *tx) ([]*Account, error) { return t.accounts("") })
}

// Tallies returns what each slice of an account has spent, in the order of their names.
func (l *Ledger) Tallies(ctx context.Context, k Key) ([]Tally, error) {
	return reading(ctx, l, func(t *tx) (out []Tally, err error) {
		a, err := t.account(k.account())
		if err != nil || a == nil {
			return nil, err
		}
		all, err := t.buckets(a.ID)
		if err != nil {
			return nil, err
		}
		for _, b := range all {
			for _, s := range b {
				one, err := s.tally(a)
				if err != nil {
					return nil, err
				}
				out = append(out, one)
			}
		}
		if int64(len(out)) != a.Slices {
			return nil, t.tampered("a slice of the account of " + k.String() + " is gone")
		}
		slices.SortFunc(out, func(x, y Tally) int { return strings.Compare(x.Is, y.Is) })
		return out, nil
	})
}
