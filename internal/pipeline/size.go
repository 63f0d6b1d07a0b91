package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
)

// sizeIsPublic refuses a job under replace-one on a data set that the ledger knows under add-remove alone. Under replace-one
// the run compares the table with the size that the job states, before any debit; under add-remove the size is secret, and
// the job would ask for it (P33). It opens no table. A ledger that cannot be read is refused later, where the run opens it.
func sizeIsPublic(ctx context.Context, j *job.Job) error {
	if j.Dataset.Relation != privacy.ReplaceOne {
		return nil
	}
	at, err := LedgerOf(j)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, at, ledger.Options{ReadOnly: true})
	if err != nil {
		var known *ledger.Error
		if errors.As(err, &known) {
			return nil
		}
		return failure.OfLedger(ctx, err)
	}
	defer l.Close()
	accounts, err := l.OfDataset(ctx, j.Dataset.ID)
	if err != nil {
		return failure.OfLedger(ctx, err)
	}
	for _, a := range accounts {
		if a.Relation == privacy.ReplaceOne {
			return nil
		}
	}
	if len(accounts) == 0 {
		return nil
	}
	return j.Wrong("dataset.relation", fmt.Sprintf(
		"is replace-one, and the ledger knows the data set %s under add-remove alone, where the number of units is secret", j.Dataset.ID),
		"say relation: add-remove; if the size is public after all, whoever looks after the budget opens an account for it with "+
			"dprelease ledger init")
}
