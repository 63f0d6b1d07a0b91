package report

import (
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
}

type budgetRow struct{ Unit, Before, Cost, After, Limit, Left string }

func newBudgetView(b *Budget) *budgetView {
	if b == nil {
		return nil
	}
	v := &budgetView{
		Ledger: b.Ledger, Address: b.Address, Keeps: strings.Join(b.Keeps, ", "), Filter: b.Filter, Sequence: b.Sequence, Head: b.Head,
		Limit: "ε\u00a0" + amount(b.LimitEpsilon, false) + ", δ\u00a0" + amount(b.LimitDelta, false),
	}
	for _, a := range b.Amounts {
		v.Rows = append(v.Rows, budgetRow{
			Unit: a.Unit, Before: before(a), Cost: amount(a.Cost, true), After: amount(a.Spent, true),
			Limit: amount(a.Limit, false), Left: left(a),
		})
	}
	return v
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

// before is what was spent when the job began.
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

// left is what may still be spent. Less than a millionth of the limit buys no release:
// that is the rounding of what was spent, and the budget is spent.
func left(a Amount) string {
	rest, ok1 := new(big.Rat).SetString(a.Left)
	limit, ok2 := new(big.Rat).SetString(a.Limit)
	if ok1 && ok2 && rest.Mul(rest, big.NewRat(1_000_000, 1)).Cmp(limit) < 0 {
		return "nothing: it is spent"
	}
	return amount(a.Left, false)
}
