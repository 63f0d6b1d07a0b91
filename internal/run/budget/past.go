package budget

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

// Remembered is the memory of a job's ledger, as a plan reads it. It changes nothing there.
type Remembered struct{}

// Kept reads the kept samples of the job's account.
func (Remembered) Kept(ctx context.Context, j *job.Job, wanted map[string]job.Sample) (map[string]*ledger.Sample, error) {
	found := map[string]*ledger.Sample{}
	err := withAccount(ctx, j, func(l *ledger.Ledger, a *ledger.Account) error {
		for name, s := range wanted {
			k, err := l.Sample(ctx, s.ID)
			if err != nil {
				return err
			}
			if k != nil && k.Account == a.ID && k.Slice == a.Slice.Is && !k.Collected() && len(k.Waves) == 0 {
				found[name] = k
			}
		}
		return nil
	})
	return found, err
}

// Series reads how the series of the job began.
func (Remembered) Series(ctx context.Context, j *job.Job) (setup []byte, err error) {
	err = withAccount(ctx, j, func(l *ledger.Ledger, _ *ledger.Account) (err error) {
		_, setup, err = l.SeriesSteps(ctx, plan.StepPlans(j)[:1])
		return err
	})
	return setup, err
}

// Collected reads the state of the draw that made the table.
func (Remembered) Collected(ctx context.Context, j *job.Job, id string) (s *ledger.Sample, err error) {
	err = withAccount(ctx, j, func(l *ledger.Ledger, _ *ledger.Account) (err error) {
		s, err = l.Sample(ctx, id)
		return err
	})
	return s, err
}
