package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Cost returns what an event costs this account. charged is the guarantee that the
// accountant found for the event, rounded up (P17).
func (a *Account) Cost(e privacy.Event, charged privacy.Point) (privacy.Cost, error) {
	var f privacy.Filter
	var c privacy.Cost
	var err error
	switch a.Filter {
	case Basic:
		exact := exactly(charged)
		if !exact.Finite() {
			return nil, refuse(CodeFilter, "the job has no finite guarantee")
		}
		return privacy.Cost{exact.Epsilon, exact.Delta}, nil
	case ZCDP:
		f, err = privacy.NewZCDPFilter(a.Relation, new(big.Rat))
	default:
		// All orders, whatever the limit is now: it may be raised.
		f, err = privacy.NewRDPFilter(a.Relation, privacy.Point{Epsilon: 1e9, Delta: 0.999}, a.Orders)
	}
	if err == nil {
		c, err = f.Cost(e)
	}
	if err == nil && len(c) != len(a.Units()) {
		err = fmt.Errorf("orders without a cost")
	}
	if err != nil {
		return nil, refuse(CodeFilter, "the account of %s adds up with the filter %s, which cannot charge this job: %v", a.Key, a.Filter, err)
	}
	return c, nil
}

// bound is a limit in the units of an account.
type bound struct {
	units  []string
	most   privacy.Cost // of each of the units
	places []int        // which of the account's units they are, nil for all
	any    bool         // staying within one of them is enough
}

func (a *Account) bound(l Limit) (*bound, error) {
	f, places, err := a.filter(a.Relation, l)
	if err != nil {
		return nil, unsuited(l, a.Filter, err)
	}
	return &bound{pick(a.Units(), places), f.Remaining(), places, a.Filter == RDP}, nil
}

// holds reports whether what is spent keeps within the limit. It compares as the filters of
// package privacy do, exactly.
func (b *bound) holds(spent privacy.Cost) bool {
	kept := 0
	for i, x := range pick(spent, b.places) {
		if x.Cmp(b.most[i]) <= 0 {
			kept++
		}
	}
	return kept == len(b.most) || b.any && kept > 0
}

// amounts are the limit, what is spent and what is left, unit by unit.
func (b *bound) amounts(spent privacy.Cost) []Amount {
	out := make([]Amount, len(b.most))
	for i, x := range pick(spent, b.places) {
		left := new(big.Rat).Sub(b.most[i], x)
		if left.Sign() < 0 {
			left.SetInt64(0)
		}
		out[i] = Amount{Unit: b.units[i], Limit: b.most[i], Spent: x, Left: left}
	}
	return out
}

// bounds are the limits of an account. life is nil where there is no limit over all slices.
type bounds struct{ one, life *bound }

func (a *Account) bounds() (out bounds, err error) {
	if out.one, err = a.bound(a.Limit); err == nil && a.Lifetime != nil {
		out.life, err = a.bound(*a.Lifetime)
	}
	return out, err
}

// within reports whether the account, or the slice that its key names, keeps within its limit.
func (b bounds) within(a *Account) bool { return b.one.holds(a.bounded()) }

// lives reports whether all slices together keep within theirs.
func (b bounds) lives(a *Account) bool { return b.life == nil || b.life.holds(a.Spent) }

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

// Amounts returns what of the account's limit is spent and left. For an rdp account it has
// the orders that can keep within the limit, the one with the largest share left first;
// staying within one of them is enough. In an account with slices it is about the slice that
// the key names, or else about the largest.
func (a *Account) Amounts() []Amount {
	if a.Slice.Column != "" && a.Slice.Is == "" {
		return a.LargestSlice()
	}
	return a.amounts(a.Limit, a.bounded())
}

// LargestSlice returns what the largest slice has spent, unit by unit: what a unit in one
// slice has spent (P26).
func (a *Account) LargestSlice() []Amount {
	return a.amounts(a.Limit, largest(a.Largest, a.nothing()))
}

// Life returns what all slices together have spent, for a unit that is in each of them
// (P26), under the limit over all slices; Limit and Left are nil where there is none.
func (a *Account) Life() []Amount {
	if a.Lifetime != nil {
		return a.amounts(*a.Lifetime, a.Spent)
	}
	out := make([]Amount, len(a.Spent))
	for i, unit := range a.Units() {
		out[i] = Amount{Unit: unit, Spent: a.Spent[i]}
	}
	return out
}

func (a *Account) amounts(limit Limit, spent privacy.Cost) []Amount {
	b, err := a.bound(limit)
	if err != nil {
		return nil
	}
	out := b.amounts(spent)
	if b.any {
		slices.SortStableFunc(out, func(x, y Amount) int { return y.share().Cmp(x.share()) })
	}
	return out
}

// share is the part of the limit that is left.
func (m Amount) share() *big.Rat {
	if m.Limit.Sign() <= 0 {
		return new(big.Rat)
	}
	return new(big.Rat).Quo(m.Left, m.Limit)
}

// Admit refuses a cost that does not fit under one of the limits: the account's, the
// job's own, and over all slices those of both. It says by how much and what would fit.
func (a *Account) Admit(c privacy.Cost, own, ownLife *Limit) error {
	return cmp.Or(a.keepOne(a.bounded(), c, own), a.keepAll(c, ownLife))
}

// keepOne asks the limits of an account without slices, or of one slice.
func (a *Account) keepOne(spent, c privacy.Cost, own *Limit) error {
	return cmp.Or(a.asked(own, false, a.keep(&a.Limit, spent, c, "")), a.keep(own, spent, c, "the job"))
}

// keepAll asks the limits over all slices.
func (a *Account) keepAll(c privacy.Cost, own *Limit) error {
	return cmp.Or(a.asked(own, true, a.keepLife(a.Lifetime, c, "")), a.keepLife(own, c, "the job"))
}

// Spend charges a price to a copy of an account, or refuses one that does not fit. It is for a forecast: of a series only the
// slice of the account's key is compared with what slices have spent.
func (a *Account) Spend(p *Priced, own, ownLife *Limit) error {
	if len(p.Slices) == 0 {
		if err := a.Admit(p.Cost, own, ownLife); err != nil {
			return err
		}
		a.Charge(p.Cost)
		return nil
	}
	for _, c := range p.Slices {
		if err := a.keepOne(a.nothing(), c.Cost, own); err != nil {
			return err
		}
	}
	if err := a.keepAll(p.Cost, ownLife); err != nil {
		return err
	}
	before := a.Spent
	for _, c := range p.Slices {
		if c.Is == a.Slice.Is {
			a.Charge(c.Cost)
		} else {
			a.Largest = largest(a.Largest, c.Cost)
		}
	}
	a.Slices = max(a.Slices, int64(len(p.Slices)))
	a.Spent = sumOf(before, p.Cost)
	return nil
}

// asked adds to a refusal that a job with a larger limit does not raise that of the account.
func (a *Account) asked(own *Limit, life bool, err error) error {
	limit, key, flag := a.limitOf(life), "budget.limit", ""
	if life {
		key, flag = "budget.lifetime", " --lifetime"
	}
	var known *Error
	if !errors.As(err, &known) || own == nil || own.AtMost(*limit) || !limit.AtMost(*own) {
		return err
	}
	return refuse(known.Code, "%s; %s of the job (%s) does not raise the limit of the account: dprelease ledger raise %s%s %s --reason "+
		"TEXT does", known.Message, key, own, a.account().flags(""), flag, flagsOf(*own))
}

// flagsOf are the flags of ledger raise that name a limit.
func flagsOf(l Limit) string {
	if l.Rho != nil {
		return "--rho " + rational.Format(l.Rho)
	}
	return "--epsilon " + rational.Format(l.Epsilon) + " --delta " + rational.Format(l.Delta)
}

// keep refuses a cost above a limit, which is nil for none.
func (a *Account) keep(l *Limit, spent, c privacy.Cost, job string) error {
	whose, of := "the account of "+a.Key.String(), ""
	if job != "" {
		whose = "budget.limit of " + job
	}
	if a.Slice.Column != "" {
		of = " for each slice"
	}
	return a.exceeds(l, spent, c, whose, of)
}

// keepLife refuses a cost above a limit over all slices.
func (a *Account) keepLife(l *Limit, c privacy.Cost, job string) error {
	whose := "the account of " + a.account().String()
	if job != "" {
		whose = "budget.lifetime of " + job
	}
	return a.exceeds(l, a.Spent, c, whose, " for all slices together")
}

func (a *Account) exceeds(l *Limit, spent, c privacy.Cost, whose, of string) error {
	if l == nil {
		return nil
	}
	b, err := a.bound(*l)
	if err != nil || b.holds(sumOf(spent, c)) {
		return err
	}
	return refuse(CodeExhausted, "%s allows %s%s: %s", whose, l, of, shortfall(b.amounts(spent), pick(c, b.places), b.any))
}

// Own refuses a cost above the job's own limit.
func (a *Account) Own(limit Limit, c privacy.Cost) error {
	return a.keep(&limit, a.bounded(), c, "the job")
}

// Within refuses a guarantee above a job's own limit in ε and δ, and says by how much and
// what would fit.
func Within(limit Limit, charged privacy.Point) error {
	a := Unopened(Key{Relation: privacy.AddRemove}, Opening{Filter: Basic, Limit: limit}) // adding up asks for no relation
	cost, err := a.Cost(nil, charged)
	if err != nil {
		return err
	}
	return a.Own(limit, cost)
}

// shortfall says by how much a cost exceeds what is left, and what would fit. Where one of the
// amounts is enough, it is about the one in which most of the job would fit.
func shortfall(amounts []Amount, cost privacy.Cost, any bool) string {
	var over, gone, still []string
	var best *big.Rat // the largest factor at which the job would fit
	for i, m := range amounts {
		rest := m.Rest()
		if rest.Sign() > 0 {
			still = append(still, symbol(m.Unit)+" "+Down(rest))
		}
		if cost[i].Sign() == 0 {
			continue
		}
		if f := new(big.Rat).Quo(rest, cost[i]); best == nil || any == (f.Cmp(best) > 0) {
			best = f
			if any {
				over = nil
			}
		}
		if rest.Sign() == 0 {
			gone = append(gone, symbol(m.Unit))
		}
		if d := new(big.Rat).Sub(cost[i], m.Left); d.Sign() > 0 && (!any || over == nil) {
			over = append(over, fmt.Sprintf("the job needs %s %s and ", symbol(m.Unit), Up(cost[i]))+m.lacks(d))
		}
	}
	text := strings.Join(over, "; ")
	switch {
	case best != nil && best.Sign() > 0:
		return text + fmt.Sprintf("; a job that costs at most %s times as much would fit, for example this one with all its guarantees "+
			"multiplied by that", Down(best))
	case any || len(still) == 0:
		return text + "; nothing is left for any job, unless the limit is raised"
	}
	return text + fmt.Sprintf("; a job that needs no %s can still spend %s", strings.Join(gone, " and no "), strings.Join(still, ", "))
}

// lacks describes what is left of an amount for a job that needs d more than that.
func (m Amount) lacks(d *big.Rat) string {
	switch rest := m.Rest(); {
	case m.Limit.Sign() == 0:
		return "the limit allows none"
	case rest.Sign() == 0:
		return "the budget is spent"
	default:
		return fmt.Sprintf("%s is left, %s too little", Down(rest), Up(d))
	}
}

// symbol returns the sign that people write for a unit.
func symbol(unit string) string {
	if s, ok := map[string]string{"epsilon": "ε", "delta": "δ", "rho": "ρ"}[unit]; ok {
		return s
	}
	return unit
}
