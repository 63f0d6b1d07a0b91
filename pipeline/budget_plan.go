package pipeline

import (
	"context"
	"errors"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// request is the plan in the words of the ledger, with the price that the plan has.
func request(p *Plan, ids map[string]string) (ledger.Request, error) {
	limit := limitOf(p.job)
	q := ledger.Request{
		Account: accountOf(p.job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: limit}, Own: &limit,
		Event: p.event, Charged: p.fresh, Job: p.job.Name, Digest: p.job.Digest(),
	}
	for _, d := range p.allKept() {
		step, err := d.ledgerStep(ids[d.name], d.kept.step)
		if err != nil {
			return q, fail(ExitBug, "PLAN_UNSOUND", "draw %s has no description", d.name)
		}
		q.Draws = append(q.Draws, step)
	}
	for _, r := range p.releases() {
		q.Charges = append(q.Charges, ledger.Charge{Name: r.job.Name, Epsilon: r.answer.Epsilon, Delta: r.answer.Delta})
	}
	return q, nil
}

// forecast is the account's state after a job. It refuses a job that does not fit. It changes nothing in the ledger and makes none.
func forecast(ctx context.Context, p *Plan) (*report.Budget, error) {
	a, err := addressOf(p.job)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(p)
	if err != nil {
		return nil, err
	}
	account := &ledger.Account{Key: accountOf(p.job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: limitOf(p.job)},
		Spent: privacy.Cost{new(big.Rat), new(big.Rat)}}
	l, err := ledger.Open(ctx, a, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		b, err := fits(ctx, p, account, "", ledger.Standing{})
		if err == nil && p.job.Budget.Ledger.Reveal() != "" {
			b.Note = noLedger(p.job, a)
		}
		return b, err
	case err != nil:
		return nil, ledgerFailure(ctx, err)
	}
	defer l.Close()
	standing, err := l.Look(ctx, key, "")
	if err != nil {
		return nil, ledgerFailure(ctx, err)
	}
	all, err := l.Accounts(ctx)
	if err != nil {
		return nil, ledgerFailure(ctx, err)
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
func fits(ctx context.Context, p *Plan, a *ledger.Account, id string, s ledger.Standing) (*report.Budget, error) {
	q, err := request(p, nil)
	if err != nil {
		return nil, err
	}
	cost, _, err := a.Price(&q, p.samples())
	if err != nil {
		return nil, ledgerFailure(ctx, err)
	}
	own := limitOf(p.job)
	// A plan that was released may cost nothing: that depends on the data, which a
	// plan does not read.
	refused := a.Admit(cost, &own)
	if refused != nil && !s.Compare {
		return nil, ledgerFailure(ctx, refused)
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
