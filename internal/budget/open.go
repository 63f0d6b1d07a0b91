package budget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/ledger"
)

// LedgerOf returns the address of the ledger that the job names, or of the default
// one in the job's folder. It refuses a job whose ledger an earlier version of this
// program put in another place, so that nothing that was spent is forgotten.
func LedgerOf(ctx context.Context, j *job.Job) (ledger.Address, error) {
	a, err := ledger.ParseAddress(j.Budget.Ledger.Reveal(), j.Dir)
	if err != nil {
		return a, failure.InJob(j, "budget.ledger", failure.Message(err), "")
	}
	for _, place := range formerPlaces(j) {
		if !spentAt(ctx, place, j.Dataset.ID) {
			continue
		}
		what := "move the file there, with the files -wal and -shm beside it"
		if _, err := os.Stat(strings.TrimPrefix(a.Full(), "sqlite:")); err == nil {
			what = "there are two ledgers now, each with a part of what was spent: keep one of them in that place, lower its limit by what dprelease ledger show prints for the other one, and move the other one away"
		}
		return a, failure.InJob(j, "budget.ledger", fmt.Sprintf("an earlier version joined this path to the job's folder twice and kept the ledger of data set %s at %s; the place is %s", j.Dataset.ID, place.Full(), a.Full()), what)
	}
	return a, nil
}

// formerPlaces lists where earlier versions may have put the ledger of a job. They
// joined a relative path to the folder of the job twice, as that folder was named
// from the folder of the run. Any folder above the job's may have been that folder.
func formerPlaces(j *job.Job) []ledger.Address {
	path, ok := strings.CutPrefix(j.Budget.Ledger.Reveal(), "sqlite:")
	bare, slashes := strings.CutPrefix(path, "//")
	if !ok || filepath.IsAbs(bare) {
		return nil
	}
	var names []string
	if slashes {
		names = append(names, "/"+bare) // they took the slashes for those of a path
	} else {
		names = append(names, filepath.Join(j.Dir, j.Dir, path))
		if dir, err := filepath.Abs(j.Dir); err == nil {
			suffix := ""
			for above := dir; above != filepath.Dir(above); above = filepath.Dir(above) {
				suffix = filepath.Join(filepath.Base(above), suffix)
				names = append(names, filepath.Join(dir, suffix, path))
			}
		}
	}
	here, err := ledger.ParseAddress(j.Budget.Ledger.Reveal(), j.Dir)
	if err != nil {
		return nil
	}
	var out []ledger.Address
	for _, name := range names {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		if a, err := ledger.ParseAddress("sqlite:"+name, "."); err == nil && a.Full() != here.Full() {
			out = append(out, a)
		}
	}
	return out
}

// spentAt reports whether a ledger knows a data set, or cannot be asked.
func spentAt(ctx context.Context, a ledger.Address, dataset string) bool {
	l, err := ledger.Open(ctx, a, ledger.Options{ReadOnly: true})
	if err != nil {
		var known *ledger.Error
		return !errors.As(err, &known) || known.Code != ledger.CodeMissing
	}
	defer l.Close()
	all, err := l.OfDataset(ctx, dataset)
	return err != nil || len(all) > 0
}

// address is where the ledger is, for the report. A path that the job names relative
// to its folder is shown so: the report is read where that folder may not be.
func (b *Budget) address() string {
	named := b.plan.Job.Budget.Ledger.Reveal()
	at := b.Ledger.Address()
	path, ok := strings.CutPrefix(at.Full(), "sqlite:")
	if !ok || filepath.IsAbs(strings.TrimPrefix(named, "sqlite:")) {
		return at.String()
	}
	dir, err := filepath.Abs(b.plan.Job.Dir)
	if err != nil {
		return at.String()
	}
	if path, err = filepath.Rel(dir, path); err != nil {
		return at.String()
	}
	return "sqlite:" + filepath.ToSlash(path)
}

// Open opens the ledger of a plan. Where there is none it makes the one beside the
// job, and one that the job names only where a person said so: a slip in an address must
// not begin a new budget.
func Open(ctx context.Context, p *plan.Plan, t *run.OpenedTable, ids map[string]string, o Options) (*Budget, error) {
	at, err := LedgerOf(ctx, p.Job)
	if err != nil {
		return nil, err
	}
	made, named := "", p.Job.Budget.Ledger.Reveal() != ""
	l, err := openLedger(ctx, p.Job, at, o, false)
	var known *ledger.Error
	switch missing := errors.As(err, &known) && known.Code == ledger.CodeMissing; {
	case !missing:
	case named && !o.CreateLedger:
		return nil, failure.New(failure.ExitLedger, ledger.CodeMissing, "%s, or run the job with --create-ledger; nothing was drawn", noLedger(p.Job, at))
	default:
		// A job whose output folder holds other things than releases is refused, and no ledger
		// is made for it. Releases are a matter for the ledger: see witness.
		if _, releases := output.StoredReport(p.Job.Output.Dir); !releases {
			if err := (&Budget{plan: p}).free(); err != nil {
				return nil, err
			}
		}
		if l, err = openLedger(ctx, p.Job, at, o, true); err == nil {
			made = "a new ledger, and with it a new budget, was made at " + at.String()
			if !named {
				made += ", because the job names none"
			}
			o.Observe(run.Event{Kind: "ledger", Message: made})
		}
	}
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	return &Budget{plan: p, ids: ids, options: o, Ledger: l, key: p.Job.Digest(), former: p.Job.FormerDigests(), columns: columnTags(p, l, t), Made: made}, nil
}

// openLedger opens the ledger, and holds it to the releases beside the output.
func openLedger(ctx context.Context, j *job.Job, at ledger.Address, o Options, create bool) (*ledger.Ledger, error) {
	l, err := ledger.Open(ctx, at, ledger.Options{Create: create, By: o.By, LockWait: o.LockWait})
	if err != nil {
		return nil, err
	}
	if err := witness(ctx, l, j); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close gives up the connection to the ledger.
func (b *Budget) Close() { b.Ledger.Close() }

// noLedger says that the ledger which a job names is not there, and the command that
// makes it.
func noLedger(j *job.Job, a ledger.Address) string {
	return fmt.Sprintf("there is no ledger at %s; if the address is right, make one with: dprelease ledger init %s", a, j.File)
}

// witness compares the ledger with the releases that are listed or stand at and
// beside the job's output folder: one that is newer than the ledger shows that an
// old copy of it was put back. Releases of the same data set from another ledger
// show that the right one is missing, where this one has not heard of the data set.
func witness(ctx context.Context, l *ledger.Ledger, j *job.Job) error {
	parent := filepath.Dir(j.Output.Dir)
	marks := output.MarksOf(output.ReadIndex(parent), l.ID())
	names := -1
	if len(marks) > 0 {
		names = output.MaxNames
	}
	var elsewhere string
	for _, dir := range append([]string{j.Output.Dir}, output.Beside(parent, names)...) {
		r, ok := output.StoredReport(dir)
		switch {
		case !ok || r.Budget == nil:
		case r.Budget.Ledger == l.ID():
			marks = append(marks, output.MarkOf(&r))
		case r.Dataset.ID == j.Dataset.ID && r.Dataset.Unit == j.Dataset.Unit && r.Dataset.Relation == j.Dataset.Relation:
			elsewhere = dir
		}
	}
	if err := l.Witness(ctx, marks...); err != nil || elsewhere == "" {
		return err
	}
	a, err := l.Account(ctx, plan.AccountOf(j))
	if err != nil || a != nil {
		return err
	}
	return failure.New(failure.ExitLedger, "LEDGER_OTHER", "%s has no account of %s, and the releases in %s were paid from another ledger: name that one in budget.ledger, or put it back; to start a new budget on purpose, open the account with dprelease ledger init",
		l.Address(), plan.AccountOf(j), elsewhere)
}
