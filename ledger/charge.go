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

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

const kindCharge = "charge"

// chargeBody adds what releases cost that were made elsewhere.
type chargeBody struct {
	stamp
	Account int64     `json:"account"`
	Charges []charged `json:"charges"`
	Keeps   []string  `json:"keeps,omitempty"` // in which the neighbours that they protect agree
	Reason  string    `json:"reason"`
}

// charged is one cost, and the slices that it is added to: none in an account without.
type charged struct {
	Cost   []string `json:"cost"` // exact, in the account's units
	Slices []string `json:"slices,omitempty"`
}

// Elsewhere is what releases cost that another program or another ledger made from the data
// of an account.
type Elsewhere struct {
	Costs []SliceCost // for an account without slices one, with an empty Is
	// Keeps are the columns in which the neighbours agree that those releases protect; the
	// column of the slices need not be named.
	Keeps  []string
	Reason string
}

// SliceCost is the cost of one slice, in the account's units.
type SliceCost struct {
	Is   string
	Cost privacy.Cost
}

// mostInRecord is how many slices one record of a charge names.
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
		switch {
		case t.state.refused != "":
			return t.rolledBack()
		case strings.TrimSpace(e.Reason) == "":
			return errNoReason
		case len(e.Costs) == 0:
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

// fits refuses costs that are none, or slices that are none or there twice.
func (a *Account) fits(costs []SliceCost) error {
	units := len(a.Units())
	if a.Slice.Column == "" && (len(costs) != 1 || costs[0].Is != "") {
		return refuse(CodeAccount, "the account of %s has no slices", a.Key)
	}
	seen := make(map[string]bool, len(costs))
	for _, c := range costs {
		if a.Slice.Column != "" && (c.Is == "" || seen[c.Is]) {
			return refuse(CodeAccount, "slice %q has no name, or is there twice", c.Is)
		}
		seen[c.Is] = true
		if len(c.Cost) != units || slices.ContainsFunc(c.Cost, func(x *big.Rat) bool { return x == nil || x.Sign() < 0 }) {
			return refuse(CodeLimit, "a cost has %s, and none is below 0", strings.Join(a.Units(), ", "))
		}
	}
	return nil
}

func (t *tx) chargeWhole(a *Account, cost privacy.Cost, keeps []string, reason string) error {
	if s, err := t.sample(CollectedID(a.Key)); err != nil || s != nil {
		return errors.Join(err, collectedElsewhere(a.Key))
	}
	if err := a.Admit(cost, nil, nil); err != nil {
		return err
	}
	a.Charge(cost)
	_, err := t.append(kindCharge, &chargeBody{Account: a.ID, Charges: []charged{{Cost: ratTexts(cost)}}, Keeps: keeps, Reason: reason}, a)
	return err
}

func collectedElsewhere(k Key) *Error {
	return refuse(CodeSample, "the jobs on %s are charged together for a table that is itself a sample: the sum with other releases is not proven", k)
}

// chargeSlices charges slices bucket by bucket, a record for so many of them.
func (t *tx) chargeSlices(a *Account, costs []SliceCost, keeps []string, reason string) error {
	all := inBuckets(costs)
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = b.name
	}
	there, err := t.buckets(a.ID, names...)
	if err != nil {
		return err
	}
	limits, err := a.bounds()
	if err != nil {
		return err
	}
	for part := range parts(all, mostInRecord) {
		before, changed := a.Spent, map[string]bucket{}
		var flat []SliceCost
		for _, b := range part {
			after, over := a.chargeBucket(there[b.name], b.costs, limits)
			if over != nil {
				return over
			}
			there[b.name], changed[b.name] = after, after
			flat = append(flat, b.costs...)
		}
		if !a.within(limits, true) {
			more := differenceOf(a.Spent, before)
			a.Spent = before
			return a.keepLife(a.Lifetime, more, "")
		}
		if err := t.saveBuckets(a.ID, changed); err != nil {
			return err
		}
		if _, err := t.append(kindCharge, &chargeBody{Account: a.ID, Charges: grouped(flat), Keeps: keeps, Reason: reason}, a); err != nil {
			return err
		}
	}
	return nil
}

// bucketCosts are the costs of the slices of one bucket, in the order of their names.
type bucketCosts struct {
	name  string
	costs []SliceCost
}

func inBuckets(costs []SliceCost) []bucketCosts {
	by := map[string][]SliceCost{}
	for _, c := range costs {
		name := bucketOf(c.Is)
		by[name] = append(by[name], c)
	}
	out := make([]bucketCosts, 0, len(by))
	for name, costs := range by {
		slices.SortFunc(costs, func(x, y SliceCost) int { return strings.Compare(x.Is, y.Is) })
		out = append(out, bucketCosts{name, costs})
	}
	slices.SortFunc(out, func(x, y bucketCosts) int { return cmp.Compare(x.name, y.name) })
	return out
}

// parts cuts buckets into stretches of at least so many slices, but for the last.
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

// chargeBucket charges slices of one bucket, and refuses one that exceeds the limit of a
// slice, or is charged otherwise. The account is left without a slice, and its sum over all
// slices is not yet held to a limit.
func (a *Account) chargeBucket(b bucket, costs []SliceCost, limits []bound) (bucket, error) {
	units := a.Units()
	out := make(bucket, 0, len(b)+len(costs))
	sum, done := a.nothing(), 0
	var alike privacy.Cost // of the slice before, which was new
	for _, c := range costs {
		at, ok := b[done:].find(c.Is)
		out = append(out, b[done:done+at]...)
		done += at
		before := storedTally{Is: c.Is}
		spent := c.Cost
		if ok {
			before = b[done]
			done++
			t, err := before.tally(a)
			if err != nil || before.Collected {
				return nil, collectedElsewhere(a.Key)
			}
			spent = sumOf(t.Spent, c.Cost)
		}
		for i := range sum {
			sum[i].Add(sum[i], c.Cost[i])
		}
		if ok || len(units) == 0 || len(alike) == 0 || &alike[0] != &spent[0] {
			a.Slice.Is, a.InSlice = c.Is, Tally{Is: c.Is, Spent: spent}
			if !a.within(limits, false) {
				return nil, a.keep(&a.Limit, differenceOf(spent, c.Cost), c.Cost, "")
			}
			a.Largest = largest(a.Largest, spent)
			alike = nil
			if !ok {
				alike = spent
			}
		}
		if !ok {
			a.Slices++
		}
		a.Debits++
		out = append(out, storedTally{Is: c.Is, Spent: ratTexts(spent), Debits: before.Debits + 1})
	}
	a.Spent = sumOf(a.Spent, sum)
	a.Slice.Is, a.InSlice = "", Tally{}
	return append(out, b[done:]...), nil
}

// grouped writes costs with the slices that they are added to.
func grouped(costs []SliceCost) []charged {
	at := map[string]int{}
	var out []charged
	for _, c := range costs {
		texts := ratTexts(c.Cost)
		key := strings.Join(texts, " ")
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, charged{Cost: texts})
		}
		out[i].Slices = append(out[i].Slices, c.Is)
	}
	return out
}

// charge replays what was spent elsewhere.
func (v *Auditor) charge(r *Record) error {
	var b chargeBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	if a == nil || b.Reason == "" || len(b.Charges) == 0 {
		return fmt.Errorf("a charge without an account, a cost or a reason")
	}
	var costs []SliceCost
	for _, c := range b.Charges {
		cost, err := parseRats(c.Cost)
		if err != nil {
			return fmt.Errorf("a charge without a cost")
		}
		if len(c.Slices) == 0 {
			costs = append(costs, SliceCost{Cost: cost})
		}
		for _, is := range c.Slices {
			costs = append(costs, SliceCost{is, cost})
		}
	}
	if err := a.fits(costs); err != nil {
		return err
	}
	if a.Keeps == nil && a.Debits == 0 {
		a.Keeps = columnSet(b.Keeps)
	}
	if !KeepsAll(a.Keeps, b.Keeps) {
		return fmt.Errorf("a charge of releases that keep a column that its account does not")
	}
	v.changed = append(v.changed, a)
	if a.Slice.Column == "" {
		a.Charge(costs[0].Cost)
	}
	for _, c := range inBuckets(costs) {
		if a.Slice.Column == "" {
			break
		}
		if v.slices[a.ID] == nil {
			v.slices[a.ID] = map[string]bucket{}
		}
		after, over := a.chargeBucket(v.slices[a.ID][c.name], c.costs, v.bounds[a.ID])
		if over != nil {
			v.find(FoundOverspent, fmt.Sprintf("record %d", r.Seq), "%v", over)
			return nil
		}
		v.slices[a.ID][c.name] = after
		v.put(bucketKey(a.ID, c.name), after)
	}
	if !a.within(v.bounds[a.ID], a.Slice.Column != "") {
		v.find(FoundOverspent, fmt.Sprintf("record %d", r.Seq), "its charge is above the limit of the account of %s", a.Key)
	}
	return nil
}

// ReadCharges reads the costs of slices: CSV with a header, a column slice, and one for each
// of the account's units (epsilon and delta, or rho). A delta that is not there is 0.
func ReadCharges(r io.Reader, units []string) ([]SliceCost, error) {
	lines := csv.NewReader(r)
	lines.ReuseRecord = true
	head, err := lines.Read()
	if err != nil {
		return nil, refuse(CodeAddress, "the file has no header; it needs slice,%s", strings.Join(units, ","))
	}
	at := make([]int, len(units))
	slice := slices.Index(head, "slice")
	for i, u := range units {
		at[i] = slices.Index(head, u)
		if slice < 0 || at[i] < 0 && u != "delta" || len(head) > 1+len(units) {
			return nil, refuse(CodeAddress, "line 1: the header must be slice,%s", strings.Join(units, ","))
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
			return nil, refuse(CodeAddress, "%v", err)
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
					if amount, err = job.ParseAmount(line[i]); err != nil {
						n, column := lines.FieldPos(i)
						return nil, refuse(CodeAddress, "line %d, column %d: %s %v", n, column, units[k], err)
					}
				}
				cost = append(cost, amount)
			}
			known[key] = cost
		}
		out = append(out, SliceCost{strings.Clone(line[slice]), cost})
	}
}
