package budget

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// request is the plan in the words of the ledger, with the price that the plan has.
func request(p *plan.Priced, ids map[string]string) (ledger.Request, error) {
	q, err := p.Request(ids)
	if err != nil {
		return q, failure.New(failure.ExitBug, "PLAN_UNSOUND", "the plan has no price at the ledger: %v", err)
	}
	limit := plan.LimitOf(p.Job)
	q.Account, q.Opening, q.Own, q.OwnLife = plan.AccountOf(p.Job), opening(p.Job), &limit, plan.LifetimeOf(p.Job)
	q.Job, q.Digest, q.Keeps = p.Job.Name, p.Job.Digest(), p.Keeps()
	for _, r := range p.Releases() {
		q.Charges = append(q.Charges, ledger.Charge{Name: r.Job.Name, Epsilon: r.Answer.Epsilon, Delta: r.Answer.Delta})
	}
	for _, d := range p.Draws {
		for _, k := range d.Keys {
			q.Charges = append(q.Charges, ledger.Charge{Name: k.Job.Name + " (keys)", Epsilon: k.Answer.Epsilon, Delta: k.Answer.Delta})
		}
	}
	return q, nil
}

// opening returns how the first job of an account opens it.
func opening(j *job.Job) ledger.Opening {
	o := plan.OpeningOf(plan.LimitOf(j))
	o.Lifetime = plan.LifetimeOf(j)
	return o
}

// columnTags returns the columns by which the ledger sees that two accounts, or two slices, spend on
// the same data: all that the job reads, without those that every neighbour keeps.
// The latter are public.
func columnTags(p *plan.Priced, l *ledger.Ledger, t *run.OpenedTable) []ledger.Column {
	if t.Pending() {
		return nil // how many rows there are is known after the debit
	}
	var out []ledger.Column
	for _, part := range t.Parts() {
		for _, name := range identifying(p, part) {
			c := ledger.Column{Name: name, Tag: l.Tag(name, part.Table.Rows())}
			if p.Job.Dataset.Slice != nil && t.Rows() > 0 {
				c.SliceTag = l.Tag(name, t.Rows())
			}
			out = append(out, c)
		}
	}
	return out
}

// identifying are the columns of a table, or of one of several, by which it is known again.
func identifying(p *plan.Priced, t *run.OpenedTable) []string {
	names := p.Known()
	if t.Name() != "" {
		names = p.ColumnsOf(t.Name())
	}
	if len(names) == 0 {
		names = t.Table.Whole()
	}
	if t.Name() != p.Job.Dataset.Population {
		return names // a neighbour keeps columns of the population alone
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(p.Keeps(), name) })
}

// Forecast is the account's state after a job. It refuses a job that does not fit. It changes nothing in the ledger and makes none.
func Forecast(ctx context.Context, p *plan.Priced) (*report.Budget, error) {
	at, err := LedgerOf(p.Job)
	if err != nil {
		return nil, err
	}
	account := ledger.Unopened(plan.AccountOf(p.Job), opening(p.Job))
	l, err := ledger.Open(ctx, at, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		b, err := fits(ctx, p, account, at, "", ledger.Standing{})
		if err == nil && p.Job.Budget.Ledger.Reveal() != "" {
			b.Note = noLedger(p.Job, at)
		}
		return b, err
	case err != nil:
		return nil, failure.OfLedger(ctx, err)
	}
	defer l.Close()
	standing, err := l.Look(ctx, p.Job.Digest(), "")
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	others, err := l.OfDataset(ctx, account.Dataset)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	others = slices.DeleteFunc(others, func(a *ledger.Account) bool { return a.Is(account.Key) || a.Debits == 0 })
	open, err := l.Account(ctx, account.Key)
	if err == nil && open == nil {
		err = l.MayOpen(ctx, account.Key)
	}
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	if open != nil {
		account = open
	}
	if account.Keeps != nil && !standing.Compare {
		if err := ledger.KeptWithin(account.Key, account.Keeps, p.Keeps()); err != nil {
			return nil, failure.OfLedger(ctx, err)
		}
	}
	if err := pinned(ctx, l, p); err != nil {
		return nil, err
	}
	b, err := fits(ctx, p, account, at, l.ID(), standing)
	if err == nil && len(others) > 0 {
		b.Note = joinNotes(b.Note,
			"this data set has been spent from under another relation or unit of privacy, or cut into other slices, as well: "+
				"that is not counted here, and adds to what can be learnt (see ledger show)")
	}
	if err != nil {
		return nil, err
	}
	refused, err := refusesNow(ctx, l, p.Job)
	b.Note = joinNotes(b.Note, refused)
	return b, err
}

// pinned refuses a plan that says otherwise of a state than the job that paid for it, as far as no table is needed for that.
func pinned(ctx context.Context, l *ledger.Ledger, p *plan.Priced) error {
	q, err := request(p, nil)
	if err != nil {
		return err
	}
	pin(&q, p, nil)
	if err := l.Pins(ctx, q); err != nil {
		return failure.OfLedger(ctx, err)
	}
	return nil
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
	all, err := l.Refusals(ctx)
	if err != nil {
		return "", failure.OfLedger(ctx, err)
	}
	if n := len(all); n > 0 && !all[n-1].Lifted {
		return "a run ends now with " + ledger.CodeRefused + ": " + all[n-1].By + " refused the ledger for good: " + all[n-1].Reason, nil
	}
	return "", nil
}

// fits spends the plan on a copy of an account.
func fits(ctx context.Context, p *plan.Priced, a *ledger.Account, at ledger.Address, id string, s ledger.Standing) (*report.Budget, error) {
	q, err := request(p, nil)
	if err != nil {
		return nil, err
	}
	nodes := p.Nodes()
	step, begun := p.Step(), nodes[q.Steps[0].Node]
	if step != nil && begun != nil {
		s.Compare = true // it was paid for: a step that is measured once more asks for --spend-again
	}
	priced, err := a.Price(&q, nodes)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
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
		return nil, failure.OfLedger(ctx, refused)
	default:
		a = &after
	}
	b := budgetReport(a, cost)
	b.Ledger, b.Address, b.Keeps = id, at.Full(), a.Keeps
	if a.Keeps == nil {
		b.Keeps = p.Keeps() // the first job decides
	}
	b.Note = noteOf(p, begun, q.Steps[0].Does.At, s, refused != nil)
	return b, nil
}

// noteOf says in words what a run of the plan pays for. begun is the node of its panel or series, at the wave or step.
func noteOf(p *plan.Priced, begun *ledger.Node, at int64, s ledger.Standing, refused bool) string {
	step, slice := p.Step(), plan.AccountOf(p.Job).Slice
	again := "it would spend again"
	if refused {
		again = "it would not fit"
	}
	if slice.Is != "" {
		again = "the run asks for --revise, because it would be a revision of " + slice.String() + ": " + again
	}
	switch panel := p.Panel(); {
	case step != nil && begun != nil:
		return step.Text()
	case step != nil:
		note := step.Text() + "; it is not paid yet"
		if !step.Alike() {
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
	limit := ledger.Decimals(a.Limit)
	out := &report.Budget{Filter: a.Filter, LimitEpsilon: limit.Epsilon, LimitDelta: limit.Delta, LimitRho: limit.Rho}
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
