package pipeline

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
)

// openAt opens a ledger, and returns nil where there is none.
func openAt(ctx context.Context, at ledger.Address, o ledger.Options) (*ledger.Ledger, error) {
	l, err := ledger.Open(ctx, at, o)
	var known *ledger.Error
	if errors.As(err, &known) && known.Code == ledger.CodeMissing {
		return nil, nil
	}
	return l, failure.OfLedger(ctx, err)
}

// reading reads from the ledger of a job, and changes nothing there. Without a ledger it reads nothing.
func reading(ctx context.Context, j *job.Job, read func(l *ledger.Ledger) error) error {
	at, err := LedgerOf(j)
	if err != nil {
		return err
	}
	l, err := openAt(ctx, at, ledger.Options{ReadOnly: true})
	if l == nil || err != nil {
		return err
	}
	defer l.Close()
	return failure.OfLedger(ctx, read(l))
}

// remembered is the memory of a job's ledger, as a plan reads it.
type remembered struct{}

// Node reads a node of the job's account, or of its slice; nil without an account.
func (remembered) Node(ctx context.Context, j *job.Job, id string) (found *ledger.Node, err error) {
	err = reading(ctx, j, func(l *ledger.Ledger) error {
		a, err := l.Account(ctx, planned.AccountOf(j))
		if a == nil || err != nil {
			return err
		}
		n, err := l.Node(ctx, id)
		if n != nil && n.Account == a.ID && (n.Slice == "" || n.Slice == a.Slice.Is) {
			found = n
		}
		return err
	})
	return found, err
}
