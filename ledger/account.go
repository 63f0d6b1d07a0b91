package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// Account is the state of one account. As JSON it is what a record holds of it.
type Account struct {
	ID  int64 `json:"account"` // the record that opened it
	Key `json:"-"`
	Opening
	// Spent is in Units; at all orders of an rdp account. Where the account has slices it is
	// the sum over all of them: what a unit has spent that is in each (P26).
	Spent   privacy.Cost `json:"spent"`
	Debits  int64        `json:"debits"`
	Acts    int64        `json:"acts"`              // records that changed the account, the one that opened it included
	Pending *Proposal    `json:"pending,omitempty"` // waits for a second person; nil where nothing does

	// SliceKind is the kind of the column of the slices, "" before the first debit.
	SliceKind SliceKind `json:"slice_kind,omitempty"`
	// Slices is the number of slices that were debited. Largest is the most that any one of
	// them has spent, unit by unit.
	Slices  int64        `json:"slices,omitempty"`
	Largest privacy.Cost `json:"largest,omitempty"`
	// InSlice is the spend of the slice of Key. It is empty where Key names no slice.
	InSlice Tally `json:"-"`

	last int64 // the newest of those records
}

// bounded returns the costs that the account's limit is compared with: what the account has
// spent or, where it has slices, what the slice of its key has spent.
func (a *Account) bounded() privacy.Cost {
	if a.Slice.Column == "" {
		return a.Spent
	}
	return a.InSlice.Spent
}

// Unopened is an account before it is opened: nothing is spent.
func Unopened(k Key, o Opening) *Account {
	a := &Account{Key: k, Opening: o}
	a.Spent = a.nothing()
	a.InSlice = Tally{Is: k.Slice.Is, Spent: a.nothing()}
	return a
}

// paid is the number of debits that bounded adds up.
func (a *Account) paid() int64 {
	if a.Slice.Column == "" {
		return a.Debits
	}
	return a.InSlice.Debits
}

// Charge adds the cost of a job to what is spent. It asks no limit: see Admit.
//
// # Contract
//
// InSlice is then what a unit in that slice has spent, Largest what a unit in any one slice
// has, and Spent what a unit that is in every slice has (P26), where every job has draws of
// its own. Proof: slices.proof.md.
func (a *Account) Charge(c privacy.Cost) {
	a.Debits++
	a.Spent = sumOf(a.Spent, c)
	if a.Slice.Column == "" {
		return
	}
	if a.InSlice.Debits++; a.InSlice.Debits == 1 {
		a.Slices++
	}
	a.InSlice.Spent = sumOf(a.InSlice.Spent, c)
	a.Largest = largest(a.Largest, a.InSlice.Spent)
}

// sumOf adds two costs in the same units.
func sumOf(a, b privacy.Cost) privacy.Cost {
	out := make(privacy.Cost, len(a))
	for i := range a {
		out[i] = new(big.Rat).Add(a[i], b[i])
	}
	return out
}

// differenceOf is a without b.
func differenceOf(a, b privacy.Cost) privacy.Cost {
	out := make(privacy.Cost, len(a))
	for i := range a {
		out[i] = new(big.Rat).Sub(a[i], b[i])
	}
	return out
}

// largest takes the larger of two costs, unit by unit. An empty one is no cost.
func largest(a, b privacy.Cost) privacy.Cost {
	out := slices.Clone(b)
	for i := range a {
		if a[i].Cmp(b[i]) > 0 {
			out[i] = a[i]
		}
	}
	return out
}

// nothing is no cost, in the account's units.
func (a *Account) nothing() privacy.Cost {
	out := make(privacy.Cost, len(a.Units()))
	for i := range out {
		out[i] = new(big.Rat)
	}
	return out
}

// accountRow is everything that is stored of an account. The tree of digests commits to it.
type accountRow struct {
	Name string `json:"key"`
	Last int64  `json:"last"`
	*Account
}

func (a *Account) row() accountRow { return accountRow{a.key(), a.last, a} }

// Units name the parts of the account's costs.
func (a *Account) Units() []string {
	switch a.Filter {
	case Basic:
		return []string{"epsilon", "delta"}
	case ZCDP:
		return []string{"rho"}
	}
	units := make([]string, len(a.Orders))
	for i, o := range a.Orders {
		units[i] = fmt.Sprintf("divergence of order %g", o)
	}
	return units
}

// agrees describes where a row disagrees with the newest record of its account, "" for
// nowhere.
func (a *Account) agrees(r *Record, ledger string) string {
	var s struct{ After []map[string]json.RawMessage }
	if r.Seq == 0 || hashRecord(ledger, r) != r.Hash || decodeSome(r.Body, &s) != nil {
		return fmt.Sprintf("its record %d is missing or was changed", a.last)
	}
	var row map[string]json.RawMessage
	text, err := encode(a)
	if err != nil || decodeSome(text, &row) != nil {
		return "it cannot be written"
	}
	for _, chain := range s.After {
		if string(chain["account"]) != string(row["account"]) {
			continue
		}
		for _, part := range slices.Sorted(maps.Keys(row)) {
			if said := string(row[part]); said != string(chain[part]) {
				return fmt.Sprintf("its row says %s %s, record %d of the chain says %s", part, said, r.Seq, cmp.Or(string(chain[part]), "none"))
			}
		}
		for part, said := range chain {
			if row[part] == nil {
				return fmt.Sprintf("its row says no %s, record %d of the chain says %s", part, r.Seq, said)
			}
		}
		return ""
	}
	return fmt.Sprintf("record %d is not about it", r.Seq)
}

const accountColumns = "a.id, a.dataset, a.unit, a.relation, a.slice, a.last, a.state"

type scanner interface{ Scan(...any) error }

func scanAccount(s scanner) (*Account, error) {
	var id int64
	var rel, state string
	a := &Account{}
	if err := s.Scan(&id, &a.Dataset, &a.Unit, &rel, &a.Slice.Column, &a.last, &state); err != nil {
		return nil, err
	}
	err := errors.Join(a.Relation.UnmarshalText([]byte(rel)), decode(state, &accountRow{Account: a}))
	a.ID = id
	if err != nil || len(a.Spent) != len(a.Units()) || (a.Slices > 0) != (len(a.Largest) > 0) {
		return nil, refuse(CodeTampered, "an account cannot be read")
	}
	return a, nil
}

func pick[T any](all []T, places []int) []T {
	if places == nil {
		return all
	}
	out := make([]T, len(places))
	for i, p := range places {
		out[i] = all[p]
	}
	return out
}

// TogetherOf adds up several accounts of one data set, for people: one is the spend for a unit
// in one slice of each, and life for a unit that is in all slices. The accounts have the same
// units.
func TogetherOf(all []*Account) (one, life string) {
	a, b := all[0].nothing(), all[0].nothing()
	for _, x := range all {
		spent := x.Spent
		if x.Slice.Column != "" {
			spent = largest(x.Largest, x.nothing())
		}
		a, b = sumOf(a, spent), sumOf(b, x.Spent)
	}
	return costText(all[0].Units(), a), costText(all[0].Units(), b)
}
