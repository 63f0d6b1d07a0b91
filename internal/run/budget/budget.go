package budget

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Budget is the ledger as one run of one job uses it. Its steps come in this
// order: released, debit, seal, published (P21).
type Budget struct {
	plan    *planned.Plan
	asks    ledger.Request    // the plan in the words of the ledger, with the price that it proposes
	ids     map[string]string // of the draws that this run keeps, by name
	options Options
	Ledger  *ledger.Ledger
	key     string             // the job's digest
	content *table.Fingerprint // of the data, once that is known
	columns []ledger.Column    // the same, column by column
	tables  []ledger.Table     // what the job takes for private and for public
	whole   string             // the content of the whole table, for kept draws
	rows    []ledger.Rows      // of the draws that this run keeps
	Ticket  *ledger.Ticket
	sealed  bool
	failure *ledger.Failure // how the run failed after its debit
}

// New is the budget of a run that has opened its ledger and its table. asks proposes steps and prices. ids are those of the draws
// that the run keeps, by name.
func New(p *planned.Plan, asks ledger.Request, l *ledger.Ledger, t *run.OpenedTable, ids map[string]string,
	o Options) (*Budget, error) {
	if p.Held() != nil || p.Designed() != nil {
		return nil, errUnsound
	}
	tables, err := tablesOf(p.Job, l, t)
	if err != nil {
		return nil, err
	}
	return &Budget{plan: p, asks: p.Asks(asks), tables: tables, ids: ids, options: o, Ledger: l, key: p.Job.Digest(),
		columns: columnTags(p, l, t)}, nil
}

var errUnsound = failure.New(failure.ExitBug, "PLAN_UNSOUND",
	"the plan rests on other facts than those of its job; nothing was drawn and nothing debited")

// defaultWait is the time that a run waits for another one of the same job.
const defaultWait = 10 * time.Minute

// Released returns what an earlier run of the same job on the same data released, nil where there is none. It waits for a run
// that is at work.
func (b *Budget) Released(ctx context.Context, t *run.OpenedTable) (*ledger.Release, error) {
	s, err := b.wait(ctx, t, func() (ledger.Standing, error) {
		s, err := b.Ledger.Look(ctx, b.key, b.contentText())
		if err != nil || s.Found != nil || s.Busy || s.Compare || s.Hopeless() {
			return s, err
		}
		s.Compare, err = b.Ledger.Revised(ctx, b.request())
		return s, err
	})
	switch {
	case err != nil:
		return nil, err
	case s.Found != nil:
		return s.Found, nil
	case s.Hopeless():
		return nil, hopeless(s.Failed)
	case s.Unfinished && !b.options.Again && planned.StepOf(b.plan.Job) == nil: // a series publishes again for nothing
		return nil, failure.OfLedger(ctx, s.Refusal())
	}
	return nil, nil
}

// hopeless repeats how an earlier run failed on the same data.
func hopeless(f *ledger.Failure) error {
	known := failure.New(f.Exit, f.Code,
		"%s; an earlier run failed so on the same data, and its budget stays spent: trying again cannot help; "+
			"mend the table, or what the job says of it; nothing was drawn and nothing debited",
		strings.TrimSuffix(f.Message, failure.SpentOnly))
	known.Again = failure.RetryNo
	return known
}

// Debit makes the spend durable; nothing is drawn before it returns. It returns what another run released that was faster.
// The run makes its output in folder, "" where nobody could find that again.
func (b *Budget) Debit(ctx context.Context, t *run.OpenedTable, folder string) (*ledger.Release, error) {
	q := Pinned(b.request(), b.plan, t)
	q.SliceKind = t.SliceKind(b.plan.Job)
	var err error
	if q.Folder, err = filepath.Abs(folder); err == nil {
		q.Host, err = os.Hostname()
	}
	if err != nil || folder == "" {
		q.Folder = ""
	}
	s, err := b.wait(ctx, t, func() (ledger.Standing, error) {
		q.Content, q.Columns = b.contentText(), b.columns
		return b.Ledger.Debit(ctx, q)
	})
	switch {
	case err != nil:
		return nil, err
	case s.Found != nil:
		return s.Found, nil
	case s.Hopeless():
		return nil, hopeless(s.Failed)
	case s.Moved:
		return nil, ErrMoved
	}
	b.Ticket = s.Ticket
	return nil, nil
}

// request is the run's request to the ledger.
func (b *Budget) request() ledger.Request {
	q := b.asks
	q.Plan, q.Again, q.Lease, q.Revise = b.key, b.options.Again, b.options.Lease, b.options.Revise
	q.Content, q.Columns, q.Tables = b.contentText(), b.columns, b.tables
	if planned.StepOf(b.plan.Job) != nil { // what is published is arithmetic on the measurements, which are paid for
		q.Free, q.Again, q.Revise, q.Steps, q.Charges = true, true, true, nil, nil
	}
	return q
}

// wait asks until the answer is final. It takes the fingerprint of the data where the ledger
// must compare them, and waits while another run is at work.
func (b *Budget) wait(ctx context.Context, t *run.OpenedTable, ask func() (ledger.Standing, error)) (ledger.Standing, error) {
	limit := b.options.Wait
	if limit == 0 {
		limit = defaultWait
	}
	start, pause := time.Now(), 20*time.Millisecond
	for {
		s, err := ask()
		switch {
		case err != nil:
			return s, failure.OfLedger(ctx, err)
		case s.Busy:
			b.options.Observe(run.Progress{Kind: "waiting"})
			if time.Since(start) >= limit {
				return s, failure.New(failure.ExitLedger, "RUN_ELSEWHERE",
					"another run of this job is at work and did not finish in %s; nothing was drawn and nothing debited", limit)
			}
			if err := sleep(ctx, pause); err != nil {
				return s, err
			}
			pause = min(2*pause, time.Second)
			continue
		case s.Compare && b.content == nil:
			err := b.fingerprint(ctx, t)
			if err != nil && t.Pending() && ctx.Err() == nil {
				// The query failed on a row. Before the debit that must look like any other change of the data (P33); the run
				// meets the same error after it.
				b.content = &table.Fingerprint{}
				continue
			}
			if err != nil {
				return s, run.SourceFailure(ctx, b.plan.Job, err)
			}
			continue
		}
		return s, nil
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	}
}

// End gives up the lease of a run that did not get to its seal, so that the next
// one need not wait to find that out, and keeps how it failed.
func (b *Budget) End(ctx context.Context) {
	if !b.sealed {
		_ = b.Ledger.End(context.WithoutCancel(ctx), b.Ticket, b.failure) // the lease runs out by itself
	}
}

// Failed notes how the run failed after its debit. blame says that the data are to blame.
// Then the failure is bound to the data: the same job fails on them every time, or for a
// sample as soon as it is drawn as before.
func (b *Budget) Failed(ctx context.Context, t *run.OpenedTable, err error, blame bool) {
	var f *failure.Failure
	if !errors.As(err, &f) {
		return
	}
	b.failure = &ledger.Failure{Exit: f.Exit, Code: f.Code, Message: f.Message}
	if !blame {
		return
	}
	if b.content != nil || b.fingerprint(context.WithoutCancel(ctx), t) == nil {
		b.failure.Content = b.contentText()
	}
}

// Options say how a run uses its ledger. See pipeline.Options for those that a user sets.
type Options struct {
	Again  bool
	Revise bool
	Wait   time.Duration

	Lease   time.Duration      // of the run; 0 is the ledger's
	Observe func(run.Progress) // told what happens, one call at a time
	Reach   func(point string) // told when the run gets to a named point
}

// Seal makes the bytes of the releases durable before anybody can see them.
func (b *Budget) Seal(ctx context.Context, r *run.Runner, files []ledger.File) error {
	b.Ticket.Columns = b.columns
	if planned.StepOf(b.plan.Job) == nil { // a series publishes arithmetic on its measurements
		b.Ticket.Made = b.made(r)
	}
	if err := b.Ledger.Seal(ctx, b.Ticket, b.contentText(), files, b.rows...); err != nil {
		if f, ok := failure.OfLedger(ctx, err).(*failure.Failure); ok && f.Code == ledger.CodeSame {
			// Another account was charged while this run read the table.
			return failure.New(f.Exit, f.Code, "%s"+failure.SpentOnly, f.Message)
		}
		return failure.OfLedger(ctx, err)
	}
	b.sealed = true
	return nil
}

// made puts what a run did into the words of the ledger: node by node what was released from it.
func (b *Budget) made(r *run.Runner) map[string]ledger.Made {
	out := map[string]ledger.Made{}
	var rest []privacy.Event
	for i, e := range r.Made() {
		d := b.plan.Draws[i]
		if d.Kept == nil {
			rest = append(rest, e)
			continue
		}
		out[d.SampleID(b.ids[d.Name])] = ledger.Made{Event: e}
	}
	switch {
	case len(rest) == 0:
	case slices.Contains(rest, nil):
	case b.plan.Table != nil:
		out[b.plan.Table.SampleID("")] = ledger.Made{Event: samplers.Sampling(b.plan.Table.Design).With(privacy.Together(rest))}
	case b.plan.Panel != nil:
		out[b.plan.Panel.ID] = ledger.Made{Event: privacy.Together(rest)}
	default:
		out[""] = ledger.Made{Event: privacy.Together(rest)}
	}
	return out
}

// Published makes it durable that the output is in place.
func (b *Budget) Published(ctx context.Context, release int64) error {
	if err := b.Ledger.Publish(ctx, release); err != nil {
		code := failure.OfLedger(ctx, err).(*failure.Failure).Code
		f := failure.New(failure.ExitLedger, code,
			"the releases are published, and the ledger does not know it yet (%s): "+
				"once that is mended, run the job again, which spends nothing",
			failure.Message(err))
		if failure.CodeOf(code).Retry == failure.RetryNo {
			return f // a full disk, for example
		}
		return failure.Resting(f)
	}
	return nil
}
