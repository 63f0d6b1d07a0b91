package pipeline

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
)

// withAccount reads from the ledger of a job. It makes no ledger: without one, or without
// an account, it reads nothing.
func withAccount(ctx context.Context, j *job.Job, read func(l *ledger.Ledger, a *ledger.Account) error) error {
	at, err := LedgerOf(j)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, at, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		return nil
	case err != nil:
		return failure.OfLedger(ctx, err)
	}
	defer l.Close()
	a, err := l.Account(ctx, plan.AccountOf(j))
	if err == nil && a != nil {
		err = read(l, a)
	}
	if err != nil {
		return failure.OfLedger(ctx, err)
	}
	return nil
}

// remembered is the memory of a job's ledger, as a plan reads it. It changes nothing there.
type remembered struct{}

// Node reads a node of the job's account, or of its slice.
func (remembered) Node(ctx context.Context, j *job.Job, id string) (found *ledger.Node, err error) {
	err = withAccount(ctx, j, func(l *ledger.Ledger, a *ledger.Account) error {
		n, err := l.Node(ctx, id)
		if n != nil && n.Account == a.ID && (n.Slice == "" || n.Slice == a.Slice.Is) {
			found = n
		}
		return err
	})
	return found, err
}
