package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Cost returns what an event costs this account. charged is the guarantee that the
// accountant found for the event, rounded up (P17).
func (a *Account) Cost(e privacy.Event, charged privacy.Point) (privacy.Cost, error) {
	var c privacy.Cost
	var err error
	switch a.Filter {
	case Basic:
		eps, delta := new(big.Rat).SetFloat64(charged.Epsilon), new(big.Rat).SetFloat64(charged.Delta)
		if eps == nil || delta == nil || eps.Sign() < 0 || delta.Sign() < 0 {
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
func (a *Account) admit(c, spent privacy.Cost, limit Limit) (left, whole privacy.Cost, units []string, err error) {
	f, places, err := a.filter(a.Relation, limit)
	if err != nil {
		return nil, nil, nil, unsuited(limit, a.Filter, err)
	}
	units = pick(a.Units(), places)
	whole = f.Remaining()
	spent = pick(spent, places)
	cost := pick(c, places)
	together := make(privacy.Cost, len(spent))
	left = make(privacy.Cost, len(spent))
	for i := range spent {
		together[i] = new(big.Rat).Add(spent[i], cost[i])
		left[i] = new(big.Rat).Sub(whole[i], spent[i])
	}
	return left, whole, units, f.Spend(together)
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

// Amounts returns what of the account's limit is spent and left. For an rdp account it has
// the orders that can keep within the limit; staying within one of them is enough. In an
// account with slices it is about the slice that the key names, or else about the largest.
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
	f, places, err := a.filter(a.Relation, limit)
	if err != nil {
		return nil
	}
	whole, units := f.Remaining(), pick(a.Units(), places)
	spent = pick(spent, places)
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

// Admit refuses a cost that does not fit under one of the limits: the account's, the
// job's own, and over all slices those of both. It says by how much and what would fit.
func (a *Account) Admit(c privacy.Cost, own, ownLife *Limit) error {
	const mine = "the job"
	return cmp.Or(a.keep(&a.Limit, a.bounded(), c, ""), a.keep(own, a.bounded(), c, mine), a.keepLife(a.Lifetime, c, ""), a.keepLife(ownLife, c, mine))
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
	left, whole, units, err := a.admit(c, spent, *l)
	if errors.Is(err, privacy.ErrExhausted) {
		return refuse(CodeExhausted, "%s allows %s%s: %s", whose, l, of, shortfall(units, pick(c, a.places(*l)), left, whole, a.Filter == RDP))
	}
	return err
}

// bound is what one of an account's limits means in its units.
type bound struct {
	most   privacy.Cost
	places []int
	life   bool // over all slices
}

func (a *Account) bounds() ([]bound, error) {
	var out []bound
	for i, l := range []*Limit{&a.Limit, a.Lifetime} {
		if l == nil {
			continue
		}
		f, places, err := a.filter(a.Relation, *l)
		if err != nil {
			return nil, err
		}
		out = append(out, bound{most: f.Remaining(), places: places, life: i == 1})
	}
	return out, nil
}

// within says whether what is spent keeps the limit, or the one over all slices.
func (a *Account) within(limits []bound, life bool) bool {
	for _, b := range limits {
		if b.life != life {
			continue
		}
		spent := a.bounded()
		if life {
			spent = a.Spent
		}
		spent = pick(spent, b.places)
		kept := 0
		for i, most := range b.most {
			if spent[i].Cmp(most) <= 0 {
				kept++
			}
		}
		if kept < len(spent) && (a.Filter != RDP || kept == 0) {
			return false
		}
	}
	return true
}

// Own refuses a cost above a job's own limit.
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
