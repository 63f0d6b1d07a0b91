package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Order is a release's place in the job file.
func (p *Plan) Order(name string) int {
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.Name == name {
				return r.index
			}
		}
	}
	return -1
}

// Plan is a job with its price: every draw, event, guarantee and budget. It was
// made without data and does not change any more.
type Plan struct {
	Job    *job.Job
	Event  privacy.Event // what the job does to the population, but for kept draws; nil for nothing
	Fresh  privacy.Point // what that costs
	Draws  []*Draw
	Table  *Draw            // the draw that made the table, where that is itself a sample: one for all jobs (P4)
	outer  privacy.Sampling // how it was drawn, nil where the table is the population
	All    privacy.Event    // what the job does to the population, kept draws and all
	Answer privacy.Answer   // what that costs: what is charged
}

// Draw is one sample and all that is released from it (P4).
type Draw struct {
	Name      string
	Design    samplers.Design
	Target    job.Guarantee      // sum of the releases' targets on the population
	budget    privacy.Point      // the same on the table, where the table is itself a sample
	Sample    privacy.Point      // what all releases together may spend on the sample
	Relations []privacy.Relation // under which they must
	Arrival   *privacy.Point     // what it costs under add-remove, where more was allowed for that (raise)
	Releases  []*Release
	Kept      *KeptDraw // nil where no other job uses the draw
	Event     privacy.Event
	Answer    privacy.Answer
}

// Release is one planned release.
type Release struct {
	index  int
	Job    job.Release
	Mech   Mechanism
	Public sdk.Public
	Share  privacy.Point
	cost   float64 // the ε of the plan at the share's δ, at most the share's
	Plan   sdk.Plan
	Full   []sdk.ExpectedError // what the full table would have had, where this is a sample
	Answer privacy.Answer      // of this release alone, on the population
}

func (r *Release) path() string { return job.Item("releases", r.index) }

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

// Make prices a job. It asks the mechanisms and the ledger, and never the table.
func Make(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Plan, error) {
	p := &Plan{Job: j}
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
	p.Draws = draws

	targets := make([]job.Guarantee, len(draws))
	for i, d := range draws {
		targets[i] = d.Target
	}
	whole := sum(targets...)
	budget, err := Point(whole), error(nil)
	if outer != nil {
		if p.Table, problems, err = collection(ctx, j, outer, past); err != nil {
			return nil, err
		} else if len(problems) > 0 {
			return nil, problems
		}
		if budget, err = p.Table.onSample(outer, j.Dataset.Relation, privacy.Point{Epsilon: budget.Epsilon * keptBack, Delta: budget.Delta * keptBack}); err != nil {
			return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}
		}
	}
	for _, d := range draws {
		mine := Point(d.Target)
		if outer != nil {
			mine = portion(budget, d.Target, whole)
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

// Sampling returns the design's event without an inner event, nil for the whole
// table.
func Sampling(d samplers.Design) privacy.Sampling {
	s, _ := d.Event(nil).(privacy.Sampling)
	return s
}

// plan inverts the draw's target once and has every mechanism plan its part (P4).
func (d *Draw) plan(ctx context.Context, j *job.Job, relation privacy.Relation, budget privacy.Point) (job.Problems, error) {
	s := Sampling(d.Design)
	d.Relations = []privacy.Relation{relation}
	if s != nil {
		under, err := privacy.SampleRelations(s, relation)
		if err != nil {
			return job.Problems{j.Problem(job.Key("samples", d.Name), err.Error(), "")}, nil
		}
		d.Relations = under
	}
	var err error
	d.budget = budget
	if d.Sample, err = d.onSample(s, relation, privacy.Point{Epsilon: budget.Epsilon * keptBack, Delta: budget.Delta * keptBack * keptBack}); err != nil {
		return job.Problems{j.Problem(job.Key("samples", d.Name), err.Error(), "")}, nil
	}
	if d.Sample.Delta >= math.Nextafter(1, 0) {
		return job.Problems{j.Problem(job.Key("samples", d.Name), fmt.Sprintf("the delta of what is released from it is %.3g: as large as the probability that a unit is drawn at all, so that it would allow to publish the sample", d.budget.Delta), "ask for a smaller delta in guarantee")}, nil
	}
	problems, broken := d.planReleases(ctx, j)
	if len(problems) > 0 || broken != nil {
		return problems, broken
	}
	if s != nil {
		for _, r := range d.Releases {
			r.Full = r.withoutSampling(ctx, j, relation)
		}
	}
	if d.Kept != nil {
		return nil, nil // its rule leaves nothing over
	}
	return nil, d.raise(ctx, j, s, relation)
}

// onSample inverts the draw's amplification, or of a kept draw what one more step
// adds to it.
func (d *Draw) onSample(s privacy.Sampling, r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if d.Kept != nil {
		return d.Kept.rule.Step(d.Kept.before(), target)
	}
	return onSample(s, r, target)
}

// planReleases has every mechanism plan its part of what the sample may spend.
func (d *Draw) planReleases(ctx context.Context, j *job.Job) (job.Problems, error) {
	var problems job.Problems
	var broken error
	events := make([]privacy.Event, 0, len(d.Releases))
	for _, r := range d.Releases {
		r.Share = portion(d.Sample, r.Job.Guarantee, d.Target)
		r.Public = public(j, d)
		if err := r.makePlan(ctx); err != nil {
			if pluginFault(err) {
				broken = cmp.Or(broken, pluginFailure(ctx, j, r.path()+".mechanism", err))
			} else {
				problems = append(problems, planProblems(j, r, err)...)
			}
			continue
		}
		events = append(events, r.Plan.Event)
	}
	if len(events) > 0 {
		d.Event = d.Design.Event(compose(append(d.Kept.earlier(), events...)))
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
func (r *Release) makePlan(ctx context.Context) error {
	for _, rel := range r.Public.SampleRelations {
		if !slices.Contains(r.Mech.About().Relations, rel) {
			return fmt.Errorf("%s does not support %s on the sample", r.Job.Mechanism, rel)
		}
	}
	if !slices.Contains(r.Mech.About().Designs, r.Public.Design.Kind) {
		return fmt.Errorf("%s does not support samples drawn by %s", r.Job.Mechanism, r.Public.Design.Kind)
	}
	if err := r.Mech.Validate(r.Job.Params); err != nil {
		return err
	}
	plan, err := r.Mech.Plan(ctx, sdk.PlanRequest{Params: r.Job.Params, Public: r.Public, Target: r.Share})
	if err != nil {
		return err
	}
	r.cost = 0
	for _, rel := range r.Public.SampleRelations {
		a, err := privacy.EpsilonAt(plan.Event, rel, r.Share.Delta)
		if err != nil {
			return fmt.Errorf("the plan of %s cannot be charged: %w", r.Job.Mechanism, err)
		}
		if a.Epsilon > r.Share.Epsilon {
			return fmt.Errorf("the plan of %s spends more than its share under %s (ε %.6g of %.6g)", r.Job.Mechanism, rel, a.Epsilon, r.Share.Epsilon)
		}
		r.cost = math.Max(r.cost, a.Epsilon)
	}
	for _, name := range plan.Columns {
		if _, ok := r.Public.Column(name); !ok {
			return fmt.Errorf("%s asks for column %q, which is not declared in dataset.columns", r.Job.Mechanism, name)
		}
	}
	r.Plan = plan
	return nil
}

// withoutSampling asks what the error would be on the full table at the same
// guarantee: the question that the report answers about sampling. A mechanism
// that has no plan for the full table leaves it open.
func (r *Release) withoutSampling(ctx context.Context, j *job.Job, relation privacy.Relation) []sdk.ExpectedError {
	design, err := samplers.NewFull(j.Dataset.Size)
	if err != nil {
		return nil
	}
	whole := public(j, &Draw{Design: design, Relations: []privacy.Relation{relation}})
	plan, err := r.Mech.Plan(ctx, sdk.PlanRequest{Params: r.Job.Params, Public: whole, Target: Point(r.Job.Guarantee)})
	if err != nil {
		return nil
	}
	return plan.Errors
}

// planProblems places a mechanism's refusal, or the parameters that it cannot take.
// Before any data is read its words may be shown.
func planProblems(j *job.Job, r *Release, err error) job.Problems {
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
	relation := p.Job.Dataset.Relation
	var events, fresh, promised []privacy.Event
	var targets []job.Guarantee // of the fresh draws
	for _, d := range p.Draws {
		events = append(events, d.Event)
		if d.Kept != nil {
			if err := d.priceKept(p.Job); err != nil {
				return asPlanError(err, "draw %s: %v", d.Name, err)
			}
			continue
		}
		if p.Table != nil {
			if err := p.Table.stands(relation, []privacy.Event{d.Event}, Point(d.Target).Delta); err != nil {
				return asPlanError(err, "draw %s: %v", d.Name, err)
			}
		}
		fresh, targets = append(fresh, d.Event), append(targets, d.Target)
		shares := make([]privacy.Event, len(d.Releases))
		for k, r := range d.Releases {
			shares[k] = privacy.Approx{Eps: r.cost, Delta: r.Share.Delta}
			together, err := d.promise(r.event(d), shares[k], outer, inside, d.own(r))
			if err == nil {
				r.Answer, err = p.cost(r.event(d), together, inside, d.own(r), Point(r.Job.Guarantee))
			}
			if err != nil {
				return failure.New(failure.ExitBug, "PLAN_UNSOUND", "release %s: %v", r.Job.Name, err)
			}
		}
		together, err := d.promise(d.Event, compose(shares), outer, inside, d.onTable())
		if err != nil {
			return failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
		}
		if d.Answer, err = p.cost(d.Event, together, inside, d.onTable(), Point(d.Target)); err != nil {
			return failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
		}
		// What the draw costs on the table is what the draws compose with.
		onTable, err := charged(d.Event, together, inside, d.onTable())
		if err != nil {
			return failure.New(failure.ExitBug, "PLAN_UNSOUND", "draw %s: %v", d.Name, err)
		}
		promised = append(promised, privacy.Approx{Eps: onTable.Epsilon, Delta: onTable.Delta})
	}
	answer := privacy.Answer{Relation: relation}
	var err error
	switch {
	case p.Table != nil:
		answer, err = p.priceTable(events, promised, inside)
	case len(fresh) > 0:
		p.Event = compose(fresh)
		answer, err = charged(p.Event, compose(promised), relation, Point(sum(targets...)))
		p.Fresh = privacy.Point{Epsilon: answer.Epsilon, Delta: answer.Delta}
	}
	if err != nil {
		return asPlanError(err, "job: %v", err)
	}
	if len(fresh) < len(p.Draws) {
		answer = plus(answer, p.Draws)
	}
	p.All, p.Answer = p.OnPopulation(compose(events)), answer
	return nil
}

// OnPopulation is an event on the table as the population sees it: amplified, with
// what earlier jobs did, where the table is itself a sample.
func (p *Plan) OnPopulation(e privacy.Event) privacy.Event {
	if p.outer == nil {
		return e
	}
	return p.outer.With(compose(append(p.Table.Kept.earlier(), e)))
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
		return failure.New(failure.ExitBudget, known.Code, "%s", known.Message)
	}
	return failure.New(failure.ExitBug, "PLAN_UNSOUND", format, args...)
}

// withinLimit compares the price with the job's own limit; what earlier jobs
// spent is the ledger's business.
func (p *Plan) withinLimit() error {
	if err := ledger.Within(LimitOf(p.Job), p.guaranteed()); err != nil {
		return failure.OfLedger(context.Background(), err)
	}
	return nil
}

// guaranteed is the point that a budget is debited with.
func (p *Plan) guaranteed() privacy.Point {
	return privacy.Point{Epsilon: p.Answer.Epsilon, Delta: p.Answer.Delta}
}

// Releases are all releases in the order of the job.
func (p *Plan) Releases() []*Release {
	var all []*Release
	for _, d := range p.Draws {
		all = append(all, d.Releases...)
	}
	slices.SortFunc(all, func(a, b *Release) int { return a.index - b.index })
	return all
}

func AccountOf(j *job.Job) ledger.Key {
	return ledger.Key{Dataset: j.Dataset.ID, Unit: j.Dataset.Unit, Relation: j.Dataset.Relation}
}

func LimitOf(j *job.Job) ledger.Limit {
	return ledger.Limit{Epsilon: j.Budget.Limit.Epsilon, Delta: j.Budget.Limit.Delta}
}

// Columns are all columns that the job reads.
func (p *Plan) Columns() []string {
	var all []string
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			for _, c := range r.Plan.Columns {
				if !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
		}
		for _, c := range d.Design.Facts().UnitColumns {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	if c := p.Job.Dataset.Key.Column; c != "" && !slices.Contains(all, c) {
		all = append(all, c)
	}
	return all
}

// Requests are what the plan asks of one mechanism, for each release that names it.
func (p *Plan) Requests(mechanism string) []sdk.PlanRequest {
	var out []sdk.PlanRequest
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.Mechanism == mechanism {
				out = append(out, sdk.PlanRequest{Params: r.Job.Params, Public: r.Public, Target: r.Share})
			}
		}
	}
	return out
}

// Keeps are the columns in which the neighbours that the job protects agree (P27).
// Under add-remove a neighbour has one unit more or less and keeps nothing.
func (p *Plan) Keeps() []string {
	if p.Job.Dataset.Relation != privacy.ReplaceOne {
		return nil
	}
	return p.PublicColumns()
}

// PublicColumns are the columns in which a neighbour is the same, of any draw, or else
// what is charged does not hold.
func (p *Plan) PublicColumns() []string {
	var all []string
	for _, d := range p.Draws {
		for _, c := range d.PublicColumns(p.Job) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}
