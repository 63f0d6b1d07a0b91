package ledgercheck

import (
	"fmt"
	"math/big"
)

// Output is something that became visible.
type Output struct {
	Plan    string // what was asked
	Content string // of which data
	Value   string // what came out
	Head    string // the hash of the debit that it says it stands on
	Seq     int64  // and that debit's number
}

// Debit is one spend, as the chain has it.
type Debit struct {
	Plan, Hash string
	Cost       *big.Rat
}

// State is what a recovered ledger says of one account.
type State struct {
	Spent, Limit *big.Rat
	Debits       map[int64]Debit
}

// Check says what is wrong with a state and with all that is visible; before is
// what was spent at the check before, nil at the first.
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
	if s.Spent.Cmp(s.Limit) > 0 {
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
