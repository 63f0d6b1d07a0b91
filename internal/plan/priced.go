package plan

import (
	"context"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/step"
	"github.com/dprelease/dprelease/samplers"
)

// Make prices a job. It asks the mechanisms and the ledger, and never the table.
func Make(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Priced, error) {
	d, err := newDraft(ctx, j, set, past)
	if err != nil {
		return nil, err
	}
	var p *Priced
	if j.Budget.Spend != nil {
		p, err = d.divide(ctx, j)
	} else {
		p, err = d.price(ctx, j)
	}
	if err != nil {
		return nil, err
	}
	if err := p.distributable(); err != nil {
		return nil, err
	}
	return p, p.withinLimit()
}

// Priced is a plan with what it costs: what is charged, and what each part alone costs.
type Priced struct {
	*Planned
	Bill   privacy.Bill  // of what the job does to the population; kept draws are left out
	Event  privacy.Event // of Bill, nil for nothing
	Draws  []*PricedDraw
	Table  *PricedDraw    // the draw that made the table, where that is itself a sample
	All    privacy.Event  // what the job does to the population, kept draws and all
	Answer privacy.Answer // what that costs: what is charged

	charged *Priced // the plan that was charged, where a run chose something since; nil in that plan
}

// PricedDraw is a draw with what its releases cost together.
type PricedDraw struct {
	*PlannedDraw
	Answer   privacy.Answer
	Bill     privacy.Bill // on the table, or on the sample of a kept draw
	Use      *step.Price  // of a kept draw: what that costs, in the units of a basic account
	Releases []*PricedRelease
	Keys     []*PricedKeys
}

// PricedRelease is a release with what it alone costs the population.
type PricedRelease struct {
	*PlannedRelease
	Answer privacy.Answer
	Full   []sdk.ExpectedError // what the full table would have had, where this is a sample
	// Relative is the noise over the size of the value, of a release that shares
	// budget.spend: 0 where that is not public. Balanced says that its share was found by
	// its error, and not by its weight alone.
	Relative float64
	Balanced bool
}

// PricedKeys is a selection with what it alone costs the population.
type PricedKeys struct {
	*planned.Keys
	Answer privacy.Answer
	Whole  keys.Rule // what the full table would have allowed, nil where nothing is drawn
}

// price plans a job with the guarantees that it states, and prices the plan.
func (f *Draft) price(ctx context.Context, j *job.Job) (*Priced, error) {
	p, err := f.plan(ctx, j)
	if err != nil {
		return nil, err
	}
	return p.price(ctx)
}

// price evaluates the events on the population: of each release, of each draw,
// and of the whole job, which is what is charged.
func (p *Planned) price(ctx context.Context) (*Priced, error) {
	relation := p.Job.Dataset.Relation
	out := &Priced{Planned: p}
	var events []privacy.Event
	var all, fresh []privacy.Bill
	var targets []job.Guarantee // of the fresh draws
	for _, d := range p.Draws {
		priced, err := p.priceDraw(ctx, d)
		if err != nil {
			return nil, err
		}
		out.Draws, events, all = append(out.Draws, priced), append(events, d.Event), append(all, priced.Bill)
		if d.Kept == nil {
			fresh, targets = append(fresh, priced.Bill), append(targets, d.Target)
		}
	}
	answer := privacy.Answer{Relation: relation}
	var err error
	switch {
	case p.table != nil:
		if out.Table, err = p.priceTable(all); err == nil {
			answer = out.Table.Answer
		}
	case len(fresh) > 0:
		target := Point(sum(targets...))
		out.Bill = privacy.Bill{Parts: fresh, Delta: target.Delta}
		out.Event = out.Bill.Tree()
		answer, err = charged(out.Bill, relation, target)
	}
	if err != nil {
		return nil, asPlanError(err, "job: %v", err)
	}
	if len(fresh) < len(p.Draws) {
		answer = plus(answer, out.Draws)
	}
	out.All, out.Answer = p.OnPopulation(compose(events)), answer
	return out, nil
}

// priceDraw prices a draw, and each of its parts alone.
func (p *Planned) priceDraw(ctx context.Context, d *PlannedDraw) (*PricedDraw, error) {
	if d.Kept != nil {
		out, answers, err := d.priceKept(p.Job)
		if err != nil {
			return nil, asPlanError(err, "draw %s: %v", d.Name, err)
		}
		return out.filled(ctx, p, answers), nil
	}
	if p.table != nil {
		if err := p.table.stands(p.Job.Dataset.Relation, []privacy.Event{d.Event}, Point(d.Target).Delta); err != nil {
			return nil, asPlanError(err, "draw %s: %v", d.Name, err)
		}
	}
	parts := d.parts()
	answers := make([]privacy.Answer, len(parts))
	for k, r := range parts {
		var err error
		if answers[k], err = p.cost(d.bill([]pricedPart{r}), d.own(r), Point(r.guarantee)); err != nil {
			return nil, failure.New(failure.ExitBug, "PLAN_UNSOUND", "%s: %v", r.name, err)
		}
	}
	out := &PricedDraw{PlannedDraw: d, Bill: d.bill(parts)}
	var err error
	if out.Answer, err = p.cost(out.Bill, d.OnTable(), Point(d.Target)); err == nil {
		_, err = charged(out.Bill, p.inside, d.OnTable())
	}
	if err != nil {
		return nil, failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
	}
	return out.filled(ctx, p, answers), nil
}

// filled is the draw with its parts, which have these answers.
func (d PricedDraw) filled(ctx context.Context, p *Planned, answers []privacy.Answer) *PricedDraw {
	drawn := samplers.Sampling(d.Design) != nil && p.panel == nil // there is no full table of a wave
	for i, r := range d.PlannedDraw.Releases {
		one := &PricedRelease{PlannedRelease: r, Answer: answers[i]}
		if drawn {
			one.Full = r.withoutSampling(ctx, p, d.PlannedDraw)
		}
		if r.Job.Shares {
			one.Relative, one.Balanced = p.relative(r)
		}
		d.Releases = append(d.Releases, one)
	}
	answers = answers[len(d.Releases):]
	for _, k := range d.PlannedDraw.Keys {
		one := &PricedKeys{Keys: k}
		if !k.Job.Tallied() {
			one.Answer, answers = answers[0], answers[1:]
		}
		if drawn {
			one.Whole = wholeKeys(k, p.Job, p.inside)
		}
		d.Keys = append(d.Keys, one)
	}
	return &d
}

// withoutSampling asks what the error would be on the full table at the same
// guarantee: the question that the report answers about sampling. A mechanism
// that has no plan for the full table leaves it open.
func (r *PlannedRelease) withoutSampling(ctx context.Context, p *Planned, d *PlannedDraw) []sdk.ExpectedError {
	design, err := planned.Design(p.Job, job.All, nil)
	if err != nil {
		return nil
	}
	full := &DraftDraw{Sampled: planned.Sampled{Design: design}, Relations: []privacy.Relation{p.inside}}
	q, err := newQuestion(p.Job, full, ask{r.Index, r.Mech, r.schema}, nil)
	if err != nil {
		return nil
	}
	var whole *PlannedRelease
	if r.Job.Guarantee.Rho != nil {
		whole, err = q.solveRho(ctx)
	} else {
		share := Point(r.Job.Guarantee)
		if p.table != nil {
			share = portion(d.OnTable(), r.Job.Guarantee, d.Target)
		}
		whole, err = q.within(ctx, share)
	}
	if err != nil {
		return nil
	}
	return whole.Plan.Errors
}

// Releases are all releases in the order of the job.
func (p *Priced) Releases() []*PricedRelease {
	var all []*PricedRelease
	for _, d := range p.Draws {
		all = append(all, d.Releases...)
	}
	slices.SortFunc(all, func(a, b *PricedRelease) int { return a.Index - b.Index })
	return all
}

// KeysOf is the selection whose values a release groups by, nil where all are listed.
func (d *PricedDraw) KeysOf(j *job.Job, r *PricedRelease) *PricedKeys {
	k := d.PlannedDraw.KeysOf(j, r.PlannedRelease)
	if k == nil {
		return nil
	}
	return d.Keys[slices.Index(d.PlannedDraw.Keys, k)]
}

// AllKept are the draws that more than one job uses, the one that made the table
// among them.
func (p *Priced) AllKept() []*PricedDraw {
	kept := slices.DeleteFunc(slices.Clone(p.Draws), func(d *PricedDraw) bool { return d.Kept == nil })
	if p.Table != nil {
		kept = slices.Insert(kept, 0, p.Table)
	}
	return kept
}

// withinLimit compares the price with the job's own limit; what earlier jobs
// spent is the ledger's business.
func (p *Priced) withinLimit() error {
	limit := p.Job.Budget.Limit.Limit()
	err := error(nil)
	if limit.Rho != nil || planned.StepOf(p.Job) != nil {
		err = p.withinUnits(limit)
	} else {
		err = ledger.Within(limit, p.guaranteed())
	}
	return failure.OfLedger(context.Background(), err)
}

// guaranteed is the point that a budget is debited with.
func (p *Priced) guaranteed() privacy.Point {
	return privacy.Point{Epsilon: p.Answer.Epsilon, Delta: p.Answer.Delta}
}

// withinUnits compares what the plan costs in the units of a new account with the job's own limits.
func (p *Priced) withinUnits(limit ledger.Limit) error {
	q, err := p.steps(nil)
	if err != nil {
		return err
	}
	a := ledger.Unopened(planned.AccountOf(p.Job), planned.OpeningOf(limit))
	priced, err := a.Price(&q, p.nodes)
	if err != nil {
		return err
	}
	if planned.StepOf(p.Job) == nil {
		return a.Own(limit, priced.Cost)
	}
	return a.Spend(priced, &limit, planned.LifetimeOf(p.Job))
}
