package pipeline

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// opening is a ledger that is being opened while the job is planned. A ledger that
// is there is opened and looked at; one that is not is made later, when the plan
// stands: a job that is refused leaves nothing behind.
type opening struct {
	done   chan struct{}
	ledger *ledger.Ledger
	err    error
}

// beginBudget starts to open the ledger that a job spends from.
func beginBudget(ctx context.Context, j *job.Job) *opening {
	o := &opening{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		a, err := addressOf(j)
		if err != nil {
			o.err = err
			return
		}
		o.open(ctx, j, a, ledger.Options{})
	}()
	return o
}

func (o *opening) open(ctx context.Context, j *job.Job, a ledger.Address, how ledger.Options) {
	o.ledger, o.err = ledger.Open(ctx, a, how)
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
	<-early.done
	var known *ledger.Error
	if early.ledger == nil && errors.As(early.err, &known) && known.Code == ledger.CodeMissing {
		a, err := addressOf(p.job)
		if err != nil {
			return nil, err
		}
		early.open(ctx, p.job, a, ledger.Options{Create: true})
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
