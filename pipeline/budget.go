package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// budget is the ledger as one run of one job uses it. Its steps come in this
// order: released, debit, seal, published (P21).
type budget struct {
	plan    *Plan
	ids     map[string]string // of the draws that this run keeps, by name
	options Options
	ledger  *ledger.Ledger
	key     string             // what is asked
	content *table.Fingerprint // what it is asked of, once that is known
	whole   string             // the content of the whole table, for kept draws
	rows    []ledger.Rows      // of the draws that this run keeps
	ticket  *ledger.Ticket
	sealed  bool
	made    string // says that the ledger is new, "" where it is not
}

// defaultWait is how long a run waits for another one of the same job.
const defaultWait = 10 * time.Minute

// addressOf is where the job's ledger is: the one it names, or the default one in
// its folder.
func addressOf(j *job.Job) (ledger.Address, error) {
	a, err := ledger.ParseAddress(j.Budget.Ledger.Reveal(), j.Dir)
	if err != nil {
		return a, oneProblem(j, "budget.ledger", messageOf(err), "")
	}
	return a, nil
}

func messageOf(err error) string {
	var known *ledger.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return "cannot be used"
}

// released returns the outcome of an earlier run of the same job on the same data,
// published again, or nil where there is none. It waits for a run that is at work.
func (b *budget) released(ctx context.Context, t *openedTable) (*earlier, error) {
	s, err := b.wait(ctx, t, func() (ledger.Standing, error) {
		return b.ledger.Look(ctx, b.key, b.contentText())
	})
	switch {
	case err != nil:
		return nil, err
	case s.Found != nil:
		return b.again(ctx, s.Found)
	case s.Unfinished && !b.options.Again:
		return nil, fail(ExitLedger, ledger.CodeUnfinished, "an earlier run of this job was cut off after its debit, which stays spent; run with --again to spend again")
	}
	return nil, b.free()
}

// free refuses an output folder that holds anything.
func (b *budget) free() error {
	taken, err := inspectOutput(b.plan.job.Output.Dir)
	switch {
	case err != nil:
		return fail(ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: %s cannot be read", b.plan.job.Output.Dir)
	case taken == outputTaken:
		return b.taken(nil)
	}
	return nil
}

// taken says what stands at the place of the output folder: these releases, but not
// as they were made; other ones of this program; or anything else.
func (b *budget) taken(files []ledger.File) error {
	dir := b.plan.job.Output.Dir
	problem := func(message, hint string) error { return oneProblem(b.plan.job, "output.dir", message, hint) }
	r, ok := storedReport(dir)
	switch {
	case len(files) > 0 && ok && r.Job.Digest == b.plan.job.Digest():
		return problem("holds these releases, but "+difference(dir, files), "move the folder away and run the job again: what was released is put there as it was, and nothing is spent")
	case ok && r.Job.Digest == b.plan.job.Digest():
		return problem("holds what this job released before, from other data or with another version of a mechanism; it is never overwritten", "move that folder away, or name another; the run is a new release and spends again")
	case ok && r.Job.Digest != "":
		return problem("holds the releases of another job, "+r.Job.Name+", which are never overwritten", "name another folder")
	}
	if what := irreplaceable(dir); what != "" {
		return problem("is "+what+", and the run makes the folder", "name a folder that is not there yet, or one inside it")
	}
	return problem("already holds something else, which is never overwritten", "name another folder")
}

// debit makes the spend durable; nothing is drawn before it returns. It returns an
// outcome where another run was faster.
func (b *budget) debit(ctx context.Context, t *openedTable) (*earlier, error) {
	q, err := request(b.plan, b.ids)
	if err != nil {
		return nil, err
	}
	q.Plan, q.Again, q.Lease = b.key, b.options.Again, b.options.lease
	s, err := b.wait(ctx, t, func() (ledger.Standing, error) {
		q.Content = b.contentText()
		return b.ledger.Debit(ctx, q)
	})
	switch {
	case err != nil:
		return nil, err
	case s.Found != nil:
		return b.again(ctx, s.Found)
	case s.Moved:
		return nil, errMoved
	}
	b.ticket = s.Ticket
	return nil, nil
}

// wait asks until the answer is final: it finds out what the data are where the
// ledger has to compare them, and waits while another run is at work.
func (b *budget) wait(ctx context.Context, t *openedTable, ask func() (ledger.Standing, error)) (ledger.Standing, error) {
	limit := b.options.Wait
	if limit == 0 {
		limit = defaultWait
	}
	start, pause := time.Now(), 20*time.Millisecond
	for {
		s, err := ask()
		switch {
		case err != nil:
			return s, ledgerFailure(ctx, err)
		case s.Busy:
			b.options.observe(Event{Kind: "waiting"})
			if time.Since(start) >= limit {
				return s, fail(ExitLedger, "RUN_ELSEWHERE", "another run of this job is at work and did not finish in %s; nothing was drawn and nothing debited", limit)
			}
			if err := sleep(ctx, pause); err != nil {
				return s, err
			}
			pause = min(2*pause, time.Second)
			continue
		case s.Compare && b.content == nil:
			if err := b.fingerprint(ctx, t); err != nil {
				return s, sourceFailure(ctx, b.plan.job, err)
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
		return fail(ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	}
}

// end gives up the lease of a run that did not get to its seal, so that the next
// one need not wait to find that out.
func (b *budget) end(ctx context.Context) {
	if !b.sealed {
		_ = b.ledger.Drop(context.WithoutCancel(ctx), b.ticket) // it runs out by itself
	}
}

// ledgerFailure gives an error of the ledger its exit code.
func ledgerFailure(ctx context.Context, err error) error {
	var known *ledger.Error
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil && (!errors.As(err, &known) || known.Code == ledger.CodeUnreadable):
		// A call that was cut off looks like a broken connection; a commit that was cut
		// off is LEDGER_UNKNOWN, and says so.
		return fail(ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	case errors.As(err, &known):
		exit := ExitLedger
		switch known.Code {
		case ledger.CodeExhausted, ledger.CodeFilter:
			exit = ExitBudget
		case ledger.CodeChanged:
			exit = ExitSource
		}
		f := fail(exit, known.Code, "%s", known.Message)
		if known.Code == ledger.CodeUnknown {
			f.Spent = SpentUnknown
		}
		return f
	}
	return fail(ExitLedger, ledger.CodeUnreadable, "the ledger cannot be used")
}

// account is the state of the account around this job, for the report.
func (b *budget) account() *report.Budget {
	k := b.ticket
	out := budgetReport(&k.Account, k.Cost)
	out.Ledger, out.Sequence, out.Head = k.Ledger, k.Seq, k.Head
	return out
}
