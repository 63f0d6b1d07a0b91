package pipeline

import (
	"context"
	"os"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// free refuses an output folder that holds anything.
func free(j *job.Job) error {
	holds, err := output.Taken(j.Output.Dir)
	switch {
	case err != nil:
		return failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: %s cannot be read", j.Output.Dir)
	case holds:
		return taken(j, nil)
	}
	return nil
}

// taken refuses an output folder that holds something, and says what that is: these
// releases, changed; other releases of this program; or anything else.
func taken(j *job.Job, files []ledger.File) error {
	dir := j.Output.Dir
	problem := func(message, hint string) error { return j.Wrong("output.dir", message, hint) }
	r, ok := output.StoredReport(dir)
	slice := planned.AccountOf(j).Slice
	mine := ok && r.Job.Digest == j.Digest()
	switch {
	case len(files) > 0 && mine:
		return problem("holds these releases, but "+output.Difference(dir, files),
			"move the folder away and run the job again: what was released is put there as it was, and nothing is spent")
	case mine && slice.Is != "":
		return problem(
			"holds what this job released of "+slice.String()+" before, from other data or from another ledger; it is never overwritten",
			"move that folder away, or name another; a revision of the slice is a new release and spends again")
	case ok && r.Job.Name == j.Name && r.Dataset.Slice != nil && slice.Is != "" &&
		*r.Dataset.Slice != (report.Slice{Column: slice.Column, Is: slice.Is}):
		return problem(
			"holds what this job released of another slice, "+r.Dataset.Slice.Column+" = "+r.Dataset.Slice.Is+"; it is never overwritten",
			"name a folder for each slice, with the variable that names the slice in it")
	case mine:
		return problem("holds what this job released before, from other data or from another ledger; it is never overwritten",
			"move that folder away, or name another; on other data the run is a new release and spends again")
	case ok && r.Job.Name == j.Name && r.Job.Digest != "":
		return problem("holds what the job "+r.Job.Name+" released before it was changed; it is never overwritten",
			"move that folder away, or name another; what the job asks for now is a new release and spends again")
	case ok && r.Job.Digest != "":
		return problem("holds the releases of another job, "+r.Job.Name+", which are never overwritten", "name another folder")
	}
	if what := output.Irreplaceable(dir); what != "" {
		return problem("is "+what+", and the run makes the folder", "name a folder that is not there yet, or one inside it")
	}
	return problem("already holds something else, which is never overwritten", "name another folder")
}

// tidy removes the folders that killed runs of this account left behind on this host. It
// ignores failures, because nothing depends on it.
func (a *attempt) tidy(ctx context.Context) {
	host, err := os.Hostname()
	if err != nil {
		return
	}
	left, err := a.budget.Ledger.Leftovers(ctx, planned.AccountOf(a.job), host)
	if err != nil {
		return
	}
	for release, path := range left {
		if _, err := os.Lstat(path); err == nil && !output.RemoveUnlocked(path) {
			continue // a run is at work on it
		}
		_ = a.budget.Ledger.Forget(ctx, release)
	}
}

// again publishes the bytes of a release that was made before, if one was.
func (a *attempt) again(ctx context.Context, r *ledger.Release, err error) (*Outcome, error) {
	if r == nil || err != nil {
		return nil, err
	}
	b := a.budget
	files, err := b.Ledger.Output(ctx, r.ID)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	rep, ok := output.ReportIn(files)
	if !ok {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "the stored releases hold no report")
	}
	dir := a.job.Output.Dir
	if !output.Holds(dir, files) {
		if holds, err := output.Taken(dir); err == nil && holds && !output.Begun(dir, files) {
			return nil, taken(a.job, files)
		} else if err != nil {
			return nil, free(a.job)
		}
		out, err := output.NewFolder(dir, a.o.disk)
		if err != nil {
			return nil, failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
		}
		defer out.Discard()
		out.Files = files
		a.o.reach("stored")
		if err := a.o.hour.publishes(ctx); err != nil {
			return nil, err
		}
		if err := out.Publish(); err != nil {
			return nil, output.Unpublished(err)
		}
	}
	// A release that is known to stand somewhere asks nothing more of the ledger: a
	// retry works where that cannot be written.
	if r.State != ledger.Published {
		if err := b.Published(ctx, r.ID); err != nil {
			return nil, err
		}
	}
	a.watch(run.Progress{Kind: "published"})
	done := outcome(dir, rep, output.StoredResults(rep, files))
	done.Already, done.Unmade = true, unmade(a.job, &rep)
	return done, nil
}
