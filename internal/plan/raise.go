package plan

import (
	"cmp"
	"context"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// raise lets the releases of a Poisson sample under replace-one spend what the
// inversion for any mechanism leaves over (P3). That one allows the arrival of a
// record to cost as much as its replacement; noise that is added to a centred sum
// makes it cost half. How much it costs is read off the events that the mechanisms
// planned. Every raised plan is charged by its events like any other, all releases
// of the draw together and each alone, and is taken only where no charge exceeds its
// target: nothing rests on what a mechanism says about itself. raise returns the best
// draw that it found, which may be d itself.
func (d *Draw) raise(ctx context.Context, j *job.Job, s privacy.Sampling, relation privacy.Relation) (*Draw, error) {
	if p, ok := s.(privacy.Poisson); !ok || relation != privacy.ReplaceOne || p.Rate == 1 {
		return d, nil
	}
	arrival, err := d.arrivalShare()
	if err != nil || arrival > 1-1e-3 {
		return d, nil // some mechanism has no better bound: the plan stands as it is
	}
	if d.budget.Delta > 0 {
		return d.search(ctx, j, relation)
	}
	factor, err := d.pureFactor(s, relation, arrival)
	if err != nil || factor <= 1 {
		return d, nil
	}
	c, _, err := d.try(ctx, j, relation, factor)
	return cmp.Or(c, d), err
}

// arrivalShare is the largest cost of an arrival, over that of a replacement, of the
// releases together, a little enlarged: at another budget they round differently.
func (d *Draw) arrivalShare() (float64, error) {
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

func (p part) arrival() (float64, error) {
	a, err := privacy.EpsilonWith(p.event, privacy.AddRemove, p.share.Delta, privacy.Options{Quick: true})
	if err != nil {
		return 0, err
	}
	return math.Max(0.5, math.Min(1, a.Epsilon/p.share.Epsilon*(1+1e-6))), nil
}

// pureFactor is the factor by which the ε of the sample may exceed the one for any
// mechanism. It must hold for all releases together and for each alone: where two releases
// differ in the cost of an arrival, or the rate is above ½, neither follows from the other.
func (d *Draw) pureFactor(s privacy.Sampling, relation privacy.Relation, together float64) (float64, error) {
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
	return privacy.Point{Epsilon: p.Epsilon * keptBack, Delta: p.Delta}
}

// OnTable is the target of the draw on the table, own that of one of its parts.
func (d *Draw) OnTable() privacy.Point {
	return privacy.Point{Epsilon: d.budget.Epsilon, Delta: d.budget.Delta * keptBack}
}

func (d *Draw) own(p part) privacy.Point {
	return portion(d.OnTable(), p.guarantee, d.Target)
}

// The search for a positive delta: as good as nine parts in a thousand, in at most
// so many plans.
const (
	nearEnough = 0.991
	mostTries  = 7
)

// search raises the budget until the charge meets the target, by interpolation.
func (d *Draw) search(ctx context.Context, j *job.Job, relation privacy.Relation) (*Draw, error) {
	used, err := d.used(relation)
	if err != nil || used > nearEnough {
		return d, nil
	}
	best := d
	lo, at := 1.0, used // the largest factor that was found good, and its charge over its target
	hi, over := math.Inf(1), 0.0
	for range mostTries {
		next := lo * math.Min(2, math.Pow(at, -0.75))
		if !math.IsInf(hi, 1) {
			w := math.Log(0.997/at) / math.Log(over/at)
			next = lo * math.Pow(hi/lo, math.Max(0.05, math.Min(0.95, w)))
		}
		c, used, err := best.try(ctx, j, relation, next/lo)
		if err != nil {
			return nil, err
		}
		if c == nil {
			hi, over = next, used
		} else if best, lo, at = c, next, used; at > nearEnough {
			break
		}
	}
	return best, nil
}

// try returns the draw with factor times the ε, and which part of its target that
// costs. It returns nil, and more than 1, where the plan cannot be made or costs more
// than the target.
func (d *Draw) try(ctx context.Context, j *job.Job, relation privacy.Relation, factor float64) (*Draw, float64, error) {
	c, problems, broken := d.candidate(ctx, j, privacy.Point{Epsilon: d.Sample.Epsilon * factor, Delta: d.Sample.Delta})
	if broken != nil {
		return nil, 0, broken
	}
	used, err := c.used(relation)
	if len(problems) > 0 || err != nil || !(used <= 1) {
		if used <= 1 || math.IsInf(used, 1) || math.IsNaN(used) {
			used = 2
		}
		return nil, used, nil
	}
	if c.Arrival, err = c.arrivals(); err != nil {
		return nil, 2, nil
	}
	return c, used, nil
}

// arrivals is the cost of an arrival for all releases together.
func (d *Draw) arrivals() (*privacy.Point, error) {
	a, err := privacy.EpsilonWith(compose(eventsOf(d.parts())), privacy.AddRemove, d.Sample.Delta, privacy.Options{Quick: true})
	return &privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta}, err
}

// used is the largest share of a target that is charged: of the draw's, and of each
// release's.
func (d *Draw) used(relation privacy.Relation) (float64, error) {
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

// promise is an event that costs no less than e, and no more than the target: the
// shares that the releases were held to, or for a raised draw, whose events alone say
// what it costs, their charge on a table that is itself a sample. It is nil where
// there is no such event but e.
func (d *Draw) promise(e, shares privacy.Event, outer privacy.Sampling, relation privacy.Relation, target privacy.Point) (privacy.Event, error) {
	if d.Arrival == nil {
		return d.Design.Event(shares), nil
	}
	if outer == nil {
		return nil, nil
	}
	a, err := privacy.EpsilonAt(e, relation, target.Delta)
	return privacy.Approx{Eps: a.Epsilon, Delta: a.Delta}, err
}
