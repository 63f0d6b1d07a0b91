package plan

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// A guarantee in ρ is a limit on what a mechanism's plan costs in ρ, and the mechanism is
// asked with points (ε, δ) until its plan costs just that. A draw does not make a ρ smaller
// (P28): what a release may cost the population it may cost on the sample. Only a pure
// release from a sample may cost more there, because its amplified ε has a ρ of its own.

// nearRho is as near as a plan must come to what was asked, and mostRhoPlans how many plans
// a mechanism makes for it.
const (
	nearRho      = 0.999
	mostRhoPlans = 24
)

// rhoOf prices an event in ρ under the worst of some relations.
func rhoOf(e privacy.Event, relations ...privacy.Relation) (*big.Rat, error) {
	worst := new(big.Rat)
	for _, rel := range relations {
		f, err := privacy.NewZCDPFilter(rel, new(big.Rat))
		if err != nil {
			return nil, err
		}
		c, err := f.Cost(e)
		if err != nil {
			return nil, err
		}
		if c[0].Cmp(worst) > 0 {
			worst = c[0]
		}
	}
	return worst, nil
}

// planRho has every mechanism of the draw plan what its ρ allows on the sample, and then
// lets all of them spend more where the amplified ε of pure releases allows it.
//
// # Contract
//
// The draw's event costs the population at most the sum of the ρ that its releases ask for,
// and each release alone costs at most what it asks for. Both costs are computed exactly
// from the planned events, however the points were found, and a plan that costs more is not
// taken. Proof: rho.proof.md.
func (d PlannedDraw) planRho(ctx context.Context, j *job.Job, relation privacy.Relation) (*PlannedDraw, job.Problems, error) {
	if d.budget.Delta >= math.Nextafter(1, 0) {
		return nil, job.Problems{
			j.Problem("releases", "have deltas that add up to 1 or more, where a rho stands for nothing", "say a smaller delta")}, nil
	}
	c, problems, broken := d.with(ctx, j, func(_ int, q *Question) (*PlannedRelease, error) {
		if s := j.InSeries(&q.Job); s != nil {
			return q.planInSeries(ctx, j, s, d.DraftDraw, privacy.Point{})
		}
		return q.solveRho(ctx)
	})
	if len(problems) > 0 || broken != nil {
		return nil, problems, broken
	}
	if samplers.Sampling(d.Design) != nil {
		c = c.raiseRho(ctx, j, relation)
	}
	used, err := c.usedRho(relation)
	if err != nil || used.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, nil, failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: its events cost more ρ than the releases ask for", d.Name)
	}
	whole := *c
	for _, r := range c.Releases {
		whole.Sample.Epsilon += r.Share.Epsilon
		whole.Sample.Delta += r.Share.Delta
	}
	return &whole, nil, nil
}

// usedRho is the largest share of what was asked that is spent: of the draw, and of each of
// its releases.
func (d *PlannedDraw) usedRho(relation privacy.Relation) (*big.Rat, error) {
	sum, worst := new(big.Rat), new(big.Rat)
	take := func(e privacy.Event, asked *big.Rat) error {
		cost, err := rhoOf(e, relation)
		if err == nil {
			if used := new(big.Rat).Quo(cost, asked); used.Cmp(worst) > 0 {
				worst = used
			}
		}
		return err
	}
	for _, r := range d.Releases {
		sum.Add(sum, r.Job.Guarantee.Rho)
		if err := take(d.Design.Event(r.Event()), r.Job.Guarantee.Rho); err != nil {
			return nil, err
		}
	}
	err := take(d.Event, sum)
	return worst, err
}

// raiseRho multiplies the ε of all releases of a sample while the ρ of the population
// allows it, and returns the best draw that it found, which may be d itself.
func (d *PlannedDraw) raiseRho(ctx context.Context, j *job.Job, relation privacy.Relation) *PlannedDraw {
	best, err := Fit(func(factor float64) (*PlannedDraw, float64, error) {
		c := d
		if factor != 1 {
			made, problems, broken := d.with(ctx, j, func(i int, q *Question) (*PlannedRelease, error) {
				target := d.Releases[i].Target
				target.Epsilon *= factor
				return q.at(ctx, target, target)
			})
			if len(problems) > 0 || broken != nil {
				return nil, math.Inf(1), nil
			}
			c = made
		}
		used, err := c.usedRho(relation)
		if err != nil {
			return nil, math.Inf(1), nil
		}
		return c, rational.Up(used), nil
	}, 1, nearEnough, mostRhoPlans, &Scale{From: 1, Power: 2, Aim: 0.999})
	if err != nil || !best.Good {
		return d
	}
	return best.Made
}

// solveRho finds the point at which the mechanism plans what the release's ρ allows on the
// sample.
func (q *Question) solveRho(ctx context.Context) (*PlannedRelease, error) {
	asked, start := q.Job.Guarantee.Rho, Point(q.Job.Guarantee)
	var refused error
	best, err := Fit(func(eps float64) (*PlannedRelease, float64, error) {
		at := privacy.Point{Epsilon: eps, Delta: start.Delta * RoundingReserve * RoundingReserve}
		r, err := q.plan(ctx, at, at)
		if isFault(err) {
			return nil, 0, err
		} else if err != nil {
			refused = err
			return nil, math.Inf(1), nil
		}
		cost, err := rhoOf(r.Event(), q.under...)
		if err != nil {
			return nil, 0, fmt.Errorf("the plan of %s cannot be charged in rho, so give its guarantee in epsilon: %w", q.Job.Mechanism, err)
		}
		return r, rational.Up(new(big.Rat).Quo(cost, asked)), nil
	}, 1, nearRho, mostRhoPlans, &Scale{From: start.Epsilon, Power: 2, Aim: (1 + nearRho) / 2}) // a ρ grows about as ε²
	switch {
	case err != nil:
		return nil, err
	case !best.Good && refused != nil:
		return nil, refused
	case !best.Good:
		return nil, fmt.Errorf("no plan of %s keeps within rho %s", q.Job.Mechanism, rational.Format(asked))
	}
	return best.Made.settled()
}

// Rho returns the ρ that the release asks for, and the ρ that it alone costs the population;
// nil where its guarantee is a point.
func (r *PlannedRelease) Rho(d *PlannedDraw, relation privacy.Relation) (asked, cost *big.Rat, err error) {
	if asked = r.Job.Guarantee.Rho; asked == nil {
		return nil, nil, nil
	}
	cost, err = rhoOf(d.Design.Event(r.Event()), relation)
	return asked, cost, err
}
