package ledgercheck

import (
	"fmt"
	"math/big"
)

// Output is something that became visible.
type Output struct {
	Plan    string // what was asked
	Content string // identifies the data
	Value   string // what came out
	Head    string // the hash of the debit that it says it stands on
	Seq     int64  // and that debit's number
}

// Debit is one spend, as the chain has it.
type Debit struct {
	Plan, Hash string
	Cost       *big.Rat
	Slice      string // "" in an account without slices
}

// State is the state of one account in a recovered ledger.
type State struct {
	Spent, Limit *big.Rat
	Debits       map[int64]Debit
	// Slices is the spend of each slice, nil in an account without slices. Limit is then
	// that of a slice, Largest the account's figure for the largest one, and Lifetime the
	// limit of Spent, nil for none.
	Slices            map[string]*big.Rat
	Largest, Lifetime *big.Rat
}

// Check lists what is wrong with a state and with all that is visible; before is what
// was spent at the check before, nil at the first.
func Check(s State, visible []Output, before *big.Rat) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if before != nil && s.Spent.Cmp(before) < 0 {
		say("spent went from %s down to %s", before.RatString(), s.Spent.RatString())
	}
	sum := new(big.Rat)
	for _, d := range s.Debits {
		sum.Add(sum, d.Cost)
	}
	if s.Spent.Cmp(sum) != 0 {
		say("spent is %s, the debits add up to %s", s.Spent.RatString(), sum.RatString())
	}
	switch {
	case s.Slices != nil:
		wrong = append(wrong, s.slices()...)
	case s.Spent.Cmp(s.Limit) > 0:
		say("spent %s of %s", s.Spent.RatString(), s.Limit.RatString())
	}
	values := map[[2]string]string{}
	used := map[int64]string{}
	due := new(big.Rat)
	for _, o := range visible {
		d, ok := s.Debits[o.Seq]
		switch {
		case !ok:
			say("an output of %s without a debit (%d)", o.Plan, o.Seq)
			continue
		case d.Plan != o.Plan || d.Hash != o.Head:
			say("an output of %s stands on the debit of %s", o.Plan, d.Plan)
		}
		k := [2]string{o.Plan, o.Content}
		if v, ok := values[k]; ok && v != o.Value {
			say("two outputs of %s from %s", o.Plan, o.Content)
		}
		values[k] = o.Value
		if v, ok := used[o.Seq]; ok && v != o.Value {
			say("two outputs on one debit (%d)", o.Seq)
		} else if !ok {
			due.Add(due, d.Cost)
		}
		used[o.Seq] = o.Value
	}
	if s.Spent.Cmp(due) < 0 {
		say("spent %s, and what is visible cost %s", s.Spent.RatString(), due.RatString())
	}
	return wrong
}

// slices lists what is wrong with the amounts that slices have spent.
func (s *State) slices() (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	sums := map[string]*big.Rat{}
	for _, d := range s.Debits {
		if sums[d.Slice] == nil {
			sums[d.Slice] = new(big.Rat)
		}
		sums[d.Slice].Add(sums[d.Slice], d.Cost)
	}
	most := new(big.Rat)
	for is, sum := range sums {
		if spent := s.Slices[is]; spent == nil || spent.Cmp(sum) != 0 {
			say("slice %s has spent %v, its debits add up to %s", is, spent, sum.RatString())
		}
		if sum.Cmp(s.Limit) > 0 {
			say("slice %s has spent %s of %s", is, sum.RatString(), s.Limit.RatString())
		}
		if sum.Cmp(most) > 0 {
			most = sum
		}
	}
	if len(sums) != len(s.Slices) {
		say("%d slices have spent, %d have debits", len(s.Slices), len(sums))
	}
	if s.Largest.Cmp(most) != 0 {
		say("the largest slice has spent %s, and %s is said", most.RatString(), s.Largest.RatString())
	}
	if s.Lifetime != nil && s.Spent.Cmp(s.Lifetime) > 0 {
		say("all slices have spent %s of %s", s.Spent.RatString(), s.Lifetime.RatString())
	}
	return wrong
}
