package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
)

// mostSlices is the number of slices that a person is shown: those that have spent most.
const mostSlices = 5

func showSlice(t ledger.Tally) shownSlice {
	s := shownSlice{Is: t.Is, Debits: t.Debits}
	for _, x := range t.Spent {
		s.Exact = append(s.Exact, x.RatString())
	}
	return s
}

// inSlice returns what a guarantee for a unit in one slice adds to its text, else "".
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
		for _, m := range a.telling(a.Amounts) {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", m.symbol(), m.Spent, m.rest(), m.Limit)
		}
		return cmp.Or(t.Flush(), a.writeOrders(t), a.writeMeaning(t, "", a.account.Spent))
	}
	fmt.Fprintln(t, "  \t\tspent\tleft\tlimit")
	for _, m := range a.telling(a.Amounts) {
		fmt.Fprintf(t, "  %s in one %s (the largest)\t%s\t%s\t%s\t%s\n", report.A(a.Unit), a.SlicesBy, m.symbol(), m.Spent, m.rest(), m.Limit)
	}
	for _, m := range a.telling(a.Life) {
		rest, limit := m.rest(), m.Limit
		if limit == "" {
			rest, limit = "", "none"
		}
		fmt.Fprintf(t, "  %s in all of them (%d)\t%s\t%s\t%s\t%s\n", report.A(a.Unit), len(a.tallies), m.symbol(), m.Spent, rest, limit)
	}
	return cmp.Or(t.Flush(), a.writeOrders(t), a.writeMeaning(t, "in one "+a.SlicesBy+", ", a.account.Largest),
		a.writeMeaning(t, "in all of them, ", a.account.Spent))
}

// telling are the amounts that a person is shown: all, or of the orders of an rdp account the
// one with the largest share left, which stands first.
func (a *shownAccount) telling(all []shownAmount) []shownAmount {
	if a.Filter == ledger.RDP {
		return all[:min(len(all), 1)]
	}
	return all
}

// writeOrders notes how many orders an rdp account has, where only one of them is shown.
func (a *shownAccount) writeOrders(w io.Writer) error {
	if a.Filter != ledger.RDP || len(a.Amounts) < 2 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  the order with the largest share left, of %d; a job needs room in one of them (--json lists all)\n",
		len(a.Amounts))
	return err
}

// writeMeaning states what is spent as the chance of an attacker, in the words of the report.
func (a *shownAccount) writeMeaning(w io.Writer, where string, cost privacy.Cost) error {
	spent := make([]float64, len(a.account.Units())) // no slice was charged yet where cost is empty
	for i, x := range cost {
		spent[i] = rational.Up(x)
	}
	var attacker verdict.Attacker
	switch a.Filter {
	case ledger.Basic:
		attacker = verdict.OfPoint(privacy.Point{Epsilon: spent[0], Delta: spent[1]})
	case ledger.ZCDP:
		attacker = verdict.OfDivergences(rdp.ZCDP(spent[0]))
	default:
		attacker = verdict.OfDivergences(verdict.AtOrders(a.account.Orders, spent))
	}
	text := attacker.Chance(sentence.In("en"), a.account.Relation, a.Unit, verdict.InTable)
	if weak := attacker.Caution(sentence.In("en"), a.Unit); weak != "" {
		text += "; " + weak
	}
	_, err := fmt.Fprintf(w, "  by these amounts alone, %s%s\n", where, text)
	return err
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
			fmt.Fprintf(w, "\n%s: its accounts add up in different units, and each %s is in all of them: the guarantees of the accounts "+
				"compose\n", k.dataset, k.unit)
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
		fmt.Fprintf(w, "\n%s: all accounts together, %s in one slice of each has spent %s, and one through its life %s%s\n", k.dataset,
			report.A(k.unit), one, life, about)
	}
}
