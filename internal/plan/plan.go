package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Plan is a job with its price: every draw, event, guarantee and budget. It was
// made without data and does not change any more.
type Plan struct {
	Job    *job.Job
	Event  privacy.Event // what the job does to the population; kept draws are left out; nil for nothing
	Fresh  privacy.Point // what that costs
	Draws  []*Draw
	Table  *Draw            // the draw that made the table, where that is itself a sample: one for all jobs (P4)
	outer  privacy.Sampling // how it was drawn, nil where the table is the population
	inside privacy.Relation // which draws from the table must use
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
	Keys      []*Keys   // the selections of the values that its releases group by
	Kept      *KeptDraw // nil where no other job uses the draw
	Event     privacy.Event
	Answer    privacy.Answer
	rhoFactor float64 // in ρ: how many times the ε that each release was found to have
}

// Release is one planned release.
type Release struct {
	index  int
	Job    job.Release
	Mech   Mechanism
	Public sdk.Public
	Params json.RawMessage // as the mechanism is given them: with its groups
	Cells  *Cells          // nil where the mechanism sees the rows as they are
	scaled []string        // the columns that it reads over a bound that is found first
	values []string        // of the group column whose values are selected, nil before the selection
	Apart  bool            // the mechanism is run on each cell by itself
	fixed  bool            // apart, and no neighbour moves a row from one cell to another
	groups int64           // apart, in how many cells a unit may have rows
	// Weights are the survey weights that the mechanism sees; nil for none.
	Weights *Weigher
	Share   privacy.Point
	target  privacy.Point // what the mechanism is asked to spend: less than the share where it is run by group
	cost    float64       // the ε of the plan at the share's δ, at most the share's
	solved  float64       // in ρ: the ε at which the mechanism plans what is asked
	Plan    sdk.Plan
	Full    []sdk.ExpectedError // what the full table would have had, where this is a sample
	Answer  privacy.Answer      // of this release alone, on the population
	// Relative is the noise over the size of the value, of a release that shares
	// budget.spend: 0 where that is not public. Balanced says that its share was found by
	// its error, and not by its weight alone.
	Relative float64
	Balanced bool
}

func (r *Release) path(j *job.Job) string { return j.ReleasePath(r.index) }

// Make prices a job. It asks the mechanisms and the ledger, and never the table.
func Make(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Plan, error) {
	made := priced
	if j.Budget.Spend != nil {
		made = divide
	}
	p, err := made(ctx, j, set, past)
	if err != nil {
		return nil, err
	}
	if err := p.distributable(); err != nil {
		return nil, err
	}
	return p, p.withinLimit()
}

// priced plans a job with the guarantees that it states.
func priced(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Plan, error) {
	p, err := draft(ctx, j, set, past)
	if err == nil {
		err = p.price()
	}
	return p, err
}

// draft plans every draw of a job, and prices nothing.
func draft(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Plan, error) {
	outer, relation, problems := collected(j)
	if len(problems) > 0 {
		return nil, problems
	}
	p := &Plan{Job: j, outer: outer, inside: relation}
	draws, problems, broken := newDraws(ctx, j, set, past)
	if len(problems) > 0 {
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
	for i, d := range draws {
		mine := Point(d.Target)
		if outer != nil {
			mine = portion(budget, d.Target, whole)
		}
		planned, more, err := d.plan(ctx, j, relation, mine)
		draws[i] = planned
		broken = cmp.Or(broken, err)
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, problems.Sort()
	}
	if broken != nil {
		return nil, broken
	}
	return p, nil
}

// collected returns the event that made the table itself a sample (nil where it
// is the population) and the relation that draws from the table must then use.
func collected(j *job.Job) (privacy.Sampling, privacy.Relation, job.Problems) {
	if j.Dataset.Collected == nil {
		return nil, j.Dataset.Relation, nil
	}
	refuse := func(err error) (privacy.Sampling, privacy.Relation, job.Problems) {
		var placed frameError
		if errors.As(err, &placed) {
			return nil, 0, job.Problems{sampleProblem(j, "", err)}
		}
		return nil, 0, job.Problems{j.Problem("dataset.collected", err.Error(), "")}
	}
	c, err := CollectedBy(j)
	if err != nil {
		return refuse(err)
	}
	outer := Sampling(c)
	under, err := privacy.SampleRelations(outer, j.Dataset.Relation)
	if err == nil && len(under) != 1 {
		err = errors.New("this relation is not supported for a table that is itself a sample")
	}
	if err != nil {
		return refuse(err)
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

// plan inverts the draw's target once and has every mechanism plan its part (P4). It
// returns the draw with its plan.
func (d *Draw) plan(ctx context.Context, j *job.Job, relation privacy.Relation, budget privacy.Point) (*Draw, job.Problems, error) {
	s := Sampling(d.Design)
	d.Relations = []privacy.Relation{relation}
	if s != nil {
		under, err := privacy.SampleRelations(s, relation)
		if err != nil {
			return nil, job.Problems{j.Problem(job.Key("samples", d.Name), err.Error(), "")}, nil
		}
		d.Relations = under
	}
	d.budget = budget
	if d.inRho() {
		return d.planRho(ctx, j, relation)
	}
	sample, err := d.onSample(s, relation, privacy.Point{Epsilon: budget.Epsilon * keptBack, Delta: budget.Delta * keptBack * keptBack})
	if err != nil {
		return nil, job.Problems{j.Problem(job.Key("samples", d.Name), err.Error(), "")}, nil
	}
	if sample.Delta >= math.Nextafter(1, 0) {
		return nil, job.Problems{j.Problem(job.Key("samples", d.Name), fmt.Sprintf("the delta of its releases is %.3g, as large as the probability that a unit is drawn at all: it would allow publishing the sample", d.budget.Delta), "ask for a smaller delta in guarantee")}, nil
	}
	c, problems, broken := d.candidate(ctx, j, sample)
	if len(problems) > 0 || broken != nil {
		return nil, problems, broken
	}
	if s != nil {
		for _, r := range c.Releases {
			r.Full = r.withoutSampling(ctx, j, d, relation)
		}
		for _, k := range c.Keys {
			k.Whole = k.whole(j, relation)
		}
	}
	if d.Kept != nil {
		return c, nil, nil // its rule leaves nothing over
	}
	c, broken = c.raise(ctx, j, s, relation)
	return c, nil, broken
}

// onSample inverts the draw's amplification, or of a kept draw what one more step
// adds to it.
func (d *Draw) onSample(s privacy.Sampling, r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if d.Kept != nil {
		return d.Kept.rule.Step(d.Kept.before(), target)
	}
	return onSample(s, r, target)
}

// candidate returns a copy of the draw with another budget for its sample. Every
// mechanism has planned its part of that budget. The draw itself stays as it is.
func (d *Draw) candidate(ctx context.Context, j *job.Job, sample privacy.Point) (*Draw, job.Problems, error) {
	var problems job.Problems
	var broken error
	c := *d
	c.Sample, c.Releases, c.Keys = sample, make([]*Release, len(d.Releases)), make([]*Keys, len(d.Keys))
	for i, before := range d.Releases {
		one := *before
		r := &one
		c.Releases[i] = r
		r.Share = portion(sample, r.Job.Guarantee, d.Target)
		if err := r.makePlan(ctx, j, d); err != nil {
			if isFault(err) {
				broken = cmp.Or(broken, faulty(ctx, j, r.path(j)+".mechanism", err))
			} else {
				problems = append(problems, planProblems(j, r, err)...)
			}
		}
	}
	for i, before := range d.Keys {
		k := *before
		c.Keys[i], k.Share = &k, portion(sample, k.Job.Keys.Guarantee, d.Target)
		if err := k.plan(j, d); err != nil {
			problems = append(problems, keysProblem(j, &k, err))
		}
	}
	if len(problems) == 0 && broken == nil {
		c.Event = d.Design.Event(compose(append(d.Kept.earlier(), eventsOf(c.parts())...)))
	}
	return &c, problems, broken
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

// withinLimit compares the price with the job's own limit; what earlier jobs
// spent is the ledger's business.
func (p *Plan) withinLimit() error {
	limit := LimitOf(p.Job)
	err := error(nil)
	if limit.Rho != nil {
		err = p.withinRho(limit)
	} else {
		err = ledger.Within(limit, p.guaranteed())
	}
	if err != nil {
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

// AccountOf is the account that a job spends from.
func AccountOf(j *job.Job) ledger.Key {
	k := ledger.Key{Dataset: j.Dataset.ID, Unit: j.Dataset.Unit, Relation: j.Dataset.Relation}
	if s := j.Dataset.Slice; s != nil {
		k.Slice = ledger.Slice{Column: s.Column, Is: s.Is}
	}
	return k
}

// LimitOf is the limit that a job says of its account.
func LimitOf(j *job.Job) ledger.Limit {
	return limitOf(j.Budget.Limit)
}

// LifetimeOf is the limit that a job says of all slices of its account together, nil where
// it says none.
func LifetimeOf(j *job.Job) *ledger.Limit {
	if j.Budget.Lifetime == nil {
		return nil
	}
	l := limitOf(*j.Budget.Lifetime)
	return &l
}

func limitOf(g job.Guarantee) ledger.Limit {
	if g.Rho != nil {
		return ledger.Limit{Rho: g.Rho}
	}
	return ledger.Limit{Epsilon: g.Epsilon, Delta: g.Delta}
}

// AllDraws are all draws, the one that made the table among them.
func (p *Plan) AllDraws() []*Draw {
	if p.Table == nil {
		return p.Draws
	}
	return append([]*Draw{p.Table}, p.Draws...)
}

// Columns are the columns of the table that the job reads.
func (p *Plan) Columns() []string {
	var names []string
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			names = append(names, r.Reads()...)
		}
		names = append(names, d.Design.Facts().UnitColumns...)
	}
	return p.Job.Dataset.Sources(names...)
}

// Reads are the columns that the release uses: those of the condition on rows, and those
// that it counts.
func (r *Release) Reads() []string {
	names := r.Counts()
	if f := r.Job.Where.Formula; f != nil {
		names = append(names, f.Columns()...)
	}
	return names
}

// Counts are the columns of what is counted, rows or folded units: those of the mechanism,
// of the groups, and of the condition on units.
func (r *Release) Counts() []string {
	var names []string
	for _, c := range r.Plan.Columns {
		if !r.Cells.Label(c) {
			names = append(names, c)
		}
	}
	names = append(names, r.Job.By...)
	if r.Weights != nil {
		names = append(names, r.Weights.Column.Name)
	}
	if f := r.Job.Having.Formula; f != nil {
		names = append(names, f.Columns()...)
	}
	return names
}

// Requests lists the questions of the plan to one mechanism, one for each of its releases.
func (p *Plan) Requests(mechanism string) []sdk.PlanRequest {
	var out []sdk.PlanRequest
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.Mechanism == mechanism {
				out = append(out, r.request())
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
	if s := p.Job.Dataset.Slice; s != nil && p.Job.Dataset.Relation == privacy.ReplaceOne {
		all = append(all, s.Column) // under add-remove a neighbour has a unit more, in a slice
	}
	for _, d := range p.AllDraws() {
		for _, c := range d.PublicColumns(p.Job) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}
