package budget

import (
	"context"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/ledger"
)

// witness compares the ledger with the releases that are listed or stand at and
// beside the job's output folder: one that is newer than the ledger shows that an
// old copy of it was put back. Releases of the same data set from another ledger
// show that the right one is missing, where this one has not heard of the data set.
func witness(ctx context.Context, l *ledger.Ledger, j *job.Job) error {
	parent := filepath.Dir(j.Output.Dir)
	marks := output.MarksOf(output.ReadIndex(parent), l.ID())
	names := -1
	if len(marks) > 0 {
		names = output.MaxNames
	}
	var elsewhere string
	for _, dir := range append([]string{j.Output.Dir}, output.Beside(parent, names)...) {
		r, ok := output.StoredReport(dir)
		switch {
		case !ok || r.Budget == nil:
		case r.Budget.Ledger == l.ID():
			marks = append(marks, output.MarkOf(&r))
		case r.Dataset.ID == j.Dataset.ID && r.Dataset.Unit == j.Dataset.Unit && r.Dataset.Relation == j.Dataset.Relation:
			elsewhere = dir
		}
	}
	if err := l.Witness(ctx, marks...); err != nil || elsewhere == "" {
		return err
	}
	a, err := l.Account(ctx, plan.AccountOf(j))
	if err != nil || a != nil {
		return err
	}
	return failure.New(failure.ExitLedger, "LEDGER_OTHER", "%s has no account of %s, and the releases in %s were paid from another ledger: name that one in budget.ledger, or put it back; to start a new budget on purpose, open the account with dprelease ledger init",
		l.Address(), plan.AccountOf(j), elsewhere)
}
