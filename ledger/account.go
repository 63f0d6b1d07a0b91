package ledger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// Key names an account: what is spent on one is never set off against another.
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
	Filter string
	Orders []float64
	Limit  Limit
	// Keeps are the columns in which every neighbour that the account protects agrees
	// (P27), nil where the first job shall decide it.
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
	Spent  privacy.Cost // in Units; at all orders of an rdp account
	Debits int64
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

// filter is a fresh filter that keeps within a limit, and for an rdp account the
// places of its orders among all of them.
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

// Cost is what an event costs this account. charged is the guarantee that the
// accountant found for it, rounded up (P17).
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

// admit says whether a cost fits under a limit, after what is spent.
func (a *Account) admit(c privacy.Cost, limit Limit) (left privacy.Cost, units []string, err error) {
	f, places, err := a.filter(a.Relation, limit)
	if err != nil {
		return nil, nil, refuse(CodeLimit, "the limit %s does not suit the filter %s: %v", limit, a.Filter, err)
	}
	units = pick(a.Units(), places)
	whole := f.Remaining()
	spent, cost := pick(a.Spent, places), pick(c, places)
	together := make(privacy.Cost, len(spent))
	left = make(privacy.Cost, len(spent))
	for i := range spent {
		together[i] = new(big.Rat).Add(spent[i], cost[i])
		left[i] = new(big.Rat).Sub(whole[i], spent[i])
	}
	return left, units, f.Spend(together)
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

// Amount is one part of an account's arithmetic, exact.
type Amount struct {
	Unit               string
	Limit, Spent, Left *big.Rat // Left is never below 0
}

// Amounts is the state of the account under a limit. Of an rdp account, the orders
// that can keep within the limit; staying within one of them is enough.
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
		left, units, err := a.admit(c, limit)
		switch {
		case errors.Is(err, privacy.ErrExhausted):
			return refuse(CodeExhausted, "%s allows %s: %s", names[i], limit, shortfall(units, pick(c, a.places(limit)), left, a.Filter == RDP))
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
	left, units, err := a.admit(cost, limit)
	if errors.Is(err, privacy.ErrExhausted) {
		return refuse(CodeExhausted, "budget.limit of the job allows %s: %s", limit, shortfall(units, cost, left, false))
	}
	return err
}

func (a *Account) places(limit Limit) []int {
	_, places, _ := a.filter(a.Relation, limit)
	return places
}

// shortfall says by how much a cost exceeds what is left, and what would fit.
func shortfall(units []string, cost, left privacy.Cost, any bool) string {
	var over []string
	var best *big.Rat // the largest factor at which the job would fit
	for i := range units {
		l := left[i]
		if l.Sign() < 0 {
			l = new(big.Rat)
		}
		if cost[i].Sign() == 0 {
			continue
		}
		f := new(big.Rat).Quo(l, cost[i])
		if best == nil || any == (f.Cmp(best) > 0) {
			best = f
		}
		if d := new(big.Rat).Sub(cost[i], l); d.Sign() > 0 && (!any || len(over) == 0) {
			over = append(over, fmt.Sprintf("the job needs %s %s and %s is left, %s too little", symbol(units[i]), Up(cost[i]), Down(l), Up(d)))
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

// Up prints an amount with six significant digits, rounded up: spends are.
func Up(r *big.Rat) string { return rounded(r, big.ToPositiveInf) }

// Down prints an amount with six significant digits, rounded down: what is left is.
func Down(r *big.Rat) string { return rounded(r, big.ToZero) }

func rounded(r *big.Rat, mode big.RoundingMode) string {
	exact := job.FormatAmount(r)
	if len(exact) <= 8 {
		return exact
	}
	// Six decimal digits: scale to an integer, round, scale back.
	if r.Sign() == 0 {
		return "0"
	}
	f, _ := new(big.Float).SetPrec(200).SetRat(r).Float64()
	exp := 0
	fmt.Sscanf(fmt.Sprintf("%.0e", f)[strings.Index(fmt.Sprintf("%.0e", f), "e")+1:], "%d", &exp)
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(exp-5))), nil))
	if exp-5 > 0 {
		scale.Inv(scale)
	}
	x := new(big.Rat).Mul(r, scale)
	q, rem := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if mode == big.ToPositiveInf && rem.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	out := new(big.Rat).Quo(new(big.Rat).SetInt(q), scale)
	if n, exact := out.FloatPrec(); exact && n > 0 && n <= plainDecimals {
		return out.FloatString(n)
	}
	return job.FormatAmount(out)
}

// plainDecimals is how many decimals people read without an exponent.
const plainDecimals = 9

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func ratTexts(c []*big.Rat) []string {
	out := make([]string, len(c))
	for i, x := range c {
		out[i] = x.RatString()
	}
	return out
}

func parseRat(text string) (*big.Rat, error) {
	// An exponent could ask for any amount of memory.
	if len(text) > 1<<14 || strings.ContainsAny(text, "eEpP") {
		return nil, fmt.Errorf("not an amount")
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("not an amount")
	}
	return r, nil
}

func parseRats(texts []string) (privacy.Cost, error) {
	out := make(privacy.Cost, len(texts))
	for i, s := range texts {
		var err error
		if out[i], err = parseRat(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const accountColumns = "id, dataset, unit, relation, filter, orders, limit_epsilon, limit_delta, spent, debits"

type scanner interface{ Scan(...any) error }

func scanAccount(s scanner) (*Account, error) {
	var a Account
	var rel, orders, eps, delta, spent string
	if err := s.Scan(&a.ID, &a.Dataset, &a.Unit, &rel, &a.Filter, &orders, &eps, &delta, &spent, &a.Debits); err != nil {
		return nil, err
	}
	var texts []string
	err := errors.Join(a.Relation.UnmarshalText([]byte(rel)), json.Unmarshal([]byte(orders), &a.Orders), json.Unmarshal([]byte(spent), &texts))
	if err == nil {
		a.Limit, err = parseLimit(eps, delta)
	}
	if err == nil {
		a.Spent, err = parseRats(texts)
	}
	if err != nil || len(a.Spent) != len(a.Units()) {
		return nil, refuse(CodeTampered, "an account cannot be read")
	}
	return &a, nil
}

func parseLimit(eps, delta string) (l Limit, err error) {
	if l.Epsilon, err = parseRat(eps); err == nil {
		l.Delta, err = parseRat(delta)
	}
	return l, err
}

// account finds an account, nil where there is none.
func (t *tx) account(k Key) (*Account, error) {
	a, err := scanAccount(t.row("SELECT "+accountColumns+" FROM dprelease_accounts WHERE dataset = ? AND unit = ? AND relation = ?", k.Dataset, k.Unit, k.Relation.String()))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return a, err
}

// open opens an account.
func (t *tx) open(k Key, o Opening) (*Account, error) {
	if k.Dataset == "" || k.Unit == "" || !k.Relation.Valid() {
		return nil, refuse(CodeAccount, "an account needs a data set, a unit of privacy and a relation")
	}
	if err := o.check(k.Relation); err != nil {
		return nil, err
	}
	body := &accountBody{Dataset: k.Dataset, Unit: k.Unit, Relation: k.Relation.String(),
		Filter: o.Filter, Orders: o.Orders, Epsilon: o.Limit.Epsilon.RatString(), Delta: o.Limit.Delta.RatString()}
	if o.Keeps != nil {
		columns := columnSet(o.Keeps)
		body.Keeps = &columns
	}
	r, err := t.append(kindAccount, body)
	if err == nil && o.Keeps != nil {
		err = t.putKeeps(r.Seq, r.Seq, *body.Keeps)
	}
	if err != nil {
		return nil, err
	}
	a := &Account{ID: r.Seq, Key: k, Opening: o}
	for range a.Units() {
		a.Spent = append(a.Spent, new(big.Rat))
	}
	orders, err := encode(o.Orders)
	if err != nil {
		return nil, err
	}
	spent, err := encode(ratTexts(a.Spent))
	if err != nil {
		return nil, err
	}
	return a, t.exec("INSERT INTO dprelease_accounts ("+accountColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
		a.ID, k.Dataset, k.Unit, k.Relation.String(), o.Filter, orders, o.Limit.Epsilon.RatString(), o.Limit.Delta.RatString(), spent)
}
