package pipeline

import (
	"context"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Requests are what the plan of j asks of one mechanism: parameters, public facts
// and the target on the sample, for each release that names it. No table is opened.
func Requests(ctx context.Context, j *job.Job, o Options, mechanism string) ([]sdk.PlanRequest, error) {
	set := newMechanisms(ctx, j, o)
	defer set.close()
	p, err := makePlan(ctx, j, o, set)
	if err != nil {
		return nil, err
	}
	var out []sdk.PlanRequest
	for _, d := range p.draws {
		for _, r := range d.releases {
			if r.job.Mechanism == mechanism {
				out = append(out, sdk.PlanRequest{Params: r.job.Params, Public: r.public, Target: r.share})
			}
		}
	}
	return out, nil
}
