package pipeline

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/report"
)

// Run carries a job out. What is left of the table's first row: the plan, the
// check that the output may be written, the checks of the table's structure, and
// the debit (P21).
//
// A job that uses a kept draw is planned again where another job was faster at it:
// what it may spend depends on what was spent.
func Run(ctx context.Context, j *job.Job, o Options) (*Outcome, error) {
	for range mostPlans {
		if done, err := runOnce(ctx, j, o); !errors.Is(err, errMoved) {
			return done, err
		}
	}
	return nil, errMoved
}

func runOnce(ctx context.Context, j *job.Job, o Options) (done *Outcome, err error) {
	set := newMechanisms(ctx, j, o)
	defer set.close()
	o.Observer = serially(o.Observer)
	priced, err := makePlan(ctx, j, set, remembered{})
	if err != nil {
		return nil, err
	}
	ids, err := newIDs(priced)
	if err != nil {
		return nil, err
	}
	o.observe(Event{Kind: "plan"})
	o.reach("planned")
	// A table that cannot be read leaves nothing behind, not even a new ledger.
	t, err := openTable(ctx, priced, o.Memory)
	if err != nil {
		return nil, err
	}
	defer t.close()
	o.reach("opened")
	b, err := openBudget(ctx, priced, ids, o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	o.reach("ledger")
	looked, err := lookedAt(ctx, b.ledger, j)
	if err != nil {
		return nil, ledgerFailure(ctx, err)
	}
	if found, err := b.released(ctx, t); found != nil || err != nil {
		return again(j, found), err
	}
	if err := b.openSamples(ctx, t); err != nil {
		return nil, err
	}
	// Whatever can go wrong with the page's figures goes wrong before the debit.
	o.reach("paging")
	rep, err := newReport(priced, o.Version)
	if err != nil {
		return nil, fail(ExitBug, "REPORT", "%v; nothing was drawn", err)
	}
	for i, d := range rep.Draws {
		if id := ids[d.Name]; id != "" {
			rep.Draws[i].Kept.ID = id
		}
	}
	page, err := report.NewPage(&rep)
	if err != nil {
		return nil, fail(ExitBug, "REPORT", "%v; nothing was drawn", err)
	}
	out, err := newFolder(j.Output.Dir, o.disk)
	if err != nil {
		return nil, fail(ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
	}
	defer out.discard()
	if found, err := b.debit(ctx, t); found != nil || err != nil {
		return again(j, found), err
	}
	// From here on a failure is one of a fixed set of codes (P20), a panic among them,
	// and says that the debit stands (P21).
	defer func() {
		if recover() != nil {
			done, err = nil, errCrashed
		}
		err = afterDebit(err)
	}()
	o.reach("debited")
	leased, release := b.ledger.Keep(ctx, b.ticket)
	defer func() {
		release()
		b.end(ctx)
	}()
	r := newRunning(priced, t, set, o)
	content, whole := b.beside(leased, t), b.wholeBeside(leased, t, r)
	if err := whole(content(r.draws(leased))); err != nil {
		return nil, codeOf(leased, err)
	}
	o.reach("drawn")
	// Too late for an interrupt: what is left takes no time and must not be cut.
	ctx = context.WithoutCancel(ctx)
	rep.Budget, rep.Look = b.account(), looked
	outcome, err := deliver(ctx, r, rep, page, out, b)
	if err != nil {
		return nil, asFailure(err, ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; their budget is spent")
	}
	o.reach("visible")
	if err := b.published(ctx, b.ticket.Release); err != nil {
		return nil, err
	}
	o.reach("published")
	o.observe(Event{Kind: "published"})
	return outcome, nil
}

// again is the outcome of a run that found its releases made: nil where there are none.
func again(j *job.Job, e *earlier) *Outcome {
	if e == nil {
		return nil
	}
	return &Outcome{Already: true, Dir: e.dir, Report: e.report, results: e.results, asked: j.Output.Formats}
}

// deliver makes all files of all releases, has them stored, and puts the folder
// that holds them in place.
func deliver(ctx context.Context, r *running, rep report.Report, page *report.Page, out *folder, b *budget) (*Outcome, error) {
	rep.Releases = append([]report.Release(nil), rep.Releases...)
	for i := range rep.Releases {
		entry := &rep.Releases[i]
		if err := writeFiles(out, entry, r.results[entry.Name], r.plan.job.Output.Formats); err != nil {
			return nil, err
		}
		if err := writeSidecar(out, &rep, *entry); err != nil {
			return nil, err
		}
	}
	if err := writeReports(out, page, &rep, valuesOf(r.results)); err != nil {
		return nil, err
	}
	if err := b.seal(ctx, out.files); err != nil {
		return nil, err
	}
	r.options.reach("sealed")
	if r.private != nil {
		if err := writeDiagnostics(out, r.private.content(rep.Job, r.table.rows())); err != nil {
			return nil, err
		}
	}
	if err := out.publish(); err != nil {
		return nil, resting(fail(ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; they are stored, run the job again"))
	}
	return &Outcome{Dir: out.final, Report: rep, results: r.results, made: b.made}, nil
}
