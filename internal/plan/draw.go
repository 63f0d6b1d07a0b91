package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/privacy"
)

// PlannedDraw is a draw with amounts: what may be spent on the sample, and the plans of all
// that is released from it (P4).
type PlannedDraw struct {
	*DraftDraw
	Target  job.Guarantee  // sum of the releases' targets on the population
	budget  privacy.Point  // the same on the table, where the table is itself a sample
	Sample  privacy.Point  // what all releases together may spend on the sample
	raised  bool           // more is spent on the sample than the inversion for any mechanism allows
	Arrival *privacy.Point // what it costs under add-remove, where more was allowed for that (raise)

	Releases []*PlannedRelease
	Keys     []*planned.Keys // the selections of the values that its releases group by
	Event    privacy.Event
}

// plan inverts the draw's target once and has every mechanism plan its part (P4). budget is the
// target on the table.
func (d *DraftDraw) plan(ctx context.Context, j *job.Job, relation privacy.Relation,
	budget privacy.Point) (*PlannedDraw, job.Problems, error) {
	blank := PlannedDraw{DraftDraw: d, Target: d.target(j), budget: budget}
	if d.inRho(j) {
		return blank.planRho(ctx, j, relation)
	}
	sample, err := d.onSample(relation,
		privacy.Point{Epsilon: budget.Epsilon * RoundingReserve, Delta: budget.Delta * RoundingReserve * RoundingReserve})
	if err != nil {
		return nil, job.Problems{j.Problem(job.Key("samples", d.Name), err.Error(), "")}, nil
	}
	if sample.Delta >= math.Nextafter(1, 0) {
		text := fmt.Sprintf("the delta of its releases is %.3g, as large as the probability that a unit is drawn at all: "+
			"it would allow publishing the sample", budget.Delta)
		return nil, job.Problems{j.Problem(job.Key("samples", d.Name), text, "ask for a smaller delta in guarantee")}, nil
	}
	c, problems, broken := blank.spending(ctx, j, sample)
	if len(problems) > 0 || broken != nil || d.Kept != nil { // a kept draw's rule leaves nothing over
		return c, problems, broken
	}
	c, broken = c.raise(ctx, j, relation)
	return c, nil, broken
}

// spending returns the draw with a budget for its sample. Every mechanism has planned its part
// of that budget.
func (d PlannedDraw) spending(ctx context.Context, j *job.Job, sample privacy.Point) (*PlannedDraw, job.Problems, error) {
	d.Sample = sample
	return d.with(ctx, j, func(_ int, q *Question) (*PlannedRelease, error) {
		share := portion(sample, q.Job.Guarantee, d.Target)
		if s := j.InSeries(&q.Job); s != nil {
			return q.planInSeries(ctx, j, s, d.DraftDraw, share)
		}
		return q.within(ctx, share)
	})
}

// with returns the draw with the plans that one makes for its releases, by their numbers in the
// draw, and with rules for its selections of keys.
func (d PlannedDraw) with(ctx context.Context, j *job.Job,
	one func(i int, q *Question) (*PlannedRelease, error)) (*PlannedDraw, job.Problems, error) {
	var problems job.Problems
	var broken error
	d.Releases, d.Keys = nil, nil
	for i, a := range d.asks {
		q, err := newQuestion(j, d.DraftDraw, a, nil)
		var r *PlannedRelease
		if err == nil {
			r, err = one(i, &q)
		}
		switch {
		case err == nil:
			d.Releases = append(d.Releases, r)
		case isFault(err):
			broken = cmp.Or(broken, planned.Faulty(ctx, j, a.index, err))
		default:
			problems = append(problems, planProblems(j, a.index, err)...)
		}
	}
	for _, i := range d.keys {
		k, err := planKeys(j, i, portion(d.Sample, j.Releases[i].Selecting(), d.Target), d.Relations)
		if err != nil {
			problems = append(problems, keysProblem(j, i, err))
			continue
		}
		d.Keys = append(d.Keys, k)
		for n, r := range d.Releases {
			if r.Index != i || !k.Job.Tallied() {
				continue
			}
			if d.Releases[n], err = r.tallied(k); err != nil {
				problems = append(problems, keysProblem(j, i, err))
			}
		}
	}
	if len(problems) > 0 || broken != nil {
		return nil, problems, broken
	}
	d.Event = d.Design.Event(compose(append(d.Kept.Earlier(), eventsOf(d.parts())...)))
	return &d, nil, nil
}

// RoundingReserve leaves a billionth of a target to the outward rounding of the
// accountant, so that shares that use up their budget compose to no more than it.
const RoundingReserve = 1 - 1e-9

// compose is everything that was run on the same data.
func compose(events []privacy.Event) privacy.Event { return privacy.Together(events) }

// OnTable is the target of the draw on the table, own that of one of its parts.
func (d *PlannedDraw) OnTable() privacy.Point {
	return privacy.Point{Epsilon: d.budget.Epsilon, Delta: d.budget.Delta * RoundingReserve}
}

func (d *PlannedDraw) own(p pricedPart) privacy.Point {
	return portion(d.OnTable(), p.guarantee, d.Target)
}
