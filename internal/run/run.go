package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Runner is a job whose budget is spent.
type Runner struct {
	Plan      *planned.Plan // with what the run has found so far
	Table     *OpenedTable
	options   Options
	Private   *diagnostics // nil unless asked for
	set       *Mechanisms
	Recorders map[string]*samplers.Recorder // of the draws that this run keeps, by name
	views     []*tableView                  // its tables
	index     *tableNumbers                 // of the units of all tables, nil where nobody numbers them
	begins    Begins
	// population is the number of units: of rows, where a row is one.
	population int64
	part       *remotePart // of the table, on a machine that adds up for another one; else nil
	sums       *sums       // what such machines have added up, else nil

	mu      sync.Mutex
	Results map[string]sdk.Result    // as they were released
	made    map[string]privacy.Event // what each release, and each selection of keys, did to the sample
}

// Made lists what the run did to the data, draw by draw in the order of the plan: nil for a draw of which something was not
// made.
//
// # Contract
//
// The event of a release is noted after the host held its noise to it, and that of a draw is of the design that was begun.
// Proof: ../../ledger/bill.proof.md. // P38
func (r *Runner) Made() []privacy.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]privacy.Event, len(r.Plan.Draws))
	for i, d := range r.Plan.Draws {
		var inner []privacy.Event
		shown := map[string]bool{} // selections whose numbers a release shows, which did nothing else
		for _, rel := range d.Releases {
			by := rel.Job.Name
			if rel.Tally != nil {
				by, shown[by] = keysOf(by), true
			}
			inner = append(inner, r.made[by])
		}
		for _, k := range d.Keys {
			if !shown[k.Job.Name] {
				inner = append(inner, r.made[keysOf(k.Job.Name)])
			}
		}
		if !slices.Contains(inner, nil) {
			out[i] = d.Design.Event(privacy.Together(inner))
		}
	}
	return out
}

// keysOf names the selection of keys of a release among what a run makes.
func keysOf(release string) string { return release + "\nkeys" }

// note takes note of what was done to the sample of a draw.
func (r *Runner) note(name string, e privacy.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[name] = e
}

// keep takes note of a result.
func (r *Runner) keep(rel *planned.Release, result sdk.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Results[rel.Job.Name], r.made[rel.Job.Name] = result, rel.Event()
}

// New begins to carry out a plan.
func New(p *planned.Plan, t *OpenedTable, set *Mechanisms, o Options) *Runner {
	r := &Runner{
		begins: begins, Plan: p, Table: t, set: set, options: o, Private: newDiagnostics(o),
		Results: map[string]sdk.Result{}, made: map[string]privacy.Event{}, Recorders: map[string]*samplers.Recorder{},
	}
	for _, one := range t.Parts() {
		r.views = append(r.views, &tableView{job: p.Job.Of(one.name), table: one})
	}
	for _, d := range p.Draws {
		if d.Kept != nil && !d.Kept.Reused() {
			r.Recorders[d.Name] = &samplers.Recorder{}
		}
	}
	return r
}

// Draws draws all samples and makes all releases.
func (r *Runner) Draws(ctx context.Context) error {
	if err := r.Plan.Held(); err != nil {
		return err
	}
	src, err := noise.NewSource()
	if err != nil {
		return errNoRandomness
	}
	if r.options.Engine != nil {
		return r.distribute(ctx, src)
	}
	return r.drawAll(ctx, src)
}

var errNoRandomness = failure.New(failure.ExitBug, "NO_RANDOMNESS", "the operating system's random generator cannot be read")

// drawAll draws all samples of the rows that this machine has.
func (r *Runner) drawAll(ctx context.Context, src *noise.Source) error {
	defer r.closeUnits()
	if err := r.settleWave(ctx); err != nil {
		return err
	}
	if err := r.settleUnits(ctx, src.Child()); err != nil {
		return err
	}
	for i := range r.Plan.Draws {
		if err := r.draw(ctx, i, src.Child()); err != nil {
			return err
		}
	}
	return nil
}

// together is the number of mechanisms that are fed from one scan.
const together = 8

// draw draws one sample and makes all releases from it (P4). More releases than
// are fed at once see the same rows again.
func (r *Runner) draw(ctx context.Context, i int, src *noise.Source) error {
	d := r.Plan.Draws[i]
	r.options.Observe(Progress{Kind: "draw", Draw: d.Name})
	picks, err := r.begin(ctx, d)
	if err != nil {
		return err
	}
	// The number of scans does not depend on what is found.
	searches, others := r.batches(d.Releases, isSearch), r.batches(d.Releases, isOther)
	scan, scans := 0, len(searches)+len(others)
	for _, rel := range d.Releases {
		if choosesCap(rel) {
			scan, scans = scan+1, scans+1
		}
	}
	if err := r.chooseCaps(ctx, i, picks, src, func(n int) func(int64) { return r.progress(d, n, scans) }); err != nil {
		return err
	}
	if err := r.choose(ctx, r.Plan.Draws[i], picks, src); err != nil {
		return err
	}
	for _, rel := range r.Plan.Draws[i].Releases {
		if empty(rel) { // no value was selected: there is nothing to ask the mechanism
			r.keep(rel, nothing(rel))
		}
	}
	searches = r.batches(r.Plan.Draws[i].Releases, isSearch)
	for _, batch := range searches {
		if err := r.feed(ctx, d, batch, picks, src, r.progress(d, scan, scans)); err != nil {
			return err
		}
		scan++
	}
	if len(searches) > 0 { // bounds are found before anything reads a column over them
		if err := r.bound(ctx, searches); err != nil {
			return err
		}
	}
	for _, batch := range r.batches(r.Plan.Draws[i].Releases, isOther) {
		if err := r.feed(ctx, d, batch, picks, src, r.progress(d, scan, scans)); err != nil {
			return err
		}
		scan++
	}
	return picks.selector.Done()
}

// empty reports whether a release has groups, and no value of them was selected.
func empty(rel *planned.Release) bool { return rel.Cells != nil && rel.Cells.Len() == 0 }

// isSearch reports whether a release is run, and finds the bounds of a column; isOther whether
// it is run, and does not. One that shows the numbers of a selection is not run.
func isSearch(rel *planned.Release) bool { return !empty(rel) && rel.Job.Bounds != "" }
func isOther(rel *planned.Release) bool {
	return !empty(rel) && rel.Tally == nil && rel.Job.Bounds == "" && !rel.Job.ChoosesCap()
}

// bound plans with the bounds that searches found.
func (r *Runner) bound(ctx context.Context, searches [][]*planned.Release) (err error) {
	found := map[string]planned.Bounds{}
	for _, rel := range slices.Concat(searches...) {
		if found[rel.Job.Table] == nil {
			found[rel.Job.Table] = planned.Bounds{}
		}
		found[rel.Job.Table][rel.Job.Bounds] = r.Results[rel.Job.Name].Columns[0].Float64[0]
	}
	r.Plan, err = r.Plan.With(ctx, planned.Found{Bounds: found})
	return err
}

// begin begins to draw a sample.
func (r *Runner) begin(ctx context.Context, d *planned.Draw) (*picker, error) {
	strata, err := r.strata(ctx, d)
	if err != nil {
		return nil, err
	}
	selector, err := r.begins(d, r.population, strata)
	if err != nil {
		return nil, err
	}
	bounded := slices.ContainsFunc(d.Releases, func(rel *planned.Release) bool { return rel.Job.Bounds != "" })
	picks := newPicker(selector, strata, len(d.Releases) > together || len(d.Keys) > 0 || bounded)
	picks.recorder = r.Recorders[d.Name]
	if err := picks.takeAll(d.Design, r.population); err != nil || r.index == nil {
		return picks, err
	}
	return picks, picks.drawUnits(r.index.index, r.population)
}

// closeUnits gives up the files of units that did not fit in memory.
func (r *Runner) closeUnits() {
	for _, v := range r.views {
		v.close()
	}
	if r.index != nil {
		r.index.Close()
	}
}

// lastWords is the time in which a mechanism that takes no more rows may say why.
const lastWords = 2 * time.Second

// feed runs some releases side by side on one scan of the sample.
func (r *Runner) feed(ctx context.Context, d *planned.Draw, batch []*planned.Release, picks *picker, src *noise.Source,
	progress func(int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	of := r.view(batch[0])
	folded := of.folds() || batch[0].Job.CountsUnits()
	if picks = picks.on(of); batch[0].Job.CountsUnits() {
		picks = picks.ofUnits()
	}
	s := &sample{picker: picks, source: of.source(batch[0]), content: of.table.Content, job: of.job, lookups: of.table.lookups,
		found:  r.Plan.Found.Bounds[batch[0].Job.Table],
		folded: folded, present: folded && (batch[0].Job.Where.Said() || of.job.Dataset.MayVanish()), progress: progress,
		done: func(rows int64, columns []*Preparer) { r.Private.scanned(d.Name, rows, columns) }}
	sinks := make([]sink, len(batch))
	ready := make(chan int, len(batch))
	finished := make(chan struct{}) // closed when the scan has ended, well or not
	done := make([]chan error, len(batch))
	var scanErr error
	for i, rel := range batch {
		sinks[i] = newSink(s, rel, of.capped(rel))
		own := src.Child()
		done[i] = make(chan error, 1)
		// Before the scan begins: whether it is faster than a process depends on the
		// number of rows (P19).
		r.options.Observe(Progress{Kind: "release-start", Release: rel.Job.Name})
		go func() {
			err := guarded(func() error {
				return r.release(ctx, rel, own, func(_ context.Context, w host.RowWriter) error {
					sinks[i].to = w
					ready <- i
					<-finished
					return cmp.Or(scanErr, context.Cause(ctx))
				})
			})
			// One that only lost the rows, because another takes no more, ends nobody.
			if fed := new(sinkError); err != nil && !errors.As(err, &fed) {
				cancel(err)
			}
			done[i] <- err
		}()
	}
	scanErr = guarded(func() error { return s.run(ctx, sinks, func() error { return waitAll(ctx, ready, len(batch)) }) })
	var sunk *sinkError
	switch {
	case scanErr == nil:
		progress(max(r.population, r.Table.Rows()))
	case errors.As(scanErr, &sunk):
		// Its mechanism knows why it takes no more rows, and is heard before all are ended.
		defer time.AfterFunc(lastWords, func() { cancel(scanErr) }).Stop()
	default:
		cancel(scanErr)
	}
	close(finished)
	errs := make([]error, len(batch))
	for i, rel := range batch {
		// In the order of the job: which mechanism is ready first depends on the rows (P33).
		if errs[i] = <-done[i]; errors.Join(errs...) == nil {
			errs[i] = guarded(func() error { r.finished(rel); return nil })
		}
	}
	return firstCause(errs, scanErr, context.Cause(ctx))
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
func (r *Runner) release(ctx context.Context, rel *planned.Release, src *noise.Source,
	feed func(context.Context, host.RowWriter) error) error {
	var result sdk.Result
	var err error
	switch {
	case rel.Apart:
		result, err = r.apart(ctx, rel, src, feed)
	default:
		if result, err = r.once(ctx, rel, src, feed); rel.Cells != nil && r.part == nil {
			result = rel.Cells.Result(result)
		}
	}
	if err != nil || r.part != nil {
		return err
	}
	r.keep(rel, result)
	return nil
}

// finished reports to the observer that a release is made, unless a part of it is.
func (r *Runner) finished(rel *planned.Release) {
	if r.part == nil {
		r.options.Observe(Progress{Kind: "release-done", Release: rel.Job.Name})
	}
}

// once runs a mechanism once.
func (r *Runner) once(ctx context.Context, rel *planned.Release, src *noise.Source,
	feed func(context.Context, host.RowWriter) error) (sdk.Result, error) {
	if r.part != nil {
		return sdk.Result{}, r.part.add(ctx, rel, r.alone(rel), feed)
	}
	mech, err := r.set.known[rel.Job.Mechanism]()
	if err != nil {
		return sdk.Result{}, err
	}
	p, done, err := mech.take(ctx, r.alone(rel))
	if err != nil {
		return sdk.Result{}, err
	}
	defer done()
	var result sdk.Result
	switch reader, ok := p.(*host.Plugin); {
	case r.sums != nil && ok:
		result, err = reader.Finish(ctx, rel.Request(), r.sums.next(rel.Job.Name), host.NewDrawer(src))
	default:
		result, err = p.Release(ctx, rel.Request(), feed, host.NewDrawer(src))
	}
	if err != nil {
		return sdk.Result{}, err
	}
	if err := late(rel, mech, &result); err != nil {
		return sdk.Result{}, err
	}
	if src.Err() != nil {
		return sdk.Result{}, errNoRandomness
	}
	return result, nil
}

// late confines the result of a plugin that declared its finish after rows were read: the constants of
// the finish may come from one.
func late(rel *planned.Release, mech *mechanism, result *sdk.Result) error {
	if !rel.Replanned || mech.builtin || rel.Plan.Finish == nil {
		return nil
	}
	if err := host.Hold(rel.Request(), result); err != nil {
		return &host.Error{Code: host.CodeLattice, Plugin: rel.Job.Mechanism}
	}
	return nil
}

// apart keeps the rows of the sample by cell, and then runs the mechanism on each cell
// (P11). Cells without rows are released like the others.
func (r *Runner) apart(ctx context.Context, rel *planned.Release, src *noise.Source,
	feed func(context.Context, host.RowWriter) error) (sdk.Result, error) {
	// As many releases as are fed at once share the memory of the table, and rows that are read again take as much as those in
	// memory.
	rows := newSpool(rel.Cells.Len(), r.view(rel).table.memory/(2*together))
	defer rows.Close()
	if err := feed(ctx, rows); err != nil {
		return sdk.Result{}, err
	}
	parts := make([]sdk.Result, rel.Cells.Len())
	for i := range parts {
		var err error
		parts[i], err = r.once(ctx, rel, src.Child(), func(_ context.Context, w host.RowWriter) error { return rows.feed(i, w) })
		if err != nil {
			return sdk.Result{}, err
		}
	}
	if r.part != nil {
		return sdk.Result{}, nil
	}
	return rel.Cells.Apart(parts), nil
}
