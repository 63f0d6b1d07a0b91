package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Plan is a job with its price: every draw, event, guarantee and budget. It was
// made without data and does not change any more.
type Plan struct {
	job    *job.Job
	event  privacy.Event // what the job does to the population, but for kept draws; nil for nothing
	fresh  privacy.Point // what that costs
	draws  []*draw
	table  *draw            // the draw that made the table, where that is itself a sample: one for all jobs (P4)
	outer  privacy.Sampling // how it was drawn, nil where the table is the population
	all    privacy.Event    // what the job does to the population, kept draws and all
	answer privacy.Answer   // what that costs: what is charged
}

// draw is one sample and all that is released from it (P4).
type draw struct {
	name      string
	design    samplers.Design
	target    job.Guarantee      // sum of the releases' targets on the population
	budget    privacy.Point      // the same on the table, where the table is itself a sample
	sample    privacy.Point      // what all releases together may spend on the sample
	relations []privacy.Relation // under which they must
	arrival   *privacy.Point     // what it costs under add-remove, where more was allowed for that (raise)
	releases  []*release
	kept      *keptDraw // nil where no other job uses the draw
	event     privacy.Event
	answer    privacy.Answer
}

// release is one planned release.
type release struct {
	index  int
	job    job.Release
	mech   Mechanism
	public sdk.Public
	share  privacy.Point
	cost   float64 // the ε of the plan at the share's δ, at most the share's
	plan   sdk.Plan
	full   []sdk.ExpectedError // what the full table would have had, where this is a sample
	answer privacy.Answer      // of this release alone, on the population
}

func (r *release) path() string { return job.Item("releases", r.index) }

// Mechanisms are the mechanisms that a job may name.
type Mechanisms interface {
	Get(ctx context.Context, name string) (Mechanism, error)
}

// Mechanism is what a plan asks of a mechanism. No answer may depend on data.
type Mechanism interface {
	About() sdk.Description
	// Origin says whether the mechanism comes with the program, or else which
	// executable it is.
	Origin() (builtin bool, sha256 string)
	// Validate holds the parameters of a release to the mechanism's schema.
	Validate(params json.RawMessage) error
	Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error)
}

// makePlan prices a job. It asks the mechanisms and the ledger, and never the table.
func makePlan(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Plan, error) {
	p := &Plan{job: j}
	outer, relation, problems := collected(j)
	draws, more, broken := newDraws(ctx, j, set, past)
	if problems = append(problems, more...); len(problems) > 0 {
		for _, d := range draws {
			problems = append(problems, d.paramProblems(j)...)
		}
		return nil, problems.Sort()
	}
	if broken != nil {
		return nil, broken
	}
	p.draws = draws

	targets := make([]job.Guarantee, len(draws))
	for i, d := range draws {
		targets[i] = d.target
	}
	whole := sum(targets...)
	budget, err := point(whole), error(nil)
	if outer != nil {
		if p.table, problems, err = collection(ctx, j, outer, past); err != nil {
			return nil, err
		} else if len(problems) > 0 {
			return nil, problems
		}
		if budget, err = p.table.onSample(outer, j.Dataset.Relation, privacy.Point{Epsilon: budget.Epsilon * keptBack, Delta: budget.Delta * keptBack}); err != nil {
			return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}
		}
	}
	for _, d := range draws {
		mine := point(d.target)
		if outer != nil {
			mine = portion(budget, d.target, whole)
		}
		more, err := d.plan(ctx, j, relation, mine)
		broken = cmp.Or(broken, err)
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, problems.Sort()
	}
	if broken != nil {
		return nil, broken
	}
	if err := p.price(outer, relation); err != nil {
		return nil, err
	}
	return p, p.withinLimit()
}

// collected returns the event that made the table itself a sample (nil where it
// is the population) and the relation that draws from the table must then use.
func collected(j *job.Job) (privacy.Sampling, privacy.Relation, job.Problems) {
	c := j.Dataset.Collected
	if c == nil {
		return nil, j.Dataset.Relation, nil
	}
	outer := privacy.WithoutReplacement{Take: j.Dataset.Size, Of: c.Population}
	under, err := privacy.SampleRelations(outer, j.Dataset.Relation)
	if err != nil || len(under) != 1 {
		return nil, 0, job.Problems{j.Problem("dataset.collected", "this relation is not supported for a table that is itself a sample", "use relation: replace-one with a public size")}
	}
	return outer, under[0], nil
}

// onSample inverts one amplification: what may be spent on the sample so that
// the population gets target.
func onSample(s privacy.Sampling, r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if s == nil {
		return target, nil
	}
	return privacy.SampleBudget(s, r, target)
}

// sampling returns the design's event without an inner event, nil for the whole
// table.
func sampling(d samplers.Design) privacy.Sampling {
	s, _ := d.Event(nil).(privacy.Sampling)
	return s
}

// plan inverts the draw's target once and has every mechanism plan its part (P4).
func (d *draw) plan(ctx context.Context, j *job.Job, relation privacy.Relation, budget privacy.Point) (job.Problems, error) {
	s := sampling(d.design)
	d.relations = []privacy.Relation{relation}
	if s != nil {
		under, err := privacy.SampleRelations(s, relation)
		if err != nil {
			return job.Problems{j.Problem(job.Key("samples", d.name), err.Error(), "")}, nil
		}
		d.relations = under
	}
	var err error
	d.budget = budget
	if d.sample, err = d.onSample(s, relation, privacy.Point{Epsilon: budget.Epsilon * keptBack, Delta: budget.Delta * keptBack * keptBack}); err != nil {
		return job.Problems{j.Problem(job.Key("samples", d.name), err.Error(), "")}, nil
	}
	if d.sample.Delta >= math.Nextafter(1, 0) {
		return job.Problems{j.Problem(job.Key("samples", d.name), fmt.Sprintf("the delta of what is released from it is %.3g: as large as the probability that a unit is drawn at all, so that it would allow to publish the sample", d.budget.Delta), "ask for a smaller delta in guarantee")}, nil
	}
	problems, broken := d.planReleases(ctx, j)
	if len(problems) > 0 || broken != nil {
		return problems, broken
	}
	if s != nil {
		for _, r := range d.releases {
			r.full = r.withoutSampling(ctx, j, relation)
		}
	}
	if d.kept != nil {
		return nil, nil // its rule leaves nothing over
	}
	return nil, d.raise(ctx, j, s, relation)
}

// onSample inverts the draw's amplification, or of a kept draw what one more step
// adds to it.
func (d *draw) onSample(s privacy.Sampling, r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if d.kept != nil {
		return d.kept.rule.Step(d.kept.before(), target)
	}
	return onSample(s, r, target)
}

// planReleases has every mechanism plan its part of what the sample may spend.
func (d *draw) planReleases(ctx context.Context, j *job.Job) (job.Problems, error) {
	var problems job.Problems
	var broken error
	events := make([]privacy.Event, 0, len(d.releases))
	for _, r := range d.releases {
		r.share = portion(d.sample, r.job.Guarantee, d.target)
		r.public = public(j, d)
		if err := r.makePlan(ctx); err != nil {
			if pluginFault(err) {
				broken = cmp.Or(broken, pluginFailure(ctx, j, r.path()+".mechanism", err))
			} else {
				problems = append(problems, planProblems(j, r, err)...)
			}
			continue
		}
		events = append(events, r.plan.Event)
	}
	if len(events) > 0 {
		d.event = d.design.Event(compose(append(d.kept.earlier(), events...)))
	}
	return problems, broken
}

// keptBack leaves a billionth of a target to the outward rounding of the
// accountant, so that shares that use up their budget compose to no more than it.
const keptBack = 1 - 1e-9

// compose is everything that was run on the same data. Equal events are written
// once, with how often they ran; the order does not matter to any guarantee.
func compose(events []privacy.Event) privacy.Event {
	var kinds []privacy.Event
	times := map[string]int64{}
	for _, e := range events {
		k := fmt.Sprintf("%#v", e)
		if times[k]++; times[k] == 1 {
			kinds = append(kinds, e)
		}
	}
	for i, e := range kinds {
		if n := times[fmt.Sprintf("%#v", e)]; n > 1 {
			kinds[i] = privacy.Repeat{N: n, Event: e}
		}
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	return privacy.Compose{Events: kinds}
}

// makePlan asks the mechanism and holds it to its share under every relation
// that the draw demands.
func (r *release) makePlan(ctx context.Context) error {
	for _, rel := range r.public.SampleRelations {
		if !slices.Contains(r.mech.About().Relations, rel) {
			return fmt.Errorf("%s does not support %s on the sample", r.job.Mechanism, rel)
		}
	}
	if !slices.Contains(r.mech.About().Designs, r.public.Design.Kind) {
		return fmt.Errorf("%s does not support samples drawn by %s", r.job.Mechanism, r.public.Design.Kind)
	}
	if err := r.mech.Validate(r.job.Params); err != nil {
		return err
	}
	plan, err := r.mech.Plan(ctx, sdk.PlanRequest{Params: r.job.Params, Public: r.public, Target: r.share})
	if err != nil {
		return err
	}
	r.cost = 0
	for _, rel := range r.public.SampleRelations {
		a, err := privacy.EpsilonAt(plan.Event, rel, r.share.Delta)
		if err != nil {
			return fmt.Errorf("the plan of %s cannot be charged: %w", r.job.Mechanism, err)
		}
		if a.Epsilon > r.share.Epsilon {
			return fmt.Errorf("the plan of %s spends more than its share under %s (ε %.6g of %.6g)", r.job.Mechanism, rel, a.Epsilon, r.share.Epsilon)
		}
		r.cost = math.Max(r.cost, a.Epsilon)
	}
	for _, name := range plan.Columns {
		if _, ok := r.public.Column(name); !ok {
			return fmt.Errorf("%s asks for column %q, which is not declared in dataset.columns", r.job.Mechanism, name)
		}
	}
	r.plan = plan
	return nil
}

// withoutSampling asks what the error would be on the full table at the same
// guarantee: the question that the report answers about sampling. A mechanism
// that has no plan for the full table leaves it open.
func (r *release) withoutSampling(ctx context.Context, j *job.Job, relation privacy.Relation) []sdk.ExpectedError {
	design, err := samplers.NewFull(j.Dataset.Size)
	if err != nil {
		return nil
	}
	whole := public(j, &draw{design: design, relations: []privacy.Relation{relation}})
	plan, err := r.mech.Plan(ctx, sdk.PlanRequest{Params: r.job.Params, Public: whole, Target: point(r.job.Guarantee)})
	if err != nil {
		return nil
	}
	return plan.Errors
}

// planProblems places a mechanism's refusal, or the parameters that it cannot take.
// Before any data is read its words may be shown.
func planProblems(j *job.Job, r *release, err error) job.Problems {
	var at paramErrors
	if !errors.As(err, &at) {
		return job.Problems{j.Problem(r.path()+".params", err.Error(), "")}
	}
	var problems job.Problems
	for _, e := range at {
		problems = append(problems, j.Problem(r.path()+".params"+e.path, e.message, e.hint))
	}
	return problems
}

// price evaluates the events on the population: of each release, of each draw,
// and of the whole job, which is what is charged.
func (p *Plan) price(outer privacy.Sampling, inside privacy.Relation) error {
	p.outer = outer
	relation := p.job.Dataset.Relation
	var events, fresh, promised []privacy.Event
	var targets []job.Guarantee // of the fresh draws
	for _, d := range p.draws {
		events = append(events, d.event)
		if d.kept != nil {
			if err := d.priceKept(p.job); err != nil {
				return asPlanError(err, "draw %s: %v", d.name, err)
			}
			continue
		}
		if p.table != nil {
			if err := p.table.stands(relation, []privacy.Event{d.event}, point(d.target).Delta); err != nil {
				return asPlanError(err, "draw %s: %v", d.name, err)
			}
		}
		fresh, targets = append(fresh, d.event), append(targets, d.target)
		shares := make([]privacy.Event, len(d.releases))
		for k, r := range d.releases {
			shares[k] = privacy.Approx{Eps: r.cost, Delta: r.share.Delta}
			together, err := d.promise(r.event(d), shares[k], outer, inside, d.own(r))
			if err == nil {
				r.answer, err = p.cost(r.event(d), together, inside, d.own(r), point(r.job.Guarantee))
			}
			if err != nil {
				return fail(ExitBug, "PLAN_UNSOUND", "release %s: %v", r.job.Name, err)
			}
		}
		together, err := d.promise(d.event, compose(shares), outer, inside, d.onTable())
		if err != nil {
			return fail(ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.name, err)
		}
		if d.answer, err = p.cost(d.event, together, inside, d.onTable(), point(d.target)); err != nil {
			return fail(ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.name, err)
		}
		// What the draw costs on the table is what the draws compose with.
		onTable, err := charged(d.event, together, inside, d.onTable())
		if err != nil {
			return fail(ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.name, err)
		}
		promised = append(promised, privacy.Approx{Eps: onTable.Epsilon, Delta: onTable.Delta})
	}
	answer := privacy.Answer{Relation: relation}
	var err error
	switch {
	case p.table != nil:
		answer, err = p.priceTable(events, promised, inside)
	case len(fresh) > 0:
		p.event = compose(fresh)
		answer, err = charged(p.event, compose(promised), relation, point(sum(targets...)))
		p.fresh = privacy.Point{Epsilon: answer.Epsilon, Delta: answer.Delta}
	}
	if err != nil {
		return asPlanError(err, "job: %v", err)
	}
	if len(fresh) < len(p.draws) {
		answer = plus(answer, p.draws)
	}
	p.all, p.answer = p.onPopulation(compose(events)), answer
	return nil
}

// onPopulation is an event on the table as the population sees it: amplified, with
// what earlier jobs did, where the table is itself a sample.
func (p *Plan) onPopulation(e privacy.Event) privacy.Event {
	if p.outer == nil {
		return e
	}
	return p.outer.With(compose(append(p.table.kept.earlier(), e)))
}

// bySplit is the method that charges what the releases cost one by one: each was
// held to its share of the sample's budget by whichever method is best for it alone,
// and what they need of their shares composes.
const bySplit = "split"

// charged is the accountant's answer at the target's δ: the smaller of what the
// events cost together, and what the shares that the releases were held to cost
// together (basic composition, then one amplification). The second never exceeds
// the target; that is what the budget was split for. It is nil for events that stand
// for themselves.
func charged(event, shares privacy.Event, r privacy.Relation, target privacy.Point) (privacy.Answer, error) {
	a, err := privacy.EpsilonAt(event, r, target.Delta)
	if err != nil {
		return a, err
	}
	if shares != nil {
		b, err := privacy.EpsilonAt(shares, r, target.Delta)
		if err != nil {
			return b, err
		}
		a.Methods = maps.Clone(a.Methods)
		a.Methods[bySplit] = privacy.Bound{Epsilon: b.Epsilon, Delta: b.Delta}
		if b.Epsilon < a.Epsilon {
			a.Epsilon, a.Delta, a.Upper, a.Method = b.Epsilon, b.Delta, b.Epsilon, bySplit
		}
	}
	return a, within(a, target)
}

func within(a privacy.Answer, target privacy.Point) error {
	if !(a.Epsilon <= target.Epsilon) {
		return fmt.Errorf("the events cost ε %.9g, more than the target %.9g", a.Epsilon, target.Epsilon)
	}
	return nil
}

// asPlanError is a refusal of the ledger, or a plan that was priced wrongly.
func asPlanError(err error, format string, args ...any) error {
	var known *ledger.Error
	if errors.As(err, &known) {
		return fail(ExitBudget, known.Code, "%s", known.Message)
	}
	return fail(ExitBug, "PLAN_UNSOUND", format, args...)
}

// withinLimit compares the price with the job's own limit; what earlier jobs
// spent is the ledger's business.
func (p *Plan) withinLimit() error {
	if err := ledger.Within(limitOf(p.job), p.guaranteed()); err != nil {
		return ledgerFailure(context.Background(), err)
	}
	return nil
}

// guaranteed is the point that a budget is debited with.
func (p *Plan) guaranteed() privacy.Point {
	return privacy.Point{Epsilon: p.answer.Epsilon, Delta: p.answer.Delta}
}

// releases are all releases in the order of the job.
func (p *Plan) releases() []*release {
	var all []*release
	for _, d := range p.draws {
		all = append(all, d.releases...)
	}
	slices.SortFunc(all, func(a, b *release) int { return a.index - b.index })
	return all
}

func accountOf(j *job.Job) ledger.Key {
	return ledger.Key{Dataset: j.Dataset.ID, Unit: j.Dataset.Unit, Relation: j.Dataset.Relation}
}

func limitOf(j *job.Job) ledger.Limit {
	return ledger.Limit{Epsilon: j.Budget.Limit.Epsilon, Delta: j.Budget.Limit.Delta}
}

// columns are all columns that the job reads.
func (p *Plan) columns() []string {
	var all []string
	for _, d := range p.draws {
		for _, r := range d.releases {
			for _, c := range r.plan.Columns {
				if !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
		}
		for _, c := range d.design.Facts().UnitColumns {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	if c := p.job.Dataset.Key.Column; c != "" && !slices.Contains(all, c) {
		all = append(all, c)
	}
	return all
}

// requests are what the plan asks of one mechanism, for each release that names it.
func (p *Plan) requests(mechanism string) []sdk.PlanRequest {
	var out []sdk.PlanRequest
	for _, d := range p.draws {
		for _, r := range d.releases {
			if r.job.Mechanism == mechanism {
				out = append(out, sdk.PlanRequest{Params: r.job.Params, Public: r.public, Target: r.share})
			}
		}
	}
	return out
}
