package main

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/report"
)

// writePage writes the ledger as a page that its owner alone may read.
func (s *shownLedger) writePage(path string) error {
	var all []report.History
	for _, a := range s.Accounts {
		all = append(all, a.history())
	}
	var b strings.Builder
	if err := report.WriteHistory(&b, s.Address, all); err != nil {
		return err
	}
	return writeOut(path, b.String(), 0o600)
}

// history is an account as its page tells it. What was spent elsewhere is a step like a debit.
func (a shownAccount) history() report.History {
	h := report.History{Dataset: a.Dataset, SlicesBy: a.SlicesBy, Units: a.account.Units(),
		About: "Per " + a.Unit + a.inSlice() + ", " + a.Relation + ", filter " + a.Filter}
	for _, unit := range h.Units {
		limit := "" // of an order that cannot keep within the account's
		for _, m := range a.Amounts {
			if m.Unit == unit {
				limit = m.Limit
			}
		}
		h.Limits = append(h.Limits, limit)
	}
	for _, t := range a.tallies {
		h.Slices = append(h.Slices, report.SliceSpent{Is: t.Is, Spent: t.Spent})
	}
	steps := map[int64]report.Step{}
	var order []int64
	for _, d := range a.Spends {
		order = append(order, d.Release)
		steps[d.Release] = report.Step{At: when(d.At), Job: d.Job, By: d.By, Slice: d.Slice, State: d.State,
			Sum: "ε " + rise(d.Epsilon) + ", δ " + rise(d.Delta), Cost: rats(d.Cost, 1)}
	}
	for _, act := range a.Acts {
		h.Notes = append(h.Notes, report.Note{At: moment(act.At), Text: actText(act)})
		for _, c := range act.Charged {
			step := steps[act.Record]
			step.At, step.Job, step.By, step.Sum = when(act.At), "spent elsewhere", act.By, chargedText(act.Charged)
			for u, x := range rats(c.Cost, int64(max(c.Slices, 1))) {
				if u == len(step.Cost) {
					step.Cost = append(step.Cost, new(big.Rat))
				}
				step.Cost[u].Add(step.Cost[u], x)
			}
			if _, ok := steps[act.Record]; !ok {
				order = append(order, act.Record)
			}
			steps[act.Record] = step
		}
	}
	slices.Sort(order)
	for _, record := range order {
		h.Steps = append(h.Steps, steps[record])
	}
	return h
}

func when(at string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return time.Time{}
	}
	return t
}

// rats are exact amounts, so many times.
func rats(texts []string, times int64) (out []*big.Rat) {
	for _, text := range texts {
		x, ok := new(big.Rat).SetString(text)
		if !ok {
			x = new(big.Rat)
		}
		out = append(out, x.Mul(x, big.NewRat(times, 1)))
	}
	return out
}
