package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Account is the state of one account.
type Account struct {
	ID int64 // the record that opened it
	Key
	Opening
	Spent   privacy.Cost // in Units; at all orders of an rdp account
	Debits  int64
	Acts    int64     // records that changed the account, the one that opened it included
	Pending *Proposal // waits for a second person; nil where nothing does

	last int64 // the newest of those records
}

// Balance is the state of an account after a record that changed it. Amounts are exact.
type Balance struct {
	Account    int64     `json:"account"`
	Acts       int64     `json:"acts"`
	Debits     int64     `json:"debits"`
	Spent      []string  `json:"spent"`
	Epsilon    string    `json:"limit_epsilon"`
	Delta      string    `json:"limit_delta"`
	TwoPersons bool      `json:"two_persons,omitempty"`
	Keeps      []string  `json:"keeps,omitzero"` // nil where the first job decides it
	Pending    *Proposal `json:"pending,omitempty"`
}

func (a *Account) balance() Balance {
	return Balance{Account: a.ID, Acts: a.Acts, Debits: a.Debits, Spent: ratTexts(a.Spent),
		Epsilon: a.Limit.Epsilon.RatString(), Delta: a.Limit.Delta.RatString(), TwoPersons: a.TwoPersons, Keeps: a.Keeps, Pending: a.Pending}
}

// row is everything that is stored of the account. The tree of digests commits to it. A
// field that a later version adds must be left out where it is empty: the roots in older
// records are of rows without it.
func (a *Account) row() any {
	return struct {
		Key    string
		Filter string
		Orders []float64 `json:",omitempty"`
		Last   int64
		Balance
	}{a.key(), a.Filter, a.Orders, a.last, a.balance()}
}

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

// agrees says where a row disagrees with the newest record of its account, "" for
// nowhere.
func (a *Account) agrees(r *Record, ledger string) string {
	var s stamp
	if r.Seq == 0 || hashRecord(ledger, r) != r.Hash || json.Unmarshal([]byte(r.Body), &s) != nil {
		return fmt.Sprintf("its record %d is missing or was changed", a.last)
	}
	for _, b := range s.After {
		if b.Account != a.ID {
			continue
		}
		row := a.balance()
		for _, c := range []struct{ what, row, chain string }{
			{"spent", amountsText(row.Spent), amountsText(b.Spent)},
			{"limit", limitText(row), limitText(b)},
			{"number of debits", fmt.Sprint(row.Debits), fmt.Sprint(b.Debits)},
			{"number of records", fmt.Sprint(row.Acts), fmt.Sprint(b.Acts)},
			{"rule for a second person", fmt.Sprint(row.TwoPersons), fmt.Sprint(b.TwoPersons)},
			{"kept columns", keepsText(row.Keeps), keepsText(b.Keeps)},
		} {
			if c.row != c.chain {
				return fmt.Sprintf("its row says %s %s, record %d of the chain says %s", c.what, c.row, r.Seq, c.chain)
			}
		}
		return ""
	}
	return fmt.Sprintf("record %d is not about it", r.Seq)
}

// amountsText writes exact amounts for people.
func amountsText(all []string) string {
	out := make([]string, len(all))
	for i, text := range all {
		out[i] = text
		if r, err := parseRat(text); err == nil {
			out[i] = Up(r)
		}
	}
	return strings.Join(out, ", ")
}

func limitText(b Balance) string { return amountsText([]string{b.Epsilon, b.Delta}) }

const accountColumns = "a.id, a.dataset, a.unit, a.relation, a.filter, a.orders, a.limit_epsilon, a.limit_delta, a.spent, a.debits, a.acts, a.last, a.two_persons, a.pending, a.keeps"

type scanner interface{ Scan(...any) error }

func scanAccount(s scanner) (*Account, error) {
	var a Account
	var rel, orders, eps, delta, spent, pending, keeps string
	var two int64
	if err := s.Scan(&a.ID, &a.Dataset, &a.Unit, &rel, &a.Filter, &orders, &eps, &delta, &spent, &a.Debits, &a.Acts, &a.last, &two, &pending, &keeps); err != nil {
		return nil, err
	}
	var texts []string
	err := errors.Join(a.Relation.UnmarshalText([]byte(rel)), json.Unmarshal([]byte(orders), &a.Orders), json.Unmarshal([]byte(spent), &texts))
	if err == nil && pending != "" {
		err = json.Unmarshal([]byte(pending), &a.Pending)
	}
	if err == nil && keeps != "" {
		err = json.Unmarshal([]byte(keeps), &a.Keeps)
	}
	if err == nil {
		a.Limit, err = parseLimit(eps, delta)
	}
	if err == nil {
		a.Spent, err = parseRats(texts)
	}
	a.TwoPersons = two != 0
	if err != nil || len(a.Spent) != len(a.Units()) {
		return nil, refuse(CodeTampered, "an account cannot be read")
	}
	return &a, nil
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
