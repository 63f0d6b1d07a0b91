package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Planned is a draft with amounts: every draw, event and mechanism's plan. It was made
// without data. A run carries its Plan out, and has another one made with what it finds.
type Planned struct {
	*Draft
	*planned.Plan
	Draws []*PlannedDraw
}

// of returns the draws as the plan of a job, with the values that a run needs of them.
func (f *Draft) of(j *job.Job, draws []*PlannedDraw, found planned.Found) *Planned {
	p := &Planned{Draft: f, Draws: draws}
	p.Plan = &planned.Plan{Job: j, Panel: f.panel, Nodes: f.nodes, Found: found, Planner: p}
	if f.table != nil {
		p.Plan.Table = &planned.Draw{Sampled: f.table.Sampled}
	}
	for _, d := range draws {
		one := &planned.Draw{Sampled: d.Sampled, Keys: d.Keys}
		for _, r := range d.Releases {
			one.Releases = append(one.Releases, &r.Release)
		}
		p.Plan.Draws = append(p.Plan.Draws, one)
	}
	return p
}

// plan divides the guarantees of a job, which may be those of a division of budget.spend, and
// has every mechanism plan its part.
func (f *Draft) plan(ctx context.Context, j *job.Job) (*Planned, error) {
	targets := make([]job.Guarantee, len(f.draws))
	for i, d := range f.draws {
		targets[i] = d.target(j)
	}
	whole := sum(targets...)
	budget := Point(whole)
	if f.table != nil {
		var err error
		if budget, err = f.table.onSample(j.Dataset.Relation,
			privacy.Point{Epsilon: budget.Epsilon * RoundingReserve, Delta: budget.Delta * RoundingReserve}); err != nil {
			return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}
		}
	}
	var draws []*PlannedDraw
	var problems job.Problems
	var broken error
	for i, d := range f.draws {
		mine := Point(targets[i])
		if f.table != nil {
			mine = portion(budget, targets[i], whole)
		}
		one, more, err := d.plan(ctx, j, f.inside, mine)
		draws = append(draws, one)
		broken = cmp.Or(broken, err)
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, problems.Sort()
	}
	if broken != nil {
		return nil, broken
	}
	return f.of(j, draws, planned.Found{}).choosable(ctx)
}

// Again implements planned.Planner.
func (p *Planned) Again(ctx context.Context, f planned.Found) (*planned.Plan, error) {
	next, err := p.again(ctx, f)
	if err != nil {
		return nil, err
	}
	return next.Plan, nil
}

// again refuses a mechanism that plans otherwise for what was found.
func (p *Planned) again(ctx context.Context, f planned.Found) (*Planned, error) {
	found := p.Found.And(f)
	j := p.Job
	for table, rows := range f.Rows {
		j = j.WithCap(table, rows)
	}
	draws := slices.Clone(p.Draws)
	for i, d := range p.Draws {
		one := *d
		one.Releases = slices.Clone(d.Releases)
		for n, r := range d.Releases {
			var err error
			if f.Rows[r.Job.Table] > 0 && !r.Job.CountsUnits() {
				if r, err = r.replanForCap(ctx, j, d); err != nil {
					return nil, err
				}
			}
			if k := d.KeysOf(j, r); k != nil && f.Keys[k.Job.Name] != nil {
				if r, err = r.chosen(ctx, j, d, r.named(f.Keys[k.Job.Name])); err != nil {
					return nil, err
				}
			}
			bounded := *r
			bounded.found = found.Bounds[r.Job.Table]
			one.Releases[n] = &bounded
		}
		draws[i] = &one
	}
	return p.of(j, draws, found), nil
}

// named are the selected values without one of the name that the job gives to all others.
func (r *PlannedRelease) named(values []string) []string {
	out := []string{}
	for _, v := range values {
		if r.Job.Other == "" || keys.Shown(v) != r.Job.Other {
			out = append(out, v)
		}
	}
	return out
}

// Releases are all releases in the order of the job.
func (p *Planned) Releases() []*PlannedRelease {
	var all []*PlannedRelease
	for _, d := range p.Draws {
		all = append(all, d.Releases...)
	}
	slices.SortFunc(all, func(a, b *PlannedRelease) int { return a.Index - b.Index })
	return all
}

// Requests lists the questions of the plan to one mechanism, one for each of its releases.
func (p *Planned) Requests(mechanism string) []sdk.PlanRequest {
	var out []sdk.PlanRequest
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.Mechanism == mechanism {
				out = append(out, r.At(r.Target))
			}
		}
	}
	return out
}
