package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/ledger"
)

// mostSlices is how many slices a person is shown: those that have spent most.
const mostSlices = 20

func showSlice(t ledger.Tally) shownSlice {
	s := shownSlice{Is: t.Is, Debits: t.Debits}
	for _, x := range t.Spent {
		s.Exact = append(s.Exact, x.RatString())
	}
	return s
}

// inSlice says that the guarantee is for a unit in one slice.
func (a *shownAccount) inSlice() string {
	if a.SlicesBy == "" {
		return ""
	}
	return " in one " + a.SlicesBy
}

// writeAmounts prints what is spent and left. Of an account with slices both are printed,
// always: what a unit in one slice has spent, and what one through its life (P26).
func (a *shownAccount) writeAmounts(t *tabwriter.Writer) error {
	if a.SlicesBy == "" {
		fmt.Fprintln(t, "  \tspent\tleft\tlimit")
		for _, m := range a.Amounts {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", m.Unit, m.Spent, m.rest(), m.Limit)
		}
		return t.Flush()
	}
	fmt.Fprintln(t, "  \t\tspent\tleft\tlimit")
	for _, m := range a.Amounts {
		fmt.Fprintf(t, "  a %s in one %s (the largest)\t%s\t%s\t%s\t%s\n", a.Unit, a.SlicesBy, m.Unit, m.Spent, m.rest(), m.Limit)
	}
	for _, m := range a.Life {
		rest, limit := m.rest(), m.Limit
		if limit == "" {
			rest, limit = "", "none"
		}
		fmt.Fprintf(t, "  a %s in all of them (%d)\t%s\t%s\t%s\t%s\n", a.Unit, len(a.tallies), m.Unit, m.Spent, rest, limit)
	}
	return t.Flush()
}

// writeSlices prints the slices that have spent most.
func (a *shownAccount) writeSlices(w io.Writer) error {
	if len(a.tallies) == 0 {
		return nil
	}
	most := slices.Clone(a.tallies)
	slices.SortStableFunc(most, func(x, y ledger.Tally) int { return y.Spent[0].Cmp(x.Spent[0]) })
	most = most[:min(len(most), mostSlices)]
	slices.SortFunc(most, func(x, y ledger.Tally) int { return strings.Compare(x.Is, y.Is) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\n  %s\tdebits\t%s\n", a.SlicesBy, strings.Join(a.account.Units(), "\t"))
	for _, s := range most {
		fmt.Fprintf(t, "  %s\t%d", s.Is, s.Debits)
		for _, x := range s.Spent {
			fmt.Fprintf(t, "\t%s", ledger.Up(x))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(a.tallies) - len(most); more > 0 {
		fmt.Fprintf(w, "  and %d more, which have spent no more than these: see --json\n", more)
	}
	return nil
}

// writeTogether prints what the accounts of one data set have spent together, where a
// person let it be cut in several ways: a unit is in all of them.
func (s *shownLedger) writeTogether(w io.Writer) {
	type key struct{ dataset, unit, relation string }
	var keys []key
	of := map[key][]*shownAccount{}
	for i := range s.Accounts {
		a := &s.Accounts[i]
		k := key{a.Dataset, a.Unit, a.Relation}
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], a)
	}
	for _, k := range keys {
		all := of[k]
		if len(all) < 2 {
			continue
		}
		first := all[0].account
		if slices.ContainsFunc(all, func(a *shownAccount) bool { return !slices.Equal(a.account.Units(), first.Units()) }) {
			fmt.Fprintf(w, "\n%s: its accounts add up in different units, and each %s is in all of them: the guarantees of the accounts compose\n", k.dataset, k.unit)
			continue
		}
		var accounts []*ledger.Account
		var keeps []string
		for _, a := range all {
			accounts = append(accounts, a.account)
			keeps = append(keeps, a.Keeps...)
		}
		slices.Sort(keeps)
		about := ""
		if keeps = slices.Compact(keeps); len(keeps) > 0 { // P27: the sum is about the weakest promise of all
			about = ", for a change that keeps " + strings.Join(keeps, " and ")
		}
		one, life := ledger.TogetherOf(accounts)
		fmt.Fprintf(w, "\n%s: all accounts together, a %s in one slice of each has spent %s, and one through its life %s%s\n", k.dataset, k.unit, one, life, about)
	}
}
