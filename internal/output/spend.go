package output

import (
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
)

// describeSpend returns what the job spends in all, nil where each release has a guarantee.
func describeSpend(p *plan.Priced) *report.Spend {
	s := p.Job.Budget.Spend
	if s == nil {
		return nil
	}
	return &report.Spend{Exact: exact(*s), Larger: p.SharesExceed()}
}

// describeShare is the share of a release, nil where it has a guarantee of its own.
func describeShare(p *plan.Priced, r *plan.PricedRelease) *report.Share {
	if !r.Job.Shares {
		return nil
	}
	s := &report.Share{Exact: exact(r.Job.Guarantee), Weight: rational.Format(r.Job.Weight), By: "weight"}
	if r.Balanced {
		if s.By = "error"; p.Job.Dataset.Size > 0 {
			s.Relative = r.Relative
		}
	}
	return s
}

func exact(g job.Guarantee) report.Exact {
	switch {
	case g.Rho != nil:
		return report.Exact{Rho: rational.Format(g.Rho)}
	case g.Delta == nil:
		return report.Exact{Epsilon: rational.Format(g.Epsilon), Delta: "0"}
	}
	return report.Exact{Epsilon: rational.Format(g.Epsilon), Delta: rational.Format(g.Delta)}
}
