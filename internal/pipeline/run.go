package pipeline

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/run/budget"
	"github.com/dprelease/dprelease/internal/run/output"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/report"
)

// Run carries a job out. Before it reads the first row, it makes the plan, checks
// the table's structure and that the output may be written, and debits the budget
// (P21).
//
// A job that uses a kept draw is planned again where another job was faster at it:
// what it may spend depends on what was spent.
//
// With an hour to publish at, it returns at that hour, whatever happened, and no event is observed before (P33).
func Run(ctx context.Context, j *Job, o Options) (*Outcome, error) {
	h, err := newHour(cmp.Or(o.PublishAt, j.Output.PublishAt), o.clock)
	switch {
	case err != nil:
		return nil, err
	case h != nil:
		return held(ctx, o, h, func(ctx context.Context, o Options) (*Outcome, error) { return runPlanned(ctx, j, o) })
	}
	return runPlanned(ctx, j, o)
}

func runPlanned(ctx context.Context, j *Job, o Options) (*Outcome, error) {
	for range budget.MostPlans {
		if done, err := runOnce(ctx, j, o); !errors.Is(err, budget.ErrMoved) {
			return done, err
		}
	}
	return nil, budget.ErrMoved
}

func runOnce(ctx context.Context, j *Job, o Options) (done *Outcome, err error) {
	if err := begun(j, time.Now()); err != nil {
		return nil, err
	}
	set := run.NewMechanisms(ctx, j, o.programs(j))
	defer set.Close()
	watch := o.watch()
	spending := o.budget(watch)
	if far := address.Is(j.Output.Dir); far && o.Diagnostics {
		return nil, failure.InJob(j, "output.dir", "is in object storage, and private facts are written to a folder of this machine only", "leave --diagnostics out")
	} else if !far {
		output.RemoveStale(filepath.Dir(j.Output.Dir))
	}
	priced, err := plan.Make(ctx, j, set, budget.Remembered{})
	if err != nil {
		return nil, err
	}
	ids, err := budget.NewIDs(priced)
	if err != nil {
		return nil, err
	}
	watch(run.Event{Kind: "plan"})
	o.reach("planned")
	if err := budget.SizeIsPublic(ctx, j); err != nil {
		return nil, err
	}
	// A table that cannot be read leaves nothing behind, not even a new ledger.
	t, err := run.OpenTable(ctx, priced.Planned, o.memory)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	o.reach("opened")
	b, err := budget.Open(ctx, priced, t, ids, spending)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	o.reach("ledger")
	b.Tidy(ctx)
	measured, err := o.measure(ctx, priced, t, set, b)
	if err != nil {
		return nil, err
	}
	looked, err := budget.LookedAt(ctx, b.Ledger, j)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	if found, err := b.Released(ctx, t); found != nil || err != nil {
		return again(j, found), err
	}
	if err := b.OpenSamples(ctx, t); err != nil {
		return nil, err
	}
	// Whatever can go wrong with the page's figures goes wrong before the debit.
	o.reach("paging")
	describe := func(p *plan.Priced) (rep report.Report, page *report.Page, err error) {
		if rep, err = output.Describe(p, o.Version); err == nil {
			err = rep.Judge()
		}
		for i, d := range rep.Draws {
			if id := ids[d.Name]; id != "" && err == nil {
				rep.Draws[i].Kept.ID = id
			}
		}
		if err == nil {
			page, err = report.NewPage(&rep)
		}
		if err != nil {
			err = failure.New(failure.ExitBug, "REPORT", "%v; nothing was drawn", err)
		}
		return rep, page, err
	}
	rep, page, err := describe(priced)
	if err != nil {
		return nil, err
	}
	out, err := output.NewFolder(j.Output.Dir, o.disk)
	if err != nil {
		return nil, failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
	}
	defer out.Discard()
	if err := set.Witnessed(ctx, priced.Planned); err != nil {
		return nil, err
	}
	engine, stop, err := o.engine(ctx, priced, t)
	if err != nil {
		return nil, err
	}
	defer stop()
	if found, err := b.Debit(ctx, t, out); found != nil || err != nil {
		return again(j, found), err
	}
	// From here on a failure is one of a fixed set of codes (P20), a panic among them,
	// and says that the debit stands (P21).
	defer func() {
		if recover() != nil {
			done, err = nil, run.ErrCrashed
		}
		err = failure.AfterDebit(err)
	}()
	o.reach("debited")
	leased, release := b.Ledger.Keep(ctx, b.Ticket)
	defer func() {
		release()
		b.End(ctx)
	}()
	if err := t.Load(leased); err != nil {
		known := run.CodeOf(leased, err)
		b.Failed(ctx, t, known, false)
		return nil, known
	}
	allotment, err := b.Allotment(leased)
	if err != nil {
		return nil, err
	}
	r := run.New(priced.Planned, t, set, run.Options{Observe: watch, Diagnostics: o.Diagnostics, Engine: engine, Allotment: allotment})
	content, whole := b.Beside(leased, t), b.WholeBeside(leased, t, r)
	draws := r.Draws
	if measured != nil {
		draws = func(ctx context.Context) error { return r.Figures(ctx, measured) }
	}
	if err := whole(content(draws(leased))); err != nil {
		known := run.CodeOf(leased, err)
		b.Failed(ctx, t, known, run.BlamesData(leased, known, err))
		return nil, known
	}
	o.reach("drawn")
	// Too late for an interrupt: what is left takes no time and must not be cut.
	interruptible := ctx
	ctx = context.WithoutCancel(ctx)
	if r.Plan.CapsFound() { // the report says what the releases are, and not what they could have been
		if rep, page, err = describe(priced.Chosen(r.Plan)); err != nil {
			b.Failed(ctx, t, err, false)
			return nil, err
		}
	}
	rep.Budget, rep.Look = b.Account(), looked
	outcome, err := deliver(ctx, r, rep, page, out, b, o.reach, func() error { return o.hour.publishes(interruptible) })
	if err != nil {
		known := failure.As(err, failure.ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; their budget is spent")
		b.Failed(ctx, t, known, false)
		return nil, known
	}
	o.reach("visible")
	if err := b.Published(ctx, b.Ticket.Release); err != nil {
		return nil, err
	}
	o.reach("published")
	watch(run.Event{Kind: "published"})
	return outcome, nil
}

// measure makes the steps of a series that are missing, and returns what was measured; nil where the job has no series.
func (o Options) measure(ctx context.Context, p *plan.Priced, t *run.OpenedTable, set *run.Mechanisms, b *budget.Budget) ([]*run.Measurement, error) {
	if p.Step() == nil {
		if o.CatchUp {
			return nil, failure.New(failure.ExitUsage, "USAGE", "--catch-up: the job has no series")
		}
		return nil, nil
	}
	if o.Revise {
		return nil, failure.New(failure.ExitUsage, "USAGE", "--revise: the job has a series, whose measurements are made once; it may say revised: accept")
	}
	s, err := b.Series(ctx)
	if err == nil {
		err = s.InOrder(o.CatchUp)
	}
	if err == nil {
		err = s.Measure(ctx, set, t)
	}
	if err == nil {
		err = s.Publishing()
	}
	if err != nil {
		return nil, err
	}
	return s.Measured(), nil
}

// again is the outcome of a run that found its releases made: nil where there are none.
func again(j *Job, e *budget.Earlier) *Outcome {
	if e == nil {
		return nil
	}
	return &Outcome{Already: true, Dir: e.Dir, Report: e.Report, Results: e.Results, asked: j.Output.Formats}
}

// deliver makes all files of all releases, has them stored, and puts the folder
// that holds them in place, once hold returns.
func deliver(ctx context.Context, r *run.Runner, rep report.Report, page *report.Page, out *output.Folder, b *budget.Budget, reach func(string), hold func() error) (*Outcome, error) {
	rep.Releases = append([]report.Release(nil), rep.Releases...)
	for i := range rep.Releases {
		entry := &rep.Releases[i]
		if err := output.WriteFiles(out, entry, r.Results[entry.Name], r.Plan.Job.Output.Formats); err != nil {
			return nil, err
		}
		if err := output.WriteSidecar(out, &rep, *entry); err != nil {
			return nil, err
		}
	}
	if err := output.WriteReports(out, page, &rep, output.ValuesOf(r.Results)); err != nil {
		return nil, err
	}
	if err := b.Seal(ctx, r, out.Files); err != nil {
		return nil, err
	}
	reach("sealed")
	if err := hold(); err != nil {
		return nil, err
	}
	if r.Private != nil {
		if err := output.WriteDiagnostics(out, r.Private.Content(rep.Job, r.Table.Rows())); err != nil {
			return nil, err
		}
	}
	if err := out.Publish(); err != nil {
		return nil, output.Unpublished(err)
	}
	return &Outcome{Dir: out.Final, Report: rep, Results: r.Results, made: b.Made}, nil
}
