package plan

import (
	"context"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
)

// How budget.spend is divided. The planner begins with shares by weight, has every
// mechanism plan with its share, and gives more to those whose relative error, times the
// weight, is larger than that of others. It stops where the errors are within evenEnough of
// one another, or after mostRounds. A share is at least one part in leastPart of the share
// by weight (in ρ, the square of that): the errors of others gain nothing from a smaller one.
const (
	evenEnough = 1.02
	mostRounds = 8
	leastPart  = 100
)

// Basic composition may cost more than the accountant says. mostRaises bounds how often a
// plan is made with larger shares, and worthRaising says from where that is not worth it.
const (
	mostRaises   = 6
	worthRaising = 0.97
)

// division is one way to divide budget.spend, and the plan that it leads to.
type division struct {
	parts  []float64 // of the releases that share, in the order of the job
	plan   *Plan
	spread float64 // the largest relative error times weight, over the smallest
}

// divide plans a job whose releases share budget.spend. The shares are a function of the
// job and of public facts: the same job has the same shares.
//
// # Contract
//
// The plan that divide returns is charged at most budget.spend: ε and δ of its answer, or
// the ρ of its events, compared exactly. Nothing rests on how the shares were found.
// Proof: spend.proof.md.
func divide(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Plan, error) {
	whole, ok := j.Rest()
	if !ok {
		return nil, failure.New(failure.ExitBug, "PLAN_UNSOUND", "budget.spend leaves nothing to divide")
	}
	try := func(factor float64, parts []float64) (*Plan, error) {
		larger := whole
		if larger.Rho == nil {
			larger.Epsilon = new(big.Rat).Mul(whole.Epsilon, new(big.Rat).SetFloat64(factor))
		}
		exact := make([]*big.Rat, len(parts))
		for i, p := range parts {
			exact[i] = new(big.Rat).SetFloat64(p)
		}
		shared, err := j.Divide(larger, exact)
		if err != nil {
			return nil, job.Problems{j.Problem("budget.spend", err.Error(), "say a smaller delta")}
		}
		return draft(ctx, shared, set, past)
	}
	best, err := balance(byWeight(j), func(parts []float64) (*Plan, error) { return try(1, parts) })
	if err != nil {
		return nil, err
	}
	p := best.plan
	if err := p.price(); err != nil {
		return nil, err
	}
	p = p.larger(func(factor float64) (*Plan, error) { return try(factor, best.parts) })
	for _, r := range p.sharing() {
		r.Relative, r.Balanced = p.relative(r)
	}
	return p, p.withinSpend()
}

// byWeight are shares in proportion to the weights.
func byWeight(j *job.Job) []float64 {
	var out []float64
	for _, r := range j.Releases {
		if r.Shares {
			w, _ := r.Weight.Float64()
			out = append(out, w)
		}
	}
	return out
}

// sharing are the releases that share budget.spend, in the order of the job.
func (p *Plan) sharing() []*Release {
	var out []*Release
	for _, r := range p.Releases() {
		if r.Job.Shares {
			out = append(out, r)
		}
	}
	return out
}

// balance moves shares toward the releases with the larger errors, and returns the best
// division that it found. A plan that cannot be made is an error only at the start.
func balance(parts []float64, plan func([]float64) (*Plan, error)) (best division, err error) {
	for range mostRounds {
		p, err := plan(parts)
		if err != nil {
			if best.plan == nil {
				return best, err
			}
			return best, nil
		}
		d := division{parts: parts, plan: p}
		next := d.next()
		if best.plan == nil || d.spread < best.spread {
			best = d
		}
		if d.spread <= evenEnough {
			break
		}
		parts = next
	}
	return best, nil
}

// next are the shares after one step, and finds the spread of the errors. A release whose
// relative error is not public keeps its share by weight.
func (d *division) next() []float64 {
	releases := d.plan.sharing()
	weights := byWeight(d.plan.Job)
	power, floor := 0.8, 1.0/leastPart // noise falls about as 1/ε: a little less than that, and the steps do not swing
	if d.plan.Job.Budget.Spend.Rho != nil {
		power, floor = 2*power, floor*floor
	}
	out := make([]float64, len(releases))
	var known []int
	total, sum, least, most := 0.0, 0.0, math.Inf(1), 0.0
	for i, r := range releases {
		out[i] = d.parts[i]
		e, ok := d.plan.relative(r)
		if !ok {
			continue
		}
		e *= weights[i]
		known = append(known, i)
		if most = math.Max(most, e); d.parts[i] > 1.1*floor*weights[i] {
			least = math.Min(least, e)
		}
		total += d.parts[i]
		out[i] *= math.Pow(e, power)
		sum += out[i]
	}
	if d.spread = most / least; len(known) < 2 {
		d.spread = 1
	}
	for _, i := range known {
		out[i] = math.Max(out[i]*total/sum, floor*weights[i])
	}
	return out
}

// relative is the noise of a release over the size of its value, the largest where it has
// several values. Where the number of rows is secret both grow with it, and the number is
// that for one row, or for dataset.at_least of them: it only compares releases. It is false
// where the size is not public, and where a draw depends on what earlier jobs did.
func (p *Plan) relative(r *Release) (float64, bool) {
	d := p.drawOf(r)
	if d == nil || d.Kept != nil || p.Table != nil || r.Job.Keys != nil {
		return 0, false
	}
	most := 0.0
	for _, e := range r.Plan.Errors {
		if e.NoiseSD == 0 {
			continue
		}
		size, _ := r.Size(p.Job, d, e)
		if size == 0 {
			return 0, false
		}
		most = math.Max(most, e.NoiseSD/size)
	}
	return most, most > 0
}

func (p *Plan) drawOf(r *Release) *Draw {
	for _, d := range p.Draws {
		for _, o := range d.Releases {
			if o == r {
				return d
			}
		}
	}
	return nil
}

// larger multiplies the shares while everything together costs at most budget.spend, and
// returns the best plan that it found, priced: releases together cost less than the sum of
// what each may cost alone.
func (p *Plan) larger(try func(factor float64) (*Plan, error)) *Plan {
	spend := p.Job.Budget.Spend
	if spend.Rho != nil || spend.Delta.Sign() == 0 || p.Table != nil {
		return p
	}
	for _, d := range p.Draws {
		if d.Kept != nil {
			return p
		}
	}
	most := job.Down(spend.Epsilon)
	return enlarge(p, mostRaises, func(p *Plan) (float64, bool) {
		used := p.Answer.Epsilon / most
		return math.Min(4, 0.995/used), used < worthRaising
	}, func(factor float64) (*Plan, bool) {
		c, err := try(factor)
		if err == nil {
			err = c.price()
		}
		return c, err == nil && c.withinSpend() == nil
	})
}

// enlarge looks for the largest factor whose plan is good, and returns the best plan that it found: at first best, whose
// factor is 1. by says how much larger the factor of a plan should be, and whether that is worth another try.
func enlarge[P any](best P, tries int, by func(P) (factor float64, worth bool), try func(factor float64) (P, bool)) P {
	lo, hi := 1.0, math.Inf(1)
	for range tries {
		times, worth := by(best)
		if !worth || hi/lo < 1.01 {
			break
		}
		factor := lo * times
		if factor >= hi {
			factor = math.Sqrt(lo * hi)
		}
		if c, good := try(factor); good {
			best, lo = c, factor
		} else {
			hi = factor
		}
	}
	return best
}

// SharesExceed reports whether the shares of budget.spend add up to more than it leaves.
func (p *Plan) SharesExceed() bool {
	whole, _ := p.Job.Rest()
	sum := new(big.Rat)
	for _, r := range p.sharing() {
		sum.Add(sum, r.Job.Guarantee.Epsilon)
	}
	return whole.Rho == nil && sum.Cmp(whole.Epsilon) > 0
}

// withinSpend compares what is planned with budget.spend, exactly.
func (p *Plan) withinSpend() error {
	s := p.Job.Budget.Spend
	unsound := func(what string, planned *big.Rat) error {
		return failure.New(failure.ExitBug, "PLAN_UNSOUND", "the job costs %s %s, more than budget.spend", what, job.FormatAmount(planned))
	}
	if s.Rho != nil {
		cost, err := rhoOf(p.Event, p.Job.Dataset.Relation)
		if err == nil && cost.Cmp(s.Rho) > 0 {
			err = unsound("ρ", cost)
		}
		return err
	}
	eps, delta := new(big.Rat).SetFloat64(p.Answer.Epsilon), new(big.Rat).SetFloat64(p.Answer.Delta)
	switch {
	case eps == nil || eps.Cmp(s.Epsilon) > 0:
		return unsound("ε", eps)
	case delta == nil || delta.Cmp(s.Delta) > 0:
		return unsound("δ", delta)
	}
	return nil
}
