package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
)

// LedgerOf returns the address of the ledger that the job names, or of the default
// one in the job's folder.
func LedgerOf(j *job.Job) (ledger.Address, error) {
	a, err := ledger.ParseAddress(j.Budget.Ledger.Reveal(), j.Dir)
	if err != nil {
		return a, j.Wrong("budget.ledger", failure.Message(err), "")
	}
	return a, nil
}

// named returns the place of a ledger, for the report. A path that the job names relative to its folder is shown so: the report
// is read where that folder may not be.
func named(j *job.Job, at ledger.Address) string {
	named := j.Budget.Ledger.Reveal()
	path, ok := strings.CutPrefix(at.Full(), "sqlite:")
	if !ok || filepath.IsAbs(strings.TrimPrefix(named, "sqlite:")) {
		return at.String()
	}
	dir, err := filepath.Abs(j.Dir)
	if err != nil {
		return at.String()
	}
	if path, err = filepath.Rel(dir, path); err != nil {
		return at.String()
	}
	return "sqlite:" + filepath.ToSlash(path)
}

// open opens the ledger of a job. Where there is none it makes the one beside the
// job, and one that the job names only where a person said so: a slip in an address must
// not begin a new budget. made says that it is new.
func (a *attempt) open(ctx context.Context) (l *ledger.Ledger, made string, err error) {
	j := a.job
	at, err := LedgerOf(j)
	if err != nil {
		return nil, "", err
	}
	named := j.Budget.Ledger.Reveal() != ""
	l, err = a.o.openLedger(ctx, j, at, false)
	var known *ledger.Error
	switch missing := errors.As(err, &known) && known.Code == ledger.CodeMissing; {
	case !missing:
	case named && !a.o.CreateLedger:
		return nil, "", failure.New(failure.ExitLedger, ledger.CodeMissing, "%s, or run the job with --create-ledger; nothing was drawn",
			noLedger(j, at))
	default:
		// A job whose output folder holds other things than releases is refused, and no ledger
		// is made for it. Releases are a matter for the ledger: see witness.
		if _, releases := output.StoredReport(j.Output.Dir); !releases {
			if err := free(j); err != nil {
				return nil, "", err
			}
		}
		if l, err = a.o.openLedger(ctx, j, at, true); err == nil {
			made = "a new ledger, and with it a new budget, was made at " + at.String()
			if !named {
				made += ", because the job names none"
			}
			made += "; what another ledger paid of this table is not counted"
			a.watch(run.Progress{Kind: "ledger", Message: made})
		}
	}
	if err != nil {
		return nil, "", failure.OfLedger(ctx, err)
	}
	return l, made, nil
}

// openLedger opens the ledger, and holds it to the releases beside the output.
func (o Options) openLedger(ctx context.Context, j *job.Job, at ledger.Address, create bool) (*ledger.Ledger, error) {
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

// noLedger explains that the ledger which a job names is not there, and names the
// command that makes it.
func noLedger(j *job.Job, a ledger.Address) string {
	return fmt.Sprintf("there is no ledger at %s; if the address is right, make one with: dprelease ledger init %s", a, j.File)
}

// witnesses returns the releases of a ledger that are listed or stand at and beside the output folder
// of a job. elsewhere is a folder with a release of the same data set that another ledger paid for, ""
// for none.
func witnesses(j *job.Job, id string) (seen []ledger.Seen, elsewhere string) {
	if j.Output.Dir == "" {
		return nil, ""
	}
	parent := filepath.Dir(j.Output.Dir)
	names := -1
	if marks := output.MarksOf(output.ReadIndex(parent), id); len(marks) > 0 {
		names = output.MaxNames
		for _, m := range marks {
			seen = append(seen, ledger.Seen{Where: output.IndexOf(parent), Mark: m})
		}
	}
	for _, dir := range append([]string{j.Output.Dir}, output.Beside(parent, names)...) {
		r, ok := output.StoredReport(dir)
		switch {
		case !ok || r.Budget == nil:
		case r.Budget.Ledger == id:
			seen = append(seen, ledger.Seen{Where: dir, Mark: output.MarkOf(&r)})
		case r.Dataset.ID == j.Dataset.ID && r.Dataset.Unit == j.Dataset.Unit && r.Dataset.Relation == j.Dataset.Relation:
			elsewhere = dir
		}
	}
	return seen, elsewhere
}

// witness compares the ledger with the releases that witnesses finds: one that is newer than the
// ledger shows that an old copy of it was put back, or is a forgery. Releases of the same data set
// from another ledger show that the right one is missing, where this one has not heard of the data
// set. Either refuses this run, and writes nothing.
func witness(ctx context.Context, l *ledger.Ledger, j *job.Job) error {
	seen, elsewhere := witnesses(j, l.ID())
	if err := l.Witness(ctx, seen...); err != nil || elsewhere == "" {
		return err
	}
	a, err := l.Account(ctx, planned.AccountOf(j))
	if err != nil || a != nil {
		return err
	}
	return failure.New(failure.ExitLedger, "LEDGER_OTHER",
		"%s has no account of %s, and the releases in %s were paid from another ledger: name that one in budget.ledger, or put it back; "+
			"to start a new budget on purpose, open the account with dprelease ledger init",
		l.Address(), planned.AccountOf(j), elsewhere)
}
