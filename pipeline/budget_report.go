package pipeline

import (
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// budgetReport is an account with a cost spent, or not yet spent, on it.
func budgetReport(a *ledger.Account, cost privacy.Cost) *report.Budget {
	out := &report.Budget{Filter: a.Filter, LimitEpsilon: job.FormatAmount(a.Limit.Epsilon), LimitDelta: job.FormatAmount(a.Limit.Delta)}
	units := a.Units()
	costOf := map[string]*big.Rat{}
	for i, c := range cost {
		costOf[units[i]] = c
	}
	for _, m := range a.Amounts(a.Limit) {
		out.Amounts = append(out.Amounts, report.Amount{Unit: m.Unit, Cost: ledger.Up(costOf[m.Unit]), Spent: ledger.Up(m.Spent),
			Limit: ledger.Down(m.Limit), Left: ledger.Down(m.Rest())})
	}
	return out
}
