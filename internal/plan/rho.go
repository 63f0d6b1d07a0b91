package plan

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
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

// inRho reports whether the guarantees of the draw's releases are in ρ: all, or none.
func (d *Draw) inRho() bool { return len(d.Releases) > 0 && d.Releases[0].Job.Guarantee.Rho != nil }

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
func (d *Draw) planRho(ctx context.Context, j *job.Job, relation privacy.Relation) (*Draw, job.Problems, error) {
	if d.budget.Delta >= math.Nextafter(1, 0) {
		return nil, job.Problems{j.Problem("releases", "have deltas that add up to 1 or more, where a rho stands for nothing", "say a smaller delta")}, nil
	}
	d.rhoFactor = 1
	c, problems, broken := d.candidate(ctx, j, d.budget)
	if len(problems) > 0 || broken != nil {
		return nil, problems, broken
	}
	if Sampling(d.Design) != nil {
		for _, r := range c.Releases {
			r.Full = r.withoutSampling(ctx, j, d, relation)
		}
		c = c.raiseRho(ctx, j, relation)
	}
	c.Sample = privacy.Point{}
	for _, r := range c.Releases {
		c.Sample.Epsilon += r.Share.Epsilon
		c.Sample.Delta += r.Share.Delta
	}
	used, err := c.usedRho(relation)
	if err != nil || used.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, nil, failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: its events cost more ρ than the releases ask for", d.Name)
	}
	return c, nil, nil
}

// usedRho is the largest share of what was asked that is spent: of the draw, and of each of
// its releases.
func (d *Draw) usedRho(relation privacy.Relation) (*big.Rat, error) {
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
func (d *Draw) raiseRho(ctx context.Context, j *job.Job, relation privacy.Relation) *Draw {
	within := big.NewRat(1, 1)
	return enlarge(d, mostRhoPlans, func(d *Draw) (float64, bool) {
		used, err := d.usedRho(relation)
		if err != nil {
			return 1, false
		}
		at, _ := used.Float64()
		return math.Min(4, math.Sqrt(0.999/at)), at < nearEnough
	}, func(factor float64) (*Draw, bool) {
		c := *d
		c.rhoFactor = factor
		made, problems, broken := c.candidate(ctx, j, d.budget)
		if len(problems) > 0 || broken != nil {
			return nil, false
		}
		used, err := made.usedRho(relation)
		return made, err == nil && used.Cmp(within) <= 0
	})
}

// solveRho finds the point at which the mechanism plans what the release's ρ allows on the
// sample.
func (r *Release) solveRho(ctx context.Context, d *Draw) error {
	delta := Point(r.Job.Guarantee).Delta * keptBack * keptBack
	if d.rhoFactor > 1 {
		return r.planAt(ctx, d, privacy.Point{Epsilon: r.solved * d.rhoFactor, Delta: delta})
	}
	asked := r.Job.Guarantee.Rho
	want, _ := asked.Float64()
	lo, hi, eps := 0.0, math.Inf(1), job.Down(r.Job.Guarantee.Epsilon)
	var best sdk.Plan
	var refused error
	for range mostRhoPlans {
		got := math.Inf(1)
		if err := r.planAt(ctx, d, privacy.Point{Epsilon: eps, Delta: delta}); err != nil {
			if isFault(err) {
				return err
			}
			refused = err
		} else {
			cost, err := rhoOf(r.Event(), d.Relations...)
			if err != nil {
				return fmt.Errorf("the plan of %s cannot be charged in rho, so give its guarantee in epsilon: %w", r.Job.Mechanism, err)
			}
			got, _ = cost.Float64()
			if cost.Cmp(asked) <= 0 {
				lo, best = eps, r.Plan
			}
		}
		if lo < eps {
			hi = eps
		}
		if lo == eps && got >= nearRho*want || hi/lo < 1+1e-6 {
			break
		}
		next := eps * math.Sqrt((1+nearRho)/2*want/got) // a ρ grows about as ε²
		switch {
		case next > lo && next < hi:
		case lo == 0:
			next = hi / 4
		case math.IsInf(hi, 1):
			next = lo * 2
		default:
			next = math.Sqrt(lo * hi)
		}
		eps = next
	}
	if lo == 0 {
		if refused != nil {
			return refused
		}
		return fmt.Errorf("no plan of %s keeps within rho %s", r.Job.Mechanism, job.FormatAmount(asked))
	}
	r.Plan, r.solved = best, lo
	r.target = privacy.Point{Epsilon: lo, Delta: delta}
	r.Share = r.target
	return r.charge(d.Relations)
}

// planAt asks the mechanism for a plan at one point.
func (r *Release) planAt(ctx context.Context, d *Draw, at privacy.Point) (err error) {
	r.target, r.Share = at, at
	if r.Plan, err = r.Mech.Plan(ctx, r.request()); err == nil {
		err = r.charge(d.Relations)
	}
	return err
}

// Rho returns the ρ that the release asks for, and the ρ that it alone costs the population;
// nil where its guarantee is a point.
func (r *Release) Rho(d *Draw, relation privacy.Relation) (asked, cost *big.Rat, err error) {
	if asked = r.Job.Guarantee.Rho; asked == nil {
		return nil, nil, nil
	}
	cost, err = rhoOf(d.Design.Event(r.Event()), relation)
	return asked, cost, err
}

// withinRho compares what the plan costs in ρ with the job's own limit.
func (p *Plan) withinRho(limit ledger.Limit) error {
	a := ledger.Unopened(AccountOf(p.Job), ledger.Opening{Filter: ledger.ZCDP, Limit: limit})
	q := ledger.Request{Event: p.Event, Charged: p.Fresh}
	for _, d := range p.AllKept() {
		step, err := d.LedgerStep("", d.Kept.Step)
		if err != nil {
			return err
		}
		q.Draws = append(q.Draws, step)
	}
	cost, _, err := a.Price(&q, p.Samples())
	if err != nil {
		return err
	}
	return a.Own(limit, cost)
}
