package budget

import (
	"context"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/ledger"
)

// Open opens the ledger of a plan. Where there is none it makes the one beside the
// job, and one that the job names only where a person said so: a slip in an address must
// not begin a new budget.
func Open(ctx context.Context, p *plan.Plan, ids map[string]string, o Options) (*Budget, error) {
	key, err := keyOf(p)
	if err != nil {
		return nil, err
	}
	at, err := AddressOf(p.Job)
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
		// Where the output folder holds anything but releases, the job is refused and no
		// ledger is made for it. Releases are a matter for the ledger: see witness.
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
	return &Budget{plan: p, ids: ids, options: o, Ledger: l, key: key, Made: made}, nil
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

func (b *Budget) Close() { b.Ledger.Close() }

// noLedger says that the ledger which a job names is not there, and the command that
// makes it.
func noLedger(j *job.Job, a ledger.Address) string {
	return fmt.Sprintf("there is no ledger at %s; if the address is right, make one with: dprelease ledger init %s", a, j.File)
}
