package pipeline

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
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
	removeStale(filepath.Dir(j.Output.Dir))
	early := beginBudget(ctx, j, o)
	defer early.close()
	var prepared sync.WaitGroup
	prepared.Go(report.Prepare) // there is time while the mechanisms start
	defer prepared.Wait()
	plan, err := makePlan(ctx, j, o, set)
	if err != nil {
		return nil, err
	}
	if err := plan.nameSamples(); err != nil {
		return nil, err
	}
	o.observe(Event{Kind: "plan"})
	o.reach("planned")
	// A table that cannot be read leaves nothing behind, not even a new ledger.
	t, err := openTable(ctx, plan, o.Memory)
	if err != nil {
		return nil, err
	}
	defer t.close()
	o.reach("opened")
	// A job that was released before most likely is again, and needs no new page. In a
	// new ledger there is none.
	var making *paged
	page := func() {
		if making == nil {
			o.reach("paging")
			making = beginPage(&plan.report)
		}
	}
	defer func() { making.wait() }()
	if early.missing() {
		page()
	}
	budget, err := openBudget(ctx, plan, t, early)
	if err != nil {
		return nil, err
	}
	o.reach("ledger")
	budget.tidy(ctx)
	looked, err := lookedAt(ctx, budget.ledger, j)
	if err != nil {
		return nil, ledgerFailure(ctx, err)
	}
	if !budget.before(ctx) {
		page()
	}
	if done, err := budget.released(ctx, t); done != nil || err != nil {
		return done, err
	}
	if err := budget.openSamples(ctx, t); err != nil {
		return nil, err
	}
	// Whatever can go wrong with the page's figures goes wrong before the debit.
	page()
	pages, err := making.wait()
	if err != nil {
		return nil, fail(ExitBug, "REPORT", "%v; nothing was drawn", err)
	}
	out, err := newFolder(j.Output.Dir, o.disk)
	if err != nil {
		return nil, fail(ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
	}
	defer out.discard()
	if done, err := budget.debit(ctx, t, out); done != nil || err != nil {
		return done, err
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
	leased, release := budget.ledger.Keep(ctx, budget.ticket)
	defer func() {
		release()
		budget.end(ctx)
	}()
	run := &running{plan: plan, table: t, options: o, page: pages, private: newDiagnostics(o), results: map[string]sdk.Result{}, looked: looked}
	content, whole := budget.beside(leased, t), budget.wholeBeside(leased, t)
	if err := whole(content(run.draws(leased))); err != nil {
		known := codeOf(leased, err)
		budget.failed(ctx, t, known, blamesData(leased, known, err))
		return nil, known
	}
	o.reach("drawn")
	// The mechanisms have done their work: their processes end while the files are made.
	ended := make(chan struct{})
	go func() { defer close(ended); set.close() }()
	defer func() { <-ended }()
	// Too late for an interrupt: what is left takes no time and must not be cut.
	ctx = context.WithoutCancel(ctx)
	outcome, err := run.deliver(ctx, out, budget)
	if err != nil {
		known := asFailure(err, ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; their budget is spent")
		budget.failed(ctx, t, known, false)
		return nil, known
	}
	outcome.made = budget.made
	o.reach("visible")
	if err := budget.published(ctx, budget.ticket.Release); err != nil {
		return nil, err
	}
	o.reach("published")
	o.observe(Event{Kind: "published"})
	return outcome, nil
}

// running is a job whose budget is spent.
type running struct {
	plan    *Plan
	table   *openedTable
	options Options
	page    *report.Page
	private *diagnostics // nil unless asked for
	looked  *report.Look // nil where nobody looked

	mu      sync.Mutex
	results map[string]sdk.Result
}

// keep takes note of a result, without the columns that the draw withholds.
func (r *running) keep(d *draw, name string, result sdk.Result) {
	result.Columns = slices.DeleteFunc(slices.Clone(result.Columns), func(c sdk.ResultColumn) bool { return d.withheld(r.plan.job, c.Name) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[name] = result
}

func (r *running) draws(ctx context.Context) error {
	src, err := noise.NewSource()
	if err != nil {
		return fail(ExitBug, "NO_RANDOMNESS", "the operating system's random generator cannot be read")
	}
	if err := r.checkUnit(ctx); err != nil {
		return err
	}
	for _, d := range r.plan.draws {
		if err := r.draw(ctx, d, src.Child()); err != nil {
			return err
		}
	}
	return nil
}

// together is how many mechanisms are fed from one scan.
const together = 8

// draw draws one sample and makes all releases from it (P4). More releases than
// are fed at once see the same rows again.
func (r *running) draw(ctx context.Context, d *draw, src *noise.Source) error {
	r.options.observe(Event{Kind: "draw", Draw: d.name})
	// The mechanisms get ready beside the draw.
	begin := sync.OnceValues(func() (picks *picker, err error) {
		err = guarded(func() error { picks, err = r.begin(d); return err })
		return picks, err
	})
	go begin()
	scans := (len(d.releases) + together - 1) / together
	for i := range scans {
		batch := d.releases[i*together : min((i+1)*together, len(d.releases))]
		if err := r.feed(ctx, d, batch, begin, src, r.progress(d, i, scans)); err != nil {
			return err
		}
	}
	picks, err := begin()
	if err != nil {
		return err
	}
	return picks.selector.Done()
}

// begin begins to draw a sample.
func (r *running) begin(d *draw) (*picker, error) {
	if err := r.table.refused[d.name]; err != nil {
		return nil, err
	}
	selector, err := samplers.Begin(d.design, r.table.rows())
	if err != nil {
		return nil, err
	}
	picks := newPicker(selector, r.table.units[d.name], len(d.releases) > together)
	if d.kept != nil && !d.kept.reused() {
		picks.recorder = &d.kept.recorder
	}
	return picks, picks.takeAll(d.design, r.table.rows())
}

// lastWords is for how long a mechanism that takes no more rows may say why.
const lastWords = 2 * time.Second

// feed runs some releases side by side on one scan of the sample.
func (r *running) feed(ctx context.Context, d *draw, batch []*release, begin func() (*picker, error), src *noise.Source, progress func(int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &sample{table: r.table.table, content: r.table.content, job: r.plan.job, progress: progress,
		done: func(rows int64, columns []*preparer) { r.private.scanned(d.name, rows, columns) }}
	sinks := make([]sink, len(batch))
	ready := make(chan int, len(batch))
	finished := make(chan struct{}) // closed when the scan has ended, well or not
	done := make(chan error, len(batch))
	var scanErr error
	for i, rel := range batch {
		sinks[i].wants = s.want(rel.plan.Columns)
		own := src.Child()
		// Before the scan begins: whether it is faster than a process depends on the
		// number of rows (P19).
		r.options.observe(Event{Kind: "release-start", Release: rel.job.Name})
		go func() {
			err := guarded(func() error {
				return r.release(ctx, d, rel, own, func(_ context.Context, w host.RowWriter) error {
					sinks[i].rows = w
					ready <- i
					<-finished
					return cmp.Or(scanErr, context.Cause(ctx))
				})
			})
			if err != nil {
				cancel(err)
			}
			done <- err
		}()
	}
	if s.picker, scanErr = begin(); scanErr == nil {
		scanErr = guarded(func() error { return s.run(ctx, sinks, func() error { return waitAll(ctx, ready, len(batch)) }) })
	}
	var sunk *sinkError
	switch {
	case scanErr == nil:
		progress(r.table.rows())
	case errors.As(scanErr, &sunk):
		// Its mechanism knows why it takes no more rows, and is heard before all are ended.
		defer time.AfterFunc(lastWords, func() { cancel(scanErr) }).Stop()
	default:
		cancel(scanErr)
	}
	close(finished)
	errs := make([]error, len(batch))
	for i := range batch {
		errs[i] = <-done
	}
	return firstCause(errs, scanErr, context.Cause(ctx))
}

// firstCause picks what went wrong first: a plugin that fails breaks the scan
// that feeds it, and a scan that fails cancels the plugins.
func firstCause(releases []error, scan, cause error) error {
	for _, err := range releases {
		var plugin *host.Error
		if errors.As(err, &plugin) && plugin.Code != host.CodeCanceled {
			return err
		}
	}
	return errors.Join(scan, cause, errors.Join(releases...))
}

// waitAll waits until every mechanism is ready to take rows.
func waitAll(ctx context.Context, ready <-chan int, n int) error {
	for range n {
		select {
		case <-ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// release runs one mechanism and holds it to its plan.
func (r *running) release(ctx context.Context, d *draw, rel *release, src *noise.Source, feed func(context.Context, host.RowWriter) error) error {
	p, err := rel.mech.take(ctx)
	if err != nil {
		return err
	}
	defer rel.mech.put(p)
	req := sdk.ReleaseRequest{Params: rel.job.Params, Public: rel.public, Target: rel.share, Plan: rel.plan}
	result, happened, err := p.Release(ctx, req, feed, host.NewDrawer(src))
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(happened, rel.plan.Event) {
		return &host.Error{Code: host.CodeNoiseMismatch, Plugin: rel.job.Mechanism}
	}
	if src.Err() != nil {
		return fail(ExitBug, "NO_RANDOMNESS", "the operating system's random generator cannot be read")
	}
	r.keep(d, rel.job.Name, result)
	r.options.observe(Event{Kind: "release-done", Release: rel.job.Name})
	return nil
}

// errCrashed is what becomes of a panic after the debit. What the panic says is dropped: it may quote a value (P20).
var errCrashed = fail(ExitBug, "CRASHED", "dprelease failed on a fault of its own; nothing was published, and the budget is spent. Do not run the job again: it would most likely spend again and fail again. Please report the fault")

// guarded turns a panic of f into errCrashed. Every goroutine that works after the debit runs under it: a panic that
// nobody recovers from ends the process, and with it what is said of the failure.
func guarded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errCrashed
		}
	}()
	return f()
}

// blamesData reports whether the same job must fail on the same data again: not where
// the run lost its lease, was interrupted, found the table changed or unreadable, or a
// mechanism failed.
func blamesData(ctx context.Context, known, err error) bool {
	var f *Failure
	var source *table.Error
	var sampler *samplers.Error
	switch {
	case ctx.Err() != nil || !errors.As(known, &f):
		return false
	case strings.HasPrefix(f.Code, "DATA_"):
		return f.Code != ledger.CodeChanged
	case errors.As(err, &sampler):
		return sampler.Code != samplers.Misuse
	case errors.As(err, &source):
		return source.Code != table.CodeChanged && source.Code != table.CodeUnreadable
	}
	return false
}

// codeOf is all that is said of a failure once rows have been read (P20).
func codeOf(ctx context.Context, err error) error {
	var f *Failure
	var plugin *host.Error
	var source *table.Error
	var sampler *samplers.Error
	var lost *ledger.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(context.Cause(ctx), &lost):
		return fail(ExitLedger, lost.Code, "%s; nothing was published, and the budget is spent", lost.Message)
	case ctx.Err() != nil:
		return fail(ExitInterrupted, "INTERRUPTED", "the run was interrupted after its budget was spent; nothing was published")
	case errors.As(err, &sampler) && sampler.Code == samplers.NoRandomness:
		return fail(ExitBug, "NO_RANDOMNESS", "%s"+spentOnly, sampler.Detail())
	case errors.As(err, &sampler):
		return fail(ExitSource, "SAMPLE_"+strings.ToUpper(string(sampler.Code)), "%s"+spentOnly, sampler.Detail())
	case errors.As(err, &source):
		return fail(ExitSource, sourceCode(source), "%s; nothing was published, and the budget is spent", source.Error())
	case errors.As(err, &plugin):
		return fail(ExitPlugin, plugin.Code, "%s; nothing was published, and the budget is spent", plugin.Error())
	}
	return fail(ExitBug, "INTERNAL", "the run failed after its budget was spent; nothing was published")
}
