package pipeline

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/run/budget"
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
		return delayed(ctx, o, h, func(ctx context.Context, o Options) (*Outcome, error) { return runPlanned(ctx, j, o) })
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

// notLookedAt is said before the debit of a job that is new, where the ledger knows of no look at its data. It fits a terminal.
const notLookedAt = "not looked at yet: check --data finds a wrong domain before it costs the budget"

func runOnce(ctx context.Context, j *Job, o Options) (done *Outcome, err error) {
	if err := begun(j, time.Now()); err != nil {
		return nil, err
	}
	a := &attempt{job: j, o: o, watch: o.watch()}
	defer a.end()
	for _, step := range []func(context.Context) (*Outcome, error){a.prepare, a.page, a.pay} {
		if done, err := step(ctx); done != nil || err != nil {
			return done, err
		}
	}
	// From here on a failure is one of a fixed set of codes (P20), a panic among them,
	// and says that the debit stands (P21).
	defer func() {
		if recover() != nil {
			done, err = nil, run.ErrCrashed
		}
		err = failure.AfterDebit(err)
	}()
	a.o.reach("debited")
	return a.draw(ctx)
}

// attempt is a run on its way: what each step has found for those that follow.
type attempt struct {
	job      *Job
	o        Options
	watch    func(run.Progress)
	priced   *plan.Priced
	ids      map[string]string
	set      *run.Mechanisms
	table    *run.OpenedTable
	budget   *budget.Budget
	measured []*run.Measurement // of a series, else nil
	looked   *report.Look
	report   report.Report
	pages    *report.Page
	out      *output.Folder
	engine   run.Engine
	made     string // says that the ledger is new, "" where it is not
	undo     []func()
}

// later has f called when the attempt ends.
func (a *attempt) later(f func()) { a.undo = append(a.undo, f) }

// end gives back what was opened, the last first.
func (a *attempt) end() {
	for _, f := range a.undo {
		defer f()
	}
}

// prepare plans, and opens the table and the ledger. It returns an outcome where the releases were made before.
func (a *attempt) prepare(ctx context.Context) (_ *Outcome, err error) {
	j := a.job
	a.set = run.NewMechanisms(ctx, j, a.o.programs(j))
	a.later(a.set.Close)
	if far := address.Is(j.Output.Dir); far && a.o.Diagnostics {
		return nil, j.Wrong("output.dir", "is in object storage, and private facts are written to a folder of this machine only",
			"leave --diagnostics out")
	} else if !far {
		output.RemoveStale(filepath.Dir(j.Output.Dir))
	}
	if a.priced, err = plan.Make(ctx, j, a.set, remembered{}); err != nil {
		return nil, err
	}
	a.ids = budget.NewIDs(a.priced.Plan)
	asks, err := a.priced.Request(a.ids)
	if err != nil {
		return nil, err
	}
	a.watch(run.Progress{Kind: "plan"})
	a.o.reach("planned")
	if err := sizeIsPublic(ctx, j); err != nil {
		return nil, err
	}
	// A table that cannot be read leaves nothing behind, not even a new ledger.
	if a.table, err = run.OpenTable(ctx, a.priced.Plan, a.o.memory); err != nil {
		return nil, err
	}
	a.later(func() { a.table.Close() })
	if err = a.table.Examine(ctx, a.priced.Plan); err != nil {
		return nil, err
	}
	a.o.reach("opened")
	books, made, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	a.made = made
	a.later(func() { books.Close() })
	if a.budget, err = budget.New(a.priced.Plan, asks, books, a.table, a.ids, a.o.budget(a.watch)); err != nil {
		return nil, err
	}
	a.o.reach("ledger")
	a.tidy(ctx)
	if a.measured, err = a.measure(ctx); err != nil {
		return nil, err
	}
	if a.looked, err = lookedAt(ctx, a.budget.Ledger, j); err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	found, err := a.budget.Released(ctx, a.table)
	if found != nil || err != nil {
		return a.again(ctx, found, err)
	}
	if err := free(j); err != nil {
		return nil, err
	}
	return nil, a.budget.OpenSamples(ctx, a.table)
}

// page makes the report and its page without results, and the folder for them: whatever can go wrong with the page's figures
// goes wrong before the debit.
func (a *attempt) page(context.Context) (_ *Outcome, err error) {
	a.o.reach("paging")
	if err = a.describe(a.priced); err != nil {
		return nil, err
	}
	if a.out, err = output.NewFolder(a.job.Output.Dir, a.o.disk); err != nil {
		return nil, failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
	}
	a.later(a.out.Discard)
	return nil, nil
}

func (a *attempt) describe(p *plan.Priced) (err error) {
	var rep report.Report
	if rep, err = output.Describe(p, a.o.Version); err == nil {
		err = rep.Judge()
	}
	for i, d := range rep.Draws {
		if id := a.ids[d.Name]; id != "" && err == nil {
			rep.Draws[i].Kept.ID = id
		}
	}
	a.report = rep
	if err == nil {
		a.pages, err = report.NewPage(&a.report)
	}
	if err != nil {
		err = failure.New(failure.ExitBug, "REPORT", "%v; nothing was drawn", err)
	}
	return err
}

// pay asks plugins a last time, starts the machines of an engine, and debits the budget. It returns an outcome where another
// run made the releases meanwhile.
func (a *attempt) pay(ctx context.Context) (*Outcome, error) {
	if err := a.set.Witnessed(ctx, a.priced.Plan); err != nil {
		return nil, err
	}
	engine, stop, err := a.o.engine(ctx, a.priced, a.table)
	a.later(stop)
	if err != nil {
		return nil, err
	}
	a.engine = engine
	if a.looked == nil {
		a.watch(run.Progress{Kind: "not-looked-at", Message: notLookedAt})
	}
	found, err := a.budget.Debit(ctx, a.table, a.out.Temp)
	return a.again(ctx, found, err)
}

// draw draws all samples and makes all releases under the lease of the debit, and delivers them.
func (a *attempt) draw(ctx context.Context) (*Outcome, error) {
	b, t := a.budget, a.table
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
	r := run.New(a.priced.Plan, t, a.set,
		run.Options{Observe: a.watch, Diagnostics: a.o.Diagnostics, Engine: a.engine, Allotment: allotment})
	content, whole := b.Beside(leased, t), b.WholeBeside(leased, t, r)
	draws := r.Draws
	if a.measured != nil {
		draws = func(ctx context.Context) error { return r.Figures(ctx, a.measured) }
	}
	if err := whole(content(draws(leased))); err != nil {
		known := run.CodeOf(leased, err)
		b.Failed(ctx, t, known, run.BlamesData(leased, known, err))
		return nil, known
	}
	a.o.reach("drawn")
	return a.deliver(ctx, r)
}

// deliver publishes the releases of a run. It is too late for an interrupt: what is left takes no time and must not be cut.
func (a *attempt) deliver(interruptible context.Context, r *run.Runner) (*Outcome, error) {
	b, t, ctx := a.budget, a.table, context.WithoutCancel(interruptible)
	if len(r.Plan.Found.Rows) > 0 { // the report says what the releases are, and not what they could have been
		if err := a.describe(a.priced.Chosen(r.Plan)); err != nil {
			b.Failed(ctx, t, err, false)
			return nil, err
		}
	}
	a.report.Budget, a.report.Look = a.account(), a.looked
	done, err := a.publish(ctx, r, func() error { return a.o.hour.publishes(interruptible) })
	if err != nil {
		known := failure.As(err, failure.ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; their budget is spent")
		b.Failed(ctx, t, known, false)
		return nil, known
	}
	done.Made = a.made
	a.o.reach("visible")
	if err := b.Published(ctx, b.Ticket.Release); err != nil {
		return nil, err
	}
	a.o.reach("published")
	a.watch(run.Progress{Kind: "published"})
	return done, nil
}

// measure makes the steps of a series that are missing, and returns what was measured; nil where the job has no series.
func (a *attempt) measure(ctx context.Context) ([]*run.Measurement, error) {
	if len(a.job.Series) == 0 {
		if a.o.CatchUp {
			return nil, failure.New(failure.ExitUsage, "USAGE", "--catch-up: the job has no series")
		}
		return nil, nil
	}
	if a.o.Revise {
		return nil, failure.New(failure.ExitUsage, "USAGE",
			"--revise: the job has a series, whose measurements are made once; it may say revised: accept")
	}
	s, err := a.budget.Series(ctx)
	if err == nil {
		err = s.InOrder(a.o.CatchUp)
	}
	if err == nil {
		err = s.Measure(ctx, a.set, a.table)
	}
	if err == nil {
		err = s.Publishing()
	}
	if err != nil {
		return nil, err
	}
	return s.Measured(), nil
}

// publish makes all files of all releases, has them stored, and puts the folder
// that holds them in place, once hold returns.
func (a *attempt) publish(ctx context.Context, r *run.Runner, hold func() error) (*Outcome, error) {
	rep, out := a.report, a.out
	rep.Releases = slices.Clone(rep.Releases)
	results := plan.Published(r.Plan, r.Results)
	for i := range rep.Releases {
		entry := &rep.Releases[i]
		if err := output.WriteFiles(out, entry, results[entry.Name], r.Plan.Job.Output.Formats); err != nil {
			return nil, err
		}
		if err := output.WriteSidecar(out, &rep, *entry); err != nil {
			return nil, err
		}
	}
	if err := output.WriteReports(out, a.pages, &rep, output.ValuesOf(results)); err != nil {
		return nil, err
	}
	if err := a.budget.Seal(ctx, r, out.Files); err != nil {
		return nil, err
	}
	a.o.reach("sealed")
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
	return outcome(out.Final, rep, results), nil
}
