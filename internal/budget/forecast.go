package budget

import (
	"context"
	"errors"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// request is the plan in the words of the ledger, with the price that the plan has.
func request(p *plan.Plan, ids map[string]string) (ledger.Request, error) {
	limit := plan.LimitOf(p.Job)
	q := ledger.Request{
		Account: plan.AccountOf(p.Job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: limit}, Own: &limit,
		Event: p.Event, Charged: p.Fresh, Job: p.Job.Name, Digest: p.Job.Digest(),
	}
	for _, d := range p.AllKept() {
		step, err := d.LedgerStep(ids[d.Name], d.Kept.Step)
		if err != nil {
			return q, failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s has no description", d.Name)
		}
		q.Draws = append(q.Draws, step)
	}
	for _, r := range p.Releases() {
		q.Charges = append(q.Charges, ledger.Charge{Name: r.Job.Name, Epsilon: r.Answer.Epsilon, Delta: r.Answer.Delta})
	}
	return q, nil
}

// Forecast is the account's state after a job. It refuses a job that does not fit. It changes nothing in the ledger and makes none.
func Forecast(ctx context.Context, p *plan.Plan) (*report.Budget, error) {
	a, err := AddressOf(p.Job)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(p)
	if err != nil {
		return nil, err
	}
	account := &ledger.Account{Key: plan.AccountOf(p.Job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: plan.LimitOf(p.Job)},
		Spent: privacy.Cost{new(big.Rat), new(big.Rat)}}
	l, err := ledger.Open(ctx, a, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		b, err := fits(ctx, p, account, "", ledger.Standing{})
		if err == nil && p.Job.Budget.Ledger.Reveal() != "" {
			b.Note = noLedger(p.Job, a)
		}
		return b, err
	case err != nil:
		return nil, failure.OfLedger(ctx, err)
	}
	defer l.Close()
	standing, err := l.Look(ctx, key, "")
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	all, err := l.Accounts(ctx)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	others := 0
	for _, a := range all {
		switch {
		case a.Key == account.Key:
			account = a
		case a.Dataset == account.Dataset && a.Debits > 0:
			others++
		}
	}
	b, err := fits(ctx, p, account, l.ID(), standing)
	if err == nil && others > 0 {
		b.Note = strings.TrimPrefix(b.Note+"; this data set has been spent from under another relation or unit of privacy as well: that is not counted here, and adds to what can be learnt (see ledger show)", "; ")
	}
	return b, err
}

// fits spends the plan on a copy of an account.
func fits(ctx context.Context, p *plan.Plan, a *ledger.Account, id string, s ledger.Standing) (*report.Budget, error) {
	q, err := request(p, nil)
	if err != nil {
		return nil, err
	}
	cost, _, err := a.Price(&q, p.Samples())
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	own := plan.LimitOf(p.Job)
	// A plan that was released may cost nothing: that depends on the data, which a
	// plan does not read.
	refused := a.Admit(cost, &own)
	if refused != nil && !s.Compare {
		return nil, failure.OfLedger(ctx, refused)
	}
	for i := range cost {
		if s.Compare {
			cost[i] = new(big.Rat)
		}
		a.Spent[i] = new(big.Rat).Add(a.Spent[i], cost[i])
	}
	b := budgetReport(a, cost)
	b.Ledger = id
	switch {
	case s.Compare && refused != nil:
		b.Note = "this plan was released before: on the same data a run publishes the same releases again and spends nothing; on other data it would not fit"
	case s.Compare:
		b.Note = "this plan was released before: on the same data a run publishes the same releases again and spends nothing; on other data it would spend again"
	case s.Busy:
		b.Note = "a run of this plan is at work"
	case s.Unfinished:
		b.Note = "an earlier run of this plan was cut off after its debit, which stays spent; a run needs --again"
	}
	return b, nil
}

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
