package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
)

// sizeIsPublic refuses a job under replace-one on a data set that the ledger knows under add-remove alone. Under replace-one
// the run compares the table with the size that the job states, before any debit; under add-remove the size is secret, and
// the job would ask for it (P33). It opens no table.
func sizeIsPublic(ctx context.Context, j *job.Job) error {
	if j.Dataset.Relation != privacy.ReplaceOne {
		return nil
	}
	var accounts []*ledger.Account
	err := reading(ctx, j, func(l *ledger.Ledger) (err error) {
		accounts, err = l.OfDataset(ctx, j.Dataset.ID)
		return err
	})
	public := func(a *ledger.Account) bool { return a.Relation == privacy.ReplaceOne }
	if err != nil || len(accounts) == 0 || slices.ContainsFunc(accounts, public) {
		return err
	}
	return j.Wrong("dataset.relation", fmt.Sprintf(
		"is replace-one, and the ledger knows the data set %s under add-remove alone, where the number of units is secret", j.Dataset.ID),
		"say relation: add-remove; if the size is public after all, whoever looks after the budget opens an account for it with "+
			"dprelease ledger init")
}
