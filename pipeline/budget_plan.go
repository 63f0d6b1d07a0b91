package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// request is the plan in the words of the ledger.
func (p *Plan) request() (ledger.Request, error) {
	r := &p.report
	limit := limitOf(p.job)
	q := ledger.Request{
		Account: accountOf(p.job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: limit}, Own: &limit,
		Event: p.event, Charged: p.fresh, Job: r.Job.Name, Digest: r.Job.Digest, Keeps: p.keeps(),
	}
	for _, d := range p.allKept() {
		step, err := d.ledgerStep(d.kept.step)
		if err != nil {
			return q, fail(ExitBug, "PLAN_UNSOUND", "draw %s has no description", d.name)
		}
		q.Draws = append(q.Draws, step)
	}
	for _, rel := range r.Releases {
		q.Charges = append(q.Charges, ledger.Charge{Name: rel.Name, Epsilon: rel.Guarantee.Epsilon, Delta: rel.Guarantee.Delta})
	}
	return q, nil
}

func accountOf(j *job.Job) ledger.Key {
	return ledger.Key{Dataset: j.Dataset.ID, Unit: j.Dataset.Unit, Relation: j.Dataset.Relation}
}

func limitOf(j *job.Job) ledger.Limit {
	return ledger.Limit{Epsilon: j.Budget.Limit.Epsilon, Delta: j.Budget.Limit.Delta}
}

// keeps are the columns in which the neighbours that the job protects agree (P27).
// Under add-remove a neighbour has one unit more or less and keeps nothing.
func (p *Plan) keeps() []string {
	if p.job.Dataset.Relation != privacy.ReplaceOne {
		return nil
	}
	return p.report.Dataset.PublicColumns
}

// columnTags are the columns by which the ledger sees that two accounts spend on the
// same data: all that the job reads, but for those that every neighbour keeps, which
// are public.
func (p *Plan) columnTags(l *ledger.Ledger, t *openedTable) []ledger.Column {
	names := p.columns()
	if len(names) == 0 {
		for _, c := range t.table.Columns() {
			if c.Usable {
				names = append(names, c.Name)
			}
		}
	}
	var out []ledger.Column
	for _, name := range names {
		if !contains(p.keeps(), name) {
			out = append(out, ledger.Column{Name: name, Tag: l.Tag(name, t.rows())})
		}
	}
	return out
}

// forecast adds the account's state after the job to a plan, and refuses a job
// that does not fit. It changes nothing in the ledger and makes none.
func (p *Plan) forecast(ctx context.Context) error {
	at, err := LedgerOf(ctx, p.job)
	if err != nil {
		return err
	}
	account := &ledger.Account{Key: accountOf(p.job), Opening: ledger.Opening{Filter: ledger.Basic, Limit: limitOf(p.job)},
		Spent: privacy.Cost{new(big.Rat), new(big.Rat)}}
	l, err := ledger.Open(ctx, at, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		if err := p.fits(ctx, account, at, "", ledger.Standing{}); err != nil {
			return err
		}
		if p.job.Budget.Ledger.Reveal() != "" {
			p.report.Budget.Note = noLedger(p.job, at)
		}
		return nil
	case err != nil:
		return ledgerFailure(ctx, err)
	}
	defer l.Close()
	standing, err := l.Look(ctx, p.job.Digest(), "", p.job.FormerDigests()...)
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
	if account.Keeps != nil && !standing.Compare {
		if err := ledger.KeptWithin(account.Key, account.Keeps, p.keeps()); err != nil {
			return ledgerFailure(ctx, err)
		}
	}
	if err := p.fits(ctx, account, at, l.ID(), standing); err != nil {
		return err
	}
	if others > 0 {
		b := p.report.Budget
		b.Note = strings.TrimPrefix(b.Note+"; this data set has been spent from under another relation or unit of privacy as well: that is not counted here, and adds to what can be learnt (see ledger show)", "; ")
	}
	return nil
}

// fits spends the plan on a copy of an account.
func (p *Plan) fits(ctx context.Context, a *ledger.Account, at ledger.Address, id string, s ledger.Standing) error {
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
	b.Ledger, b.Address, b.Keeps = id, at.Full(), a.Keeps
	if a.Keeps == nil {
		b.Keeps = p.keeps() // the first job decides
	}
	switch {
	case s.Compare && refused != nil:
		b.Note = "this plan was released before: on the same data a run publishes the same releases again and spends nothing; on other data it would not fit"
	case s.Compare:
		b.Note = "this plan was released before: on the same data a run publishes the same releases again and spends nothing; on other data it would spend again"
	case s.Busy:
		b.Note = "a run of this plan is at work"
	case s.Unfinished:
		b.Note = s.Refusal().Message
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
	if r.Address != "" {
		made := ""
		if r.Ledger == "" {
			made = ", which is not there yet"
		}
		line(b, 2, "ledger", r.Address+made)
	}
	if len(r.Keeps) > 0 {
		line(b, 2, "neighbours keep", strings.Join(r.Keeps, ", ")+": what the account adds up says nothing of a change there")
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
