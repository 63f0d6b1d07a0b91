package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// Key names an account. Accounts are apart: each has its own limit and its own spend.
type Key struct {
	Dataset  string
	Unit     string
	Relation privacy.Relation
}

func (k Key) String() string {
	return fmt.Sprintf("data set %s (%s, %s)", k.Dataset, k.Unit, k.Relation)
}

// The filters that an account may have (P10).
const (
	Basic = "basic" // adds up ε and δ
	ZCDP  = "zcdp"  // adds up ρ
	RDP   = "rdp"   // adds up Rényi divergences at fixed orders
)

// Limit is an exact (ε, δ).
type Limit struct{ Epsilon, Delta *big.Rat }

func (l Limit) String() string {
	return "ε " + job.FormatAmount(l.Epsilon) + ", δ " + job.FormatAmount(l.Delta)
}

// AtMost reports that no part of l is above that of m.
func (l Limit) AtMost(m Limit) bool {
	return l.Epsilon.Cmp(m.Epsilon) <= 0 && l.Delta.Cmp(m.Delta) <= 0
}

// Opening is what an account is opened with. Filter and orders never change.
type Opening struct {
	Filter     string
	Orders     []float64
	Limit      Limit
	TwoPersons bool // a limit is raised by one person and approved by another
	// Keeps are the columns in which every neighbour that the account protects agrees
	// (P27), sorted; nil where the first job decides it.
	Keeps []string
}

// DefaultOrders are the orders of an rdp account that names none.
func DefaultOrders() []float64 {
	return []float64{1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512}
}

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

// key is what the tree of digests knows the account by.
func (k Key) key() string {
	return "account\n" + k.Dataset + "\n" + k.Unit + "\n" + k.Relation.String()
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

// check refuses an account that cannot work.
func (o Opening) check(rel privacy.Relation) error {
	if o.Limit.Epsilon == nil || o.Limit.Delta == nil || o.Limit.Epsilon.Sign() < 0 || o.Limit.Delta.Sign() < 0 || o.Limit.Delta.Cmp(big.NewRat(1, 1)) > 0 {
		return refuse(CodeLimit, "a limit needs ε of at least 0 and δ from 0 to 1")
	}
	if (o.Filter == RDP) != (len(o.Orders) > 0) {
		return refuse(CodeLimit, "orders belong to an rdp account, and it needs them")
	}
	if _, _, err := o.filter(rel, o.Limit); err != nil {
		return refuse(CodeLimit, "the limit %s does not suit the filter %s: %v", o.Limit, o.Filter, err)
	}
	return nil
}

// filter returns a new filter for a limit. For an rdp account it also returns which of the
// account's orders the filter uses.
func (o Opening) filter(rel privacy.Relation, limit Limit) (privacy.Filter, []int, error) {
	at := privacy.Point{Epsilon: job.Down(limit.Epsilon), Delta: job.Down(limit.Delta)}
	switch o.Filter {
	case Basic:
		f, err := privacy.NewBasicFilter(rel, limit.Epsilon, limit.Delta)
		return f, nil, err
	case ZCDP:
		rho, err := privacy.RhoFor(at)
		if err != nil {
			return nil, nil, err
		}
		f, err := privacy.NewZCDPFilter(rel, rho)
		return f, nil, err
	case RDP:
		f, err := privacy.NewRDPFilter(rel, at, o.Orders)
		if err != nil {
			return nil, nil, err
		}
		var places []int
		for i, k := 0, 0; i < len(o.Orders); i++ {
			if used := f.Orders(); k < len(used) && used[k] == o.Orders[i] {
				places = append(places, i)
				k++
			}
		}
		return f, places, nil
	}
	return nil, nil, fmt.Errorf("there is no filter %q; the filters are %s, %s and %s", o.Filter, Basic, ZCDP, RDP)
}

// Cost returns what an event costs this account. charged is the guarantee that the
// accountant found for the event, rounded up (P17).
func (a *Account) Cost(e privacy.Event, charged privacy.Point) (privacy.Cost, error) {
	var c privacy.Cost
	var err error
	switch a.Filter {
	case Basic:
		eps, delta := new(big.Rat).SetFloat64(charged.Epsilon), new(big.Rat).SetFloat64(charged.Delta)
		if eps == nil || delta == nil {
			return nil, refuse(CodeFilter, "the job has no finite guarantee")
		}
		return privacy.Cost{eps, delta}, nil
	case ZCDP:
		var f *privacy.ZCDPFilter
		if f, err = privacy.NewZCDPFilter(a.Relation, new(big.Rat)); err == nil {
			c, err = f.Cost(e)
		}
	default:
		// All orders, whatever the limit is now: it may be raised.
		var f *privacy.RDPFilter
		if f, err = privacy.NewRDPFilter(a.Relation, privacy.Point{Epsilon: 1e9, Delta: 0.999}, a.Orders); err == nil {
			c, err = f.Cost(e)
		}
	}
	if err == nil && len(c) != len(a.Units()) {
		err = fmt.Errorf("orders without a cost")
	}
	if err != nil {
		return nil, refuse(CodeFilter, "the account of %s adds up with the filter %s, which cannot charge this job: %v", a.Key, a.Filter, err)
	}
	return c, nil
}

// admit refuses a cost that, added to what is spent, exceeds a limit. It also returns what
// is left and allowed, in units.
func (a *Account) admit(c privacy.Cost, limit Limit) (left, whole privacy.Cost, units []string, err error) {
	f, places, err := a.filter(a.Relation, limit)
	if err != nil {
		return nil, nil, nil, refuse(CodeLimit, "the limit %s does not suit the filter %s: %v", limit, a.Filter, err)
	}
	units = pick(a.Units(), places)
	whole = f.Remaining()
	spent, cost := pick(a.Spent, places), pick(c, places)
	together := make(privacy.Cost, len(spent))
	left = make(privacy.Cost, len(spent))
	for i := range spent {
		together[i] = new(big.Rat).Add(spent[i], cost[i])
		left[i] = new(big.Rat).Sub(whole[i], spent[i])
	}
	return left, whole, units, f.Spend(together)
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

// Amount is the exact state of one of the account's units.
type Amount struct {
	Unit               string
	Limit, Spent, Left *big.Rat // Left is never below 0
}

// Rest returns what is left, to be printed. It is 0 if less than a millionth of the limit
// is left, so that an account is called spent after a job that was planned to use it up.
func (m Amount) Rest() *big.Rat {
	if new(big.Rat).Mul(m.Left, big.NewRat(1e6, 1)).Cmp(m.Limit) < 0 {
		return new(big.Rat)
	}
	return m.Left
}

// Amounts returns the state of the account under a limit. For an rdp account it has the
// orders that can keep within the limit; staying within one of them is enough.
func (a *Account) Amounts(limit Limit) []Amount {
	f, places, err := a.filter(a.Relation, limit)
	if err != nil {
		return nil
	}
	whole, spent, units := f.Remaining(), pick(a.Spent, places), pick(a.Units(), places)
	out := make([]Amount, len(whole))
	for i := range out {
		left := new(big.Rat).Sub(whole[i], spent[i])
		if left.Sign() < 0 {
			left.SetInt64(0)
		}
		out[i] = Amount{Unit: units[i], Limit: whole[i], Spent: spent[i], Left: left}
	}
	return out
}

// Admit refuses a cost that does not fit under the account's limit, or under the
// job's own, and says by how much and what would fit.
func (a *Account) Admit(c privacy.Cost, own *Limit) error {
	limits := []Limit{a.Limit}
	names := []string{"the account of " + a.Key.String()}
	if own != nil {
		limits, names = append(limits, *own), append(names, "budget.limit of the job")
	}
	for i, limit := range limits {
		left, whole, units, err := a.admit(c, limit)
		switch {
		case errors.Is(err, privacy.ErrExhausted):
			return refuse(CodeExhausted, "%s allows %s: %s", names[i], limit, shortfall(units, pick(c, a.places(limit)), left, whole, a.Filter == RDP))
		case err != nil:
			return err
		}
	}
	return nil
}

// Within refuses a guarantee above a job's own limit, and says by how much and what
// would fit.
func Within(limit Limit, charged privacy.Point) error {
	a := &Account{Opening: Opening{Filter: Basic, Limit: limit}, Spent: privacy.Cost{new(big.Rat), new(big.Rat)}}
	a.Relation = privacy.AddRemove // of no consequence for adding up
	cost, err := a.Cost(nil, charged)
	if err != nil {
		return err
	}
	left, whole, units, err := a.admit(cost, limit)
	if errors.Is(err, privacy.ErrExhausted) {
		return refuse(CodeExhausted, "budget.limit of the job allows %s: %s", limit, shortfall(units, cost, left, whole, false))
	}
	return err
}

func (a *Account) places(limit Limit) []int {
	_, places, _ := a.filter(a.Relation, limit)
	return places
}

// shortfall says by how much a cost exceeds what is left, and what would fit.
func shortfall(units []string, cost, left, whole privacy.Cost, any bool) string {
	var over []string
	var best *big.Rat // the largest factor at which the job would fit
	for i := range units {
		if cost[i].Sign() == 0 {
			continue
		}
		rest := Amount{Limit: whole[i], Left: left[i]}.Rest() // 0 where more is spent than allowed
		f := new(big.Rat).Quo(rest, cost[i])
		if best == nil || any == (f.Cmp(best) > 0) {
			best = f
		}
		switch d := new(big.Rat).Sub(cost[i], left[i]); {
		case d.Sign() <= 0 || any && len(over) > 0:
		case whole[i].Sign() == 0:
			over = append(over, fmt.Sprintf("the job needs %s %s and the limit allows none", symbol(units[i]), Up(cost[i])))
		case rest.Sign() == 0:
			over = append(over, fmt.Sprintf("the job needs %s %s and the budget is spent", symbol(units[i]), Up(cost[i])))
		default:
			over = append(over, fmt.Sprintf("the job needs %s %s and %s is left, %s too little", symbol(units[i]), Up(cost[i]), Down(rest), Up(d)))
		}
	}
	text := strings.Join(over, "; ")
	if best == nil || best.Sign() <= 0 {
		return text + "; nothing is left for any job, unless the limit is raised"
	}
	return text + fmt.Sprintf("; a job that costs at most %s times as much would fit, for example this one with all its guarantees multiplied by that", Down(best))
}

// symbol is how people write a unit.
func symbol(unit string) string {
	if s, ok := map[string]string{"epsilon": "ε", "delta": "δ", "rho": "ρ"}[unit]; ok {
		return s
	}
	return unit
}

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
