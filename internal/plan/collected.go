package plan

import (
	"context"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// collection is the draw that made a table itself a sample. It was made once, for
// all jobs on the table: the ledger knows what they spent on it (P4).
func collection(ctx context.Context, j *job.Job, outer privacy.Sampling, past Past) (*Draw, job.Problems, error) {
	design, err := samplers.NewCollected(j.Dataset.Size, j.Dataset.Collected.Population)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	rule, err := privacy.NewReuse(outer, j.Dataset.Relation)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	d := &Draw{Name: "collected", Design: design, Kept: &KeptDraw{rule: rule, ID: ledger.CollectedID(AccountOf(j))}}
	if d.Kept.Sample, err = past.Collected(ctx, j, d.Kept.ID); err != nil || d.Kept.Sample == nil {
		return d, nil, err
	}
	before, err := d.Kept.Sample.Sampling()
	if err != nil {
		return nil, nil, failure.OfLedger(ctx, err)
	}
	if before.With(nil) != outer.With(nil) {
		return nil, job.Problems{j.Problem("dataset.collected.population", "or dataset.size is not what earlier jobs on this data set said", "one table is one sample of one population; another one is another dataset.id")}, nil
	}
	return d, nil, nil
}
