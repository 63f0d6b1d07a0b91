package ledger

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Elsewhere is the cost of releases that another program made from the data of an account, or
// that another ledger paid for.
type Elsewhere struct {
	Costs []SliceCost // for an account without slices one, with an empty Is
	// Those releases protect neighbours that agree in these columns. The column of the
	// slices need not be named.
	Keeps  []string
	Reason string
}

// SliceCost is the cost of one slice, in the account's units.
type SliceCost struct {
	Is   string
	Cost privacy.Cost
}

// mostInRecord is the most slices that one record of a charge names.
const mostInRecord = 20_000

// Charge adds costs that were spent elsewhere to an account that is open, all of them or
// none: a million slices take one transaction.
//
// # Contract
//
// The limits of the account hold afterwards as after any debit. A slice whose jobs are
// charged together for a table that is itself a sample is refused: the sum of the two is
// not proven. Proof: slices.proof.md.
func (l *Ledger) Charge(ctx context.Context, k Key, e Elsewhere) (*Account, error) {
	return l.amend(ctx, k, func(t *tx, a *Account) error {
		own := e.Keeps
		if a.Slice.Column != "" && a.Relation == privacy.ReplaceOne {
			own = append(slices.Clone(own), a.Slice.Column)
		}
		if err := t.admitted(); err != nil {
			return err
		}
		if len(e.Costs) == 0 {
			return refuse(CodeLimit, "nothing is charged")
		}
		if err := a.fits(e.Costs); err != nil {
			return err
		}
		if err := admitKept(a, own); err != nil {
			return err
		}
		if a.Slice.Column == "" {
			return t.chargeWhole(a, e.Costs[0].Cost, columnSet(own), e.Reason)
		}
		return t.chargeSlices(a, e.Costs, columnSet(own), e.Reason)
	})
}

// fits refuses costs in other units than the account's, and slices without a name.
func (a *Account) fits(costs []SliceCost) error {
	if a.Slice.Column == "" && (len(costs) != 1 || costs[0].Is != "") {
		return refuse(CodeAccount, "the account of %s has no slices", a.Key)
	}
	for _, c := range costs {
		if a.Slice.Column != "" && c.Is == "" {
			return refuse(CodeAccount, "a slice has no name")
		}
		if err := a.SliceKind.suits(c.Is); err != nil {
			return err
		}
		if !a.isCost(c.Cost) {
			return refuse(CodeLimit, "a cost has %s, and none is below 0", strings.Join(a.Units(), ", "))
		}
	}
	return nil
}

// isCost reports whether a cost is in the account's units, with no part below 0.
func (a *Account) isCost(c privacy.Cost) bool {
	return len(c) == len(a.Units()) && !slices.ContainsFunc(c, func(x *big.Rat) bool { return x == nil || x.Sign() < 0 })
}

func (t *tx) chargeWhole(a *Account, cost privacy.Cost, keeps []string, reason string) error {
	if s, err := t.node(CollectedID(a.Key)); err != nil || s != nil {
		return errors.Join(err, elsewhere())
	}
	if err := a.Admit(cost, nil, nil); err != nil {
		return err
	}
	_, err := t.append(&chargeBody{Account: a.ID, Charges: []charged{{Cost: cost}}, Keeps: keeps, reasoned: reasoned{reason}})
	return err
}

// elsewhere refuses a charge beside jobs that are charged together.
func elsewhere() error { return noStep(did[KindCollected], "the charge is for other releases") }

// chargeSlices charges slices bucket by bucket. A record names at most mostInRecord of them, or
// one bucket.
func (t *tx) chargeSlices(a *Account, costs []SliceCost, keeps []string, reason string) error {
	all, err := inBuckets(costs)
	if err != nil {
		return err
	}
	if err := t.readBuckets(a, all); err != nil {
		return err
	}
	limits, err := a.bounds()
	if err != nil {
		return err
	}
	t.books.charged = func(a *Account, cost privacy.Cost) error {
		if limits.within(a) {
			return nil
		}
		return a.keep(&a.Limit, differenceOf(a.InSlice.Spent, cost), cost, "")
	}
	for part := range parts(all, mostInRecord) {
		before := a.Spent
		if _, err := t.append(&chargeBody{Account: a.ID, Charges: grouped(flat(part)), Keeps: keeps, reasoned: reasoned{reason}}); err != nil {
			return err
		}
		if !limits.lives(a) {
			more := differenceOf(a.Spent, before)
			a.Spent = before
			return a.keepLife(a.Lifetime, more, "")
		}
	}
	return nil
}

// price is a cost that many slices may share, and its text.
type price struct {
	cost privacy.Cost
	text []string
}

type sliceCost struct {
	is, spelled string
	*price
}

// bucketCosts are the costs of the slices of one bucket, in the order of their spellings.
type bucketCosts struct {
	name  string
	costs []sliceCost
}

// inBuckets sorts costs by bucket and spelling, and refuses a slice that is there twice.
func inBuckets(costs []SliceCost) ([]bucketCosts, error) {
	prices := map[*big.Rat]*price{} // lists of many slices name one cost again and again
	by := map[string][]sliceCost{}
	for _, c := range costs {
		p := prices[c.Cost[0]]
		if p == nil || &p.cost[0] != &c.Cost[0] {
			p = &price{c.Cost, ratTexts(c.Cost)}
			prices[c.Cost[0]] = p
		}
		name := bucketOf(c.Is)
		by[name] = append(by[name], sliceCost{c.Is, spelled(c.Is), p})
	}
	out := make([]bucketCosts, 0, len(by))
	for name, costs := range by {
		slices.SortFunc(costs, func(x, y sliceCost) int { return strings.Compare(x.spelled, y.spelled) })
		for i := range costs[1:] {
			if costs[i].spelled == costs[i+1].spelled {
				return nil, refuse(CodeAccount, "slice %s is there twice, also as %s", costs[i].is, costs[i+1].is)
			}
		}
		out = append(out, bucketCosts{name, costs})
	}
	slices.SortFunc(out, func(x, y bucketCosts) int { return cmp.Compare(x.name, y.name) })
	return out, nil
}

// readBuckets reads buckets that are to be charged.
func (t *tx) readBuckets(a *Account, all []bucketCosts) error {
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = b.name
	}
	_, err := t.buckets(a.ID, names...)
	return err
}

// flat lists the costs of buckets in their order.
func flat(all []bucketCosts) (out []sliceCost) {
	for _, b := range all {
		out = append(out, b.costs...)
	}
	return out
}

// parts cuts buckets into stretches that end with the bucket in which they reach most slices.
func parts(all []bucketCosts, most int) func(yield func([]bucketCosts) bool) {
	return func(yield func([]bucketCosts) bool) {
		for from := 0; from < len(all); {
			to, n := from, 0
			for ; to < len(all) && n < most; to++ {
				n += len(all[to].costs)
			}
			if !yield(all[from:to]) {
				return
			}
			from = to
		}
	}
}

// chargeBucket charges slices of one bucket, and refuses one that is charged otherwise. It
// asks charged after each slice, but for one that is as the slice before. The account is left
// without a slice.
func (a *Account) chargeBucket(b bucket, costs []sliceCost, charged func(*Account, privacy.Cost) error) (bucket, error) {
	out := make(bucket, 0, len(b)+len(costs))
	times, done := map[*price]int64{}, 0
	var alike *price // of the slice before, which was new: this one spends the same
	for _, c := range costs {
		at, ok := b[done:].find(c.is)
		out = append(out, b[done:done+at]...)
		done += at
		times[c.price]++
		if !ok && c.price == alike {
			out = append(out, storedTally{Is: c.is, Spent: c.text, Debits: 1})
			continue
		}
		after := storedTally{Is: c.is, Spent: c.text, Debits: 1}
		a.Slice.Is, a.InSlice = c.is, Tally{Is: c.is, Spent: c.cost}
		if ok {
			after.Is = b[done].Is // as it was written first
			before, err := b[done].tally(a)
			if err != nil || before.Collected {
				return nil, errors.Join(err, elsewhere())
			}
			a.InSlice.Spent = sumOf(before.Spent, c.cost)
			after.Spent, after.Debits = ratTexts(a.InSlice.Spent), before.Debits+1
			done++
		}
		if charged != nil {
			if err := charged(a, c.cost); err != nil {
				return nil, err
			}
		}
		a.Largest = largest(a.Largest, a.InSlice.Spent)
		if alike = nil; !ok {
			alike = c.price
		}
		out = append(out, after)
	}
	out = append(out, b[done:]...)
	a.Slices += int64(len(out) - len(b))
	a.Debits += int64(len(costs))
	a.Spent = slices.Clone(a.Spent)
	for p, n := range times {
		for i, x := range p.cost {
			a.Spent[i] = new(big.Rat).Add(a.Spent[i], new(big.Rat).Mul(x, new(big.Rat).SetInt64(n)))
		}
	}
	a.Slice.Is, a.InSlice = "", Tally{}
	return out, nil
}

// grouped writes costs with the slices that they are added to.
func grouped(costs []sliceCost) []charged {
	at := map[*price]int{}
	var out []charged
	for _, c := range costs {
		i, ok := at[c.price]
		if !ok {
			i, at[c.price] = len(out), len(out)
			out = append(out, charged{Cost: c.cost})
		}
		out[i].Slices = append(out[i].Slices, c.is)
	}
	return out
}

// ReadCharges reads the costs of slices: CSV with a header, a column slice, and one for each
// of the account's units (epsilon and delta, or rho). A delta that is not there is 0.
func ReadCharges(r io.Reader, units []string) ([]SliceCost, error) {
	lines := csv.NewReader(r)
	lines.ReuseRecord = true
	head, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("line 1: there is no header; it must be slice,%s", strings.Join(units, ","))
	}
	at := make([]int, len(units))
	slice := slices.Index(head, "slice")
	for i, u := range units {
		at[i] = slices.Index(head, u)
		if slice < 0 || at[i] < 0 && u != "delta" || len(head) > 1+len(units) {
			return nil, fmt.Errorf("line 1: the header must be slice,%s", strings.Join(units, ","))
		}
	}
	known := map[string]privacy.Cost{}
	var out []SliceCost
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err // with its line
		}
		key := ""
		for _, i := range at {
			if i >= 0 {
				key += line[i] + ","
			}
		}
		cost, ok := known[key]
		if !ok {
			for k, i := range at {
				amount := new(big.Rat)
				if i >= 0 {
					if amount, err = rational.Parse(line[i]); err != nil {
						n, column := lines.FieldPos(i)
						// P33: without its text
						return nil, fmt.Errorf("line %d, column %d: %s is no amount; write a decimal number such as 0.5 or 1e-6", n, column, units[k])
					}
				}
				cost = append(cost, amount)
			}
			known[key] = cost
		}
		out = append(out, SliceCost{strings.Clone(line[slice]), cost})
	}
}
