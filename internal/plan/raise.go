package plan

import (
	"context"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// raise lets the releases of a Poisson sample under replace-one spend what the
// inversion for any mechanism leaves over (P3). That one allows the arrival of a
// record to cost as much as its replacement; noise that is added to a centred sum
// makes it cost half. How much it costs is read off the events that the mechanisms
// planned. Every raised plan is charged by its events like any other, all releases
// of the draw together and each alone, and is taken only where no charge exceeds its
// target: nothing rests on what a mechanism says about itself. raise returns the best
// draw that it found, which may be d itself.
func (d *PlannedDraw) raise(ctx context.Context, j *job.Job, relation privacy.Relation) (*PlannedDraw, error) {
	s := samplers.Sampling(d.Design)
	if _, panel := s.(privacy.Rotation); panel {
		// The inversion is that of known waves (P34).
		if relation != privacy.AddRemove || d.budget.Delta == 0 {
			return d, nil
		}
		return d.enlarged(ctx, j, relation)
	}
	if p, ok := s.(privacy.Poisson); !ok || relation != privacy.ReplaceOne || p.Rate == 1 {
		return d, nil
	}
	arrival, err := d.arrivalShare()
	if err != nil || arrival > 1-1e-3 {
		return d, nil // some mechanism has no better bound: the plan stands as it is
	}
	if d.budget.Delta > 0 {
		return d.enlarged(ctx, j, relation)
	}
	factor, err := d.pureFactor(s, relation, arrival)
	if err != nil || factor <= 1 {
		return d, nil
	}
	c, used, err := d.try(ctx, j, relation, factor)
	if err != nil || !(used <= 1) {
		return d, err
	}
	return c, nil
}

// arrivalShare is the largest cost of an arrival, over that of a replacement, of the
// releases together, a little enlarged: at another budget they round differently.
func (d *PlannedDraw) arrivalShare() (float64, error) {
	sum := 0.0
	for _, r := range d.parts() {
		a, err := r.arrival()
		if err != nil {
			return 0, err
		}
		sum += a * r.share.Epsilon
	}
	return math.Min(1, sum/d.Sample.Epsilon), nil
}

func (p pricedPart) arrival() (float64, error) {
	a, err := privacy.EpsilonWith(p.event, privacy.AddRemove, p.share.Delta, privacy.Options{Quick: true})
	if err != nil {
		return 0, err
	}
	return math.Max(0.5, math.Min(1, a.Epsilon/p.share.Epsilon*(1+1e-6))), nil
}

// pureFactor is the factor by which the ε of the sample may exceed the one for any
// mechanism. It must hold for all releases together and for each alone: where two releases
// differ in the cost of an arrival, or the rate is above ½, neither follows from the other.
func (d *PlannedDraw) pureFactor(s privacy.Sampling, relation privacy.Relation, together float64) (float64, error) {
	b, err := privacy.SampleBudgetAdditive(s, relation, inward(d.OnTable()), together)
	if err != nil {
		return 0, err
	}
	factor := b.Epsilon / d.Sample.Epsilon
	for _, r := range d.parts() {
		a, err := r.arrival()
		if err != nil {
			return 0, err
		}
		if b, err = privacy.SampleBudgetAdditive(s, relation, inward(d.own(r)), a); err != nil {
			return 0, err
		}
		factor = math.Min(factor, b.Epsilon/r.share.Epsilon)
	}
	return factor, nil
}

// inward leaves a part of ε to the rounding of the accountant.
func inward(p privacy.Point) privacy.Point {
	return privacy.Point{Epsilon: p.Epsilon * RoundingReserve, Delta: p.Delta}
}

// The search for a positive delta: as good as nine parts in a thousand, in at most so many
// plans.
const (
	nearEnough = 0.991
	mostTries  = 8
)

// enlarged raises the budget until the charge meets the target.
func (d *PlannedDraw) enlarged(ctx context.Context, j *job.Job, relation privacy.Relation) (*PlannedDraw, error) {
	used, err := d.used(relation)
	if err != nil || used > nearEnough {
		return d, nil
	}
	// What amplification leaves of a small budget grows faster than the budget.
	best, err := Fit(func(factor float64) (*PlannedDraw, float64, error) {
		if factor == 1 {
			return d, used, nil
		}
		return d.try(ctx, j, relation, factor)
	}, 1, nearEnough, mostTries, &Scale{From: 1, Power: 4.0 / 3, Aim: 0.997, Widest: 2})
	return best.Made, err
}

// try returns the draw with factor times the ε, and which part of its target that costs:
// infinity where the plan cannot be made.
func (d *PlannedDraw) try(ctx context.Context, j *job.Job, relation privacy.Relation, factor float64) (*PlannedDraw, float64, error) {
	c, problems, broken := d.spending(ctx, j, privacy.Point{Epsilon: d.Sample.Epsilon * factor, Delta: d.Sample.Delta})
	if broken != nil {
		return nil, 0, broken
	}
	if len(problems) > 0 {
		return nil, math.Inf(1), nil
	}
	raised := *c
	raised.raised = true
	used, err := c.used(relation)
	if err == nil && relation == privacy.ReplaceOne {
		var a privacy.Answer // of all releases together
		a, err = privacy.EpsilonWith(compose(eventsOf(c.parts())), privacy.AddRemove, c.Sample.Delta, privacy.Options{Quick: true})
		raised.Arrival = &privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta}
	}
	if err != nil {
		return nil, math.Inf(1), nil
	}
	return &raised, used, nil
}

// used is the largest share of a target that is charged: of the draw's, and of each
// release's.
func (d *PlannedDraw) used(relation privacy.Relation) (float64, error) {
	most, err := usedOf(d.Event, relation, d.OnTable())
	parts := d.parts()
	if err != nil || len(parts) == 1 {
		return most, err
	}
	for _, r := range parts {
		one, err := usedOf(d.Design.Event(r.event), relation, d.own(r))
		if err != nil {
			return 0, err
		}
		most = math.Max(most, one)
	}
	return most, nil
}

func usedOf(e privacy.Event, relation privacy.Relation, target privacy.Point) (float64, error) {
	a, err := privacy.EpsilonWith(e, relation, target.Delta, privacy.Options{Quick: true})
	if err != nil {
		return 0, err
	}
	if target.Delta > 0 {
		a.Epsilon *= 1 + 1e-6 // the full accountant may round another way
	}
	return a.Epsilon / target.Epsilon, nil
}
