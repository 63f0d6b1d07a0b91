package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// opening is a ledger that is being opened while the job is planned. One that is not
// there is made when the plan stands: a job that is refused leaves nothing behind.
type opening struct {
	done    chan struct{}
	options Options
	address ledger.Address
	ledger  *ledger.Ledger
	err     error
}

// beginBudget starts to open the ledger that a job spends from.
func beginBudget(ctx context.Context, j *job.Job, o Options) *opening {
	b := &opening{done: make(chan struct{}), options: o}
	go func() {
		defer close(b.done)
		if b.address, b.err = addressOf(j); b.err == nil {
			b.open(ctx, j, false)
		}
	}()
	return b
}

// missing waits, and says that there is no ledger yet.
func (o *opening) missing() bool {
	<-o.done
	var known *ledger.Error
	return o.ledger == nil && errors.As(o.err, &known) && known.Code == ledger.CodeMissing
}

func (o *opening) open(ctx context.Context, j *job.Job, create bool) {
	o.ledger, o.err = ledger.Open(ctx, o.address, ledger.Options{Create: create, By: o.options.By, LockWait: o.options.LockWait})
	if o.err == nil {
		o.err = witness(ctx, o.ledger, j)
	}
}

// close waits, and gives up a ledger that was opened.
func (o *opening) close() {
	<-o.done
	if o.ledger != nil {
		o.ledger.Close()
	}
}

// openBudget opens the ledger of a plan. Where there is none it makes the one beside the
// job, and one that the job names only where a person said so: a slip in an address must
// not begin a new budget.
func openBudget(ctx context.Context, p *Plan, early *opening) (*budget, error) {
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	made, named := "", p.job.Budget.Ledger.Reveal() != ""
	switch {
	case !early.missing():
	case named && !early.options.CreateLedger:
		return nil, fail(ExitLedger, ledger.CodeMissing, "%s, or run the job with --create-ledger; nothing was drawn", noLedger(p.job, early.address))
	default:
		// Where the output folder holds anything but releases, the job is refused and no
		// ledger is made for it. Releases are a matter for the ledger: see witness.
		if _, releases := storedReport(p.job.Output.Dir); !releases {
			if err := (&budget{plan: p}).free(); err != nil {
				return nil, err
			}
		}
		if early.open(ctx, p.job, true); early.err == nil {
			made = "a new ledger, and with it a new budget, was made at " + early.address.String()
			if !named {
				made += ", because the job names none"
			}
			early.options.observe(Event{Kind: "ledger", Message: made})
		}
	}
	var problems job.Problems
	switch {
	case errors.As(early.err, &problems):
		return nil, early.err
	case early.err != nil:
		return nil, ledgerFailure(ctx, early.err)
	}
	return &budget{plan: p, options: early.options, ledger: early.ledger, key: key, made: made}, nil
}

// noLedger says that the ledger which a job names is not there, and the command that
// makes it.
func noLedger(j *job.Job, a ledger.Address) string {
	return fmt.Sprintf("there is no ledger at %s; if the address is right, make one with: dprelease ledger init %s", a, j.File)
}
