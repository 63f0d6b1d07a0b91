package report

import (
	"fmt"
	"html/template"
	"math/big"
	"strings"
)

// budgetView is the account before and after the job.
type budgetView struct {
	Ledger, Filter string
	Address        string
	Keeps          string
	Sequence       int64
	Head           string
	Limit          string
	Rows           []budgetRow
	Gauges         []gaugeView
	Slices         string // what they have spent, in words
}

// gaugeView is a budget as a bar. An account with many orders has one for its first.
type gaugeView struct {
	Picture template.HTML
	Text    string
}

const shownGauges = 2

type budgetRow struct{ Unit, Before, Cost, After, Limit, Left string }

func newBudgetView(w words, b *Budget) *budgetView {
	if b == nil {
		return nil
	}
	v := &budgetView{
		Ledger: b.Ledger, Address: b.Address, Keeps: strings.Join(b.Keeps, ", "), Filter: b.Filter, Sequence: b.Sequence, Head: b.Head,
		Limit: "ε\u00a0" + amount(b.LimitEpsilon, false) + ", δ\u00a0" + amount(b.LimitDelta, false),
	}
	if b.LimitRho != "" {
		v.Limit = "ρ\u00a0" + amount(b.LimitRho, false)
	}
	if b.Slices != nil {
		v.Limit += " for each slice"
		v.Slices = fmt.Sprintf("The largest of %d slices has spent %s: the guarantee for a unit in one slice. All of them together have spent %s: the guarantee for a unit that is in each of them.",
			b.Slices.Count, amountWords(b.Slices.Largest), amountWords(b.Slices.Life))
		if b.Note != "" && b.Sequence > 0 { // of a series that was run
			v.Slices += " " + strings.ToUpper(b.Note[:1]) + b.Note[1:] + "."
		}
	}
	for _, a := range b.Amounts {
		v.Rows = append(v.Rows, budgetRow{
			Unit: a.Unit, Before: before(a), Cost: amount(a.Cost, true), After: amount(a.Spent, true),
			Limit: amount(a.Limit, false), Left: left(a),
		})
	}
	for i, row := range v.Rows[:min(len(v.Rows), shownGauges)] {
		if row.Limit == "0" || row.After == "0" {
			continue
		}
		rest := row.Left
		if rest == "" {
			rest = "0"
		}
		v.Gauges = append(v.Gauges, gaugeView{gauge(b.Amounts[i]), w.t("budget.gauge_text", row.Unit, row.Before, row.Cost, rest, row.Limit)})
	}
	return v
}

// amountWords writes what is spent, of all units.
func amountWords(all []Amount) string {
	var out []string
	for _, a := range all {
		unit := a.Unit
		if s, ok := map[string]string{"epsilon": "ε", "delta": "δ", "rho": "ρ"}[unit]; ok {
			unit = s
		}
		text := unit + "\u00a0" + amount(a.Spent, true)
		if a.Limit != "" {
			text += " of " + amount(a.Limit, false)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// amount prints an exact decimal shortly: a spend rounded up, a limit down (P17).
func amount(text string, up bool) string {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	if !up {
		x.Mul(x, keptBack)
	}
	return fourDigits(x, up)
}

// before returns the amount spent before this job.
func before(a Amount) string {
	spent, ok1 := new(big.Rat).SetString(a.Spent)
	cost, ok2 := new(big.Rat).SetString(a.Cost)
	if !ok1 || !ok2 {
		return "–"
	}
	rest := spent.Sub(spent, cost)
	if rest.Sign() <= 0 {
		return "0"
	}
	return amount(rest.RatString(), true)
}

// left returns the amount that may still be spent, "" where it is all spent. Less than a millionth of the limit buys
// no release: it is a rounding error, and the budget counts as spent.
func left(a Amount) string {
	rest, ok1 := new(big.Rat).SetString(a.Left)
	limit, ok2 := new(big.Rat).SetString(a.Limit)
	if ok1 && ok2 && rest.Mul(rest, big.NewRat(1_000_000, 1)).Cmp(limit) < 0 {
		return ""
	}
	return amount(a.Left, false)
}

// addKept adds a sentence on the cost so far of every draw that several jobs use, and of
// the draw that made the table.
func (v *view) addKept(r *Report) {
	if r.Collection != nil {
		v.Kept = append(v.Kept, "The table is itself a sample, drawn once for all jobs on it: "+keptWords(r.Collection))
	}
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		switch k := d.Kept; {
		case k == nil:
		case k.Reused:
			v.Kept = append(v.Kept, fmt.Sprintf("The draw %s is the sample %s, which an earlier job drew and kept: %s", d.Name, k.ID, keptWords(k)))
		default:
			v.Kept = append(v.Kept, fmt.Sprintf("The draw %s is kept for later jobs, as sample %s: %s", d.Name, k.ID, keptWords(k)))
		}
	}
	if len(v.Kept) > 0 {
		v.Kept = append(v.Kept, "The curves below show such a draw with everything that was ever released from it, which is more than this job is charged.")
	}
}

// keptWords returns the cost of a draw that several jobs use, in words.
func keptWords(k *Kept) string {
	on := func(e, d float64) string { return point(e, d, Spent) }
	return fmt.Sprintf("%s was spent on it before, %s with this job; it costs the population %s in all, %s before, and the difference of %s is charged.",
		on(k.SampleBefore.Epsilon, k.SampleBefore.Delta), on(k.SampleAfter.Epsilon, k.SampleAfter.Delta),
		on(k.After.Epsilon, k.After.Delta), on(k.Before.Epsilon, k.Before.Delta), on(k.Charged.Epsilon, k.Charged.Delta))
}
