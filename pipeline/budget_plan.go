package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// forecast adds the account's state after the job to a plan, and refuses a job
// that does not fit. It changes nothing in the ledger and makes none.
func (p *Plan) forecast(ctx context.Context) error {
	a, err := addressOf(p.job)
	if err != nil {
		return err
	}
	key, err := p.key()
	if err != nil {
		return err
	}
	account := &ledger.Account{Key: accountOf(p.job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: limitOf(p.job)},
		Spent: privacy.Cost{new(big.Rat), new(big.Rat)}}
	l, err := ledger.Open(ctx, a, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		if err := p.fits(ctx, account, "", ledger.Standing{}); err != nil {
			return err
		}
		if p.job.Budget.Ledger.Reveal() != "" {
			p.report.Budget.Note = noLedger(p.job, a)
		}
		return nil
	case err != nil:
		return ledgerFailure(ctx, err)
	}
	defer l.Close()
	standing, err := l.Look(ctx, key, "")
	if err != nil {
		return ledgerFailure(ctx, err)
	}
	all, err := l.Accounts(ctx)
	if err != nil {
		return ledgerFailure(ctx, err)
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
	if err := p.fits(ctx, account, l.ID(), standing); err != nil {
		return err
	}
	if others > 0 {
		b := p.report.Budget
		b.Note = strings.TrimPrefix(b.Note+"; this data set has been spent from under another relation or unit of privacy as well: that is not counted here, and adds to what can be learnt (see ledger show)", "; ")
	}
	return nil
}

// fits spends the plan on a copy of an account.
func (p *Plan) fits(ctx context.Context, a *ledger.Account, id string, s ledger.Standing) error {
	q, err := p.request()
	if err != nil {
		return err
	}
	cost, _, err := a.Price(&q, p.samples())
	if err != nil {
		return ledgerFailure(ctx, err)
	}
	own := limitOf(p.job)
	// A plan that was released may cost nothing: that depends on the data, which a
	// plan does not read.
	refused := a.Admit(cost, &own)
	if refused != nil && !s.Compare {
		return ledgerFailure(ctx, refused)
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
	p.report.Budget = b
	return nil
}

// shownAmounts is how many parts of an account a plan prints: an rdp account has
// one for each order.
const shownAmounts = 3

func writeAccount(b *bufio.Writer, r *report.Budget) {
	if r == nil {
		return
	}
	for _, a := range r.Amounts[:min(len(r.Amounts), shownAmounts)] {
		line(b, 2, "account after it, "+a.Unit, fmt.Sprintf("%s of %s spent, %s left", a.Spent, a.Limit, a.Left))
	}
	if n := len(r.Amounts) - shownAmounts; n > 0 {
		line(b, 2, "", fmt.Sprintf("and %d more orders; one that is left is enough", n))
	}
	if r.Note != "" {
		line(b, 2, "note", r.Note)
	}
}
