package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run/budget"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
)

// forecast is the account's state after a job. It refuses a job that does not fit. It changes nothing in the ledger and makes none.
func forecast(ctx context.Context, p *plan.Priced) (*report.Budget, error) {
	at, err := LedgerOf(p.Job)
	if err != nil {
		return nil, err
	}
	q, err := p.Request(nil)
	if err != nil {
		return nil, err
	}
	l, err := openAt(ctx, at, ledger.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	var b *report.Budget
	if l == nil {
		if b, err = fits(p, q, ledger.Unopened(q.Account, q.Opening), ledger.Standing{}); err == nil && p.Job.Budget.Ledger.Reveal() != "" {
			b.Note = noLedger(p.Job, at)
		}
	} else {
		defer l.Close()
		b, err = forecastIn(ctx, l, p, q)
	}
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	b.Address = at.Full()
	return b, nil
}

// forecastIn is forecast where there is a ledger.
func forecastIn(ctx context.Context, l *ledger.Ledger, p *plan.Priced, q ledger.Request) (*report.Budget, error) {
	standing, err := l.Look(ctx, p.Job.Digest(), "")
	if err != nil {
		return nil, err
	}
	others, err := l.OfDataset(ctx, q.Account.Dataset)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(a *ledger.Account) bool { return a.Is(q.Account) || a.Debits == 0 })
	account, err := l.Account(ctx, q.Account)
	if err == nil && account == nil {
		account, err = ledger.Unopened(q.Account, q.Opening), l.MayOpen(ctx, q.Account)
	}
	if err != nil {
		return nil, err
	}
	if account.Keeps != nil && !standing.Compare {
		if err := ledger.KeptWithin(account.Key, account.Keeps, p.Keeps()); err != nil {
			return nil, err
		}
	}
	q = budget.Pinned(q, p.Plan, nil)
	if err := l.Pins(ctx, q); err != nil {
		return nil, err
	}
	b, err := fits(p, q, account, standing)
	if err != nil {
		return nil, err
	}
	b.Ledger = l.ID()
	if len(others) > 0 {
		b.Note = joinNotes(b.Note,
			"this data set has been spent from under another relation or unit of privacy, or cut into other slices, as well: "+
				"that is not counted here, and adds to what can be learnt (see ledger show)")
	}
	refused, err := refusesNow(ctx, l, p.Job)
	b.Note = joinNotes(b.Note, refused)
	return b, err
}

// joinNotes puts one more note after others.
func joinNotes(note, more string) string { return strings.Trim(note+"; "+more, "; ") }

// refusesNow returns why a run that starts now is refused, "" where nothing is known of that: somebody
// refused the ledger, or a release was seen that it has not paid for.
func refusesNow(ctx context.Context, l *ledger.Ledger, j *job.Job) (string, error) {
	var known *ledger.Error
	err := witness(ctx, l, j)
	if errors.As(err, &known) {
		return "a run ends now with " + known.Code + ": " + known.Message, nil
	}
	if f := (*failure.Failure)(nil); errors.As(err, &f) {
		return "a run ends now with " + f.Code + ": " + f.Message, nil
	}
	all, err := l.Acts(ctx)
	all = slices.DeleteFunc(all, func(a ledger.Act) bool { return a.What != "refuse" })
	if n := len(all); n > 0 && !all[n-1].Lifted {
		return "a run ends now with " + ledger.CodeRefused + ": " + all[n-1].By + " refused the ledger for good: " + all[n-1].Reason, nil
	}
	return "", err
}

// fits spends the plan on a copy of an account.
func fits(p *plan.Priced, q ledger.Request, a *ledger.Account, s ledger.Standing) (*report.Budget, error) {
	nodes := p.Nodes
	begun := nodes[q.Steps[0].Node]
	if len(p.Job.Series) > 0 && begun != nil {
		s.Compare = true // it was paid for: a step that is measured once more asks for --spend-again
	}
	priced, err := a.Price(&q, nodes)
	if err != nil {
		return nil, err
	}
	cost := priced.Cost
	// A plan that was released may cost nothing: that depends on the data, which a
	// plan does not read.
	after := *a
	refused := after.Spend(priced, q.Own, q.OwnLife)
	switch {
	case s.Compare:
		for i := range cost {
			cost[i] = new(big.Rat)
		}
	case refused != nil:
		return nil, refused
	default:
		a = &after
	}
	b := budgetReport(a, cost)
	if b.Keeps = a.Keeps; a.Keeps == nil {
		b.Keeps = p.Keeps() // the first job decides
	}
	b.Note = noteOf(p, begun, q.Steps[0].Does.At, s, refused != nil)
	return b, nil
}

// noteOf says in words what a run of the plan pays for. begun is the node of its panel or series, at the wave or step.
func noteOf(p *plan.Priced, begun *ledger.Node, at int64, s ledger.Standing, refused bool) string {
	series, slice := p.Series(), planned.AccountOf(p.Job).Slice
	again := "it would spend again"
	if refused {
		again = "it would not fit"
	}
	if slice.Is != "" {
		again = "the run asks for --revise, because it would be a revision of " + slice.String() + ": " + again
	}
	switch panel := p.Panel; {
	case series != nil && begun != nil:
		return series.Text()
	case series != nil:
		note := series.Text() + "; it is not paid yet"
		if !planned.StepOf(p.Job).Alike {
			note += "; once it is, a slice with the same rows as an earlier one is refused: for a panel name the column of the units and say " +
				"periods_of_unit, or see ledger separate"
		}
		return note
	case s.Compare:
		return "this plan was released before: on the same data a run publishes the same releases again and spends nothing; on other data " +
			again
	case s.Busy:
		return "a run of this plan is at work"
	case panel != nil && begun == nil:
		return fmt.Sprintf("this run pays for all %d waves of the panel, and the others cost nothing", p.Job.Waves())
	case panel != nil && slices.Contains(begun.Done, at):
		return fmt.Sprintf("wave %d was paid for before: to release it once more costs what a unit pays that is known to be in it", at)
	case panel != nil:
		return "the first wave of the panel paid for this one"
	case s.Unfinished:
		return s.Refusal().Message
	}
	return ""
}

// budgetReport is an account with a cost spent, or not yet spent, on it.
func budgetReport(a *ledger.Account, cost privacy.Cost) *report.Budget {
	out := &report.Budget{Filter: a.Filter, LimitEpsilon: rational.Format(a.Limit.Epsilon), LimitDelta: rational.Format(a.Limit.Delta),
		LimitRho: rational.Format(a.Limit.Rho)}
	units := a.Units()
	costOf := map[string]*big.Rat{}
	for i, c := range cost {
		costOf[units[i]] = c
	}
	amounts := func(all []ledger.Amount) (out []report.Amount) {
		for _, m := range all {
			one := report.Amount{Unit: m.Unit, Cost: ledger.Up(costOf[m.Unit]), Spent: ledger.Up(m.Spent)}
			if m.Limit != nil {
				one.Limit, one.Left = ledger.Down(m.Limit), ledger.Down(m.Rest())
			}
			out = append(out, one)
		}
		return out
	}
	out.Amounts = amounts(a.Amounts())
	if a.Slice.Column != "" {
		out.Slices = &report.Slices{Count: a.Slices, Largest: amounts(a.LargestSlice()), Life: amounts(a.Life())}
	}
	return out
}

// account is the state of the account around the job, for the report.
func (a *attempt) account() *report.Budget {
	k := a.budget.Ticket
	out := budgetReport(&k.Account, k.Cost)
	out.Keeps = k.Account.Keeps
	out.Ledger, out.Address, out.Sequence, out.Head = k.Ledger, named(a.job, a.budget.Ledger.Address()), k.Seq, k.Head
	if s := a.priced.Series(); s != nil {
		out.Note = s.Text()
	}
	return out
}
