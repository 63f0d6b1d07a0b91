package pipeline

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// opening is a ledger that is being opened while the job is planned. A ledger that
// is there is opened and looked at; one that is not is made in memory, and put in its
// place when the plan stands: a job that is refused leaves nothing behind.
type opening struct {
	done    chan struct{}
	address ledger.Address
	ledger  *ledger.Ledger
	seed    *ledger.Seed // nil: none is wanted, or Open has to make the ledger
	err     error
}

// beginBudget starts to open the ledger that a job spends from.
func beginBudget(ctx context.Context, j *job.Job) *opening {
	o := &opening{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		if o.address, o.err = addressOf(j); o.err != nil {
			return
		}
		if o.open(ctx, j, ledger.Options{}); o.unfound() {
			o.seed, _ = ledger.NewSeed(ctx, o.address)
		}
	}()
	return o
}

// missing waits, and says that there is no ledger yet.
func (o *opening) missing() bool {
	<-o.done
	return o.unfound()
}

func (o *opening) unfound() bool {
	var known *ledger.Error
	return o.ledger == nil && errors.As(o.err, &known) && known.Code == ledger.CodeMissing
}

// found makes the ledger.
func (o *opening) found(ctx context.Context, j *job.Job) {
	if o.seed != nil {
		_ = o.seed.Place() // where it fails, Open does the same or says why it cannot
	}
	o.open(ctx, j, ledger.Options{Create: true})
}

func (o *opening) open(ctx context.Context, j *job.Job, how ledger.Options) {
	o.ledger, o.err = ledger.Open(ctx, o.address, how)
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

// openBudget opens the ledger of a plan, and makes it where there is none.
func openBudget(ctx context.Context, p *Plan, o Options, early *opening) (*budget, error) {
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	if early.missing() {
		// Where the output folder holds anything but releases, the job is refused and no
		// ledger is made for it. Releases are a matter for the ledger: see witness.
		if _, releases := storedReport(p.job.Output.Dir); !releases {
			if err := (&budget{plan: p}).free(); err != nil {
				return nil, err
			}
		}
		early.found(ctx, p.job)
	}
	var problems job.Problems
	switch {
	case errors.As(early.err, &problems):
		return nil, early.err
	case early.err != nil:
		return nil, ledgerFailure(ctx, early.err)
	}
	return &budget{plan: p, options: o, ledger: early.ledger, key: key}, nil
}
