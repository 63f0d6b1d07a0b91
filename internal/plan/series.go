package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
)

// inSeries is the question of the matrix as one release is charged for it. A plugin is held to its sensitivity run by run:
// nothing shows that it makes the same sums of the same slice each time. // P31
func (q *Question) inSeries(s *job.Series) series.Question {
	out := questionOf(s, inEpsilon(&q.Job))
	if builtin, _ := q.Mech.Origin(); !builtin {
		out.Units.Revised = true
	}
	return out
}

// planInSeries has the mechanism plan a release of a series, for one period alone, and finds the noise of all.
// The first run asks for what the guarantee allows, which is the share where the guarantee is an ε. A later one asks for what
// the first one asked.
func (q *Question) planInSeries(ctx context.Context, j *job.Job, spec *job.Series, d *DraftDraw,
	share privacy.Point) (*PlannedRelease, error) {
	if !q.Mech.About().Linear {
		return nil, fmt.Errorf("%s cannot be in a series: its rows do not add up, so earlier periods say nothing of later ones", q.Job.Mechanism)
	}
	if q.Apart {
		return nil, fmt.Errorf("%s cannot be in a series with groups: it is run for each group by itself; take a mechanism that says that "+
			"it groups", q.Job.Mechanism)
	}
	one, err := q.gaussian()
	if err != nil {
		return nil, err
	}
	q = one
	pure := inEpsilon(&q.Job)
	if d.begun == nil {
		r, err := q.ofOnePeriod(ctx, share)
		if err != nil {
			return nil, err
		}
		found, err := d.matrix(spec, pure)
		if err != nil {
			return nil, err
		}
		start := SeriesStart{Name: q.Job.Name, Target: r.Target, Method: found.Name}
		for t := range found.Matrix.Periods() {
			start.matrix = append(start.matrix, found.Matrix.Run(t))
		}
		calls, err := callsOf(r.Plan.Event, pure)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.Job.Mechanism, err)
		}
		alone, err := periods.Price([]periods.Series{{Matrix: [][]int64{{1}}, Calls: calls, AtMost: 1, Apart: 1}}, j.Dataset.Relation)
		if err != nil {
			return nil, err
		}
		// The noise of a run is that of the plan, times what the guarantee needs for the whole matrix.
		as := q.inSeries(spec)
		times := rational.Up(alone.Life) * float64(as.Charge(found.Matrix)) / rational.Down(q.amount())
		if !pure {
			times = math.Sqrt(times)
		}
		for _, c := range calls {
			start.sizes = append(start.sizes, roundedSize(planned.SizeOf(c)*times))
		}
		if start.Event, err = privacy.Canonical(r.Plan.Event); err != nil {
			return nil, err
		}
		return r.joined(ctx, j, spec, start)
	}
	at := slices.IndexFunc(d.begun.Releases, func(s SeriesStart) bool { return s.Name == q.Job.Name })
	if at < 0 {
		return nil, fmt.Errorf("release %s was not in the series when it began", q.Job.Name)
	}
	start := d.begun.Releases[at]
	r, err := q.at(ctx, start.Target, start.Target)
	if err != nil {
		return nil, err
	}
	event, err := privacy.Canonical(r.Plan.Event)
	if err != nil || string(event) != string(start.Event) {
		return nil, fmt.Errorf("%s plans otherwise than when the series began: use the version of dprelease that began it, "+
			"or begin a second series", q.Job.Mechanism)
	}
	return r.joined(ctx, j, spec, start)
}

// inEpsilon reports whether the guarantee of a release in a series is an ε, for which noise is Laplace noise.
func inEpsilon(r *job.Release) bool { return r.Guarantee.Rho == nil }

// amount returns the ρ or the ε that a release in a series may cost.
func (q *Question) amount() *big.Rat {
	if inEpsilon(&q.Job) {
		return q.Job.Guarantee.Epsilon
	}
	return q.Job.Guarantee.Rho
}

// ofOnePeriod has the mechanism plan a release as if it were of one period alone.
func (q *Question) ofOnePeriod(ctx context.Context, share privacy.Point) (*PlannedRelease, error) {
	if inEpsilon(&q.Job) {
		return q.within(ctx, share)
	}
	return q.solveRho(ctx)
}

// gaussian is the question with Gaussian noise, which a series in ρ needs.
func (q *Question) gaussian() (*Question, error) {
	var said struct {
		Noise string `json:"noise"`
	}
	if err := json.Unmarshal(q.Params, &said); err != nil || said.Noise != "" && said.Noise != "auto" || inEpsilon(&q.Job) {
		return q, err
	}
	one := *q
	louder, err := planned.AddParam(q.Params, "noise", "gaussian")
	if err == nil && validate(q.schema, louder) == nil {
		one.Params = louder
	}
	return &one, err
}

// roundedSize rounds the noise of a run up, so that the exact price of the series stays within the guarantee.
func roundedSize(size float64) float64 { return math.Ceil(size*(1+2e-9)*(1<<20)) / (1 << 20) }

// joined is the release in its series.
func (r *PlannedRelease) joined(ctx context.Context, j *job.Job, spec *job.Series, start SeriesStart) (*PlannedRelease, error) {
	m, err := series.NewMatrix(start.matrix)
	if err != nil {
		return nil, err
	}
	s := &planned.Series{Spec: spec, Matrix: m, Question: r.inSeries(spec), Capped: j.CapsPeriods()}
	calls, err := callsOf(r.Plan.Event, s.Question.Pure)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Job.Mechanism, err)
	}
	if m.Periods() != s.Question.Periods || len(calls) != len(start.sizes) {
		return nil, fmt.Errorf("the series had other periods or other noise when it began")
	}
	for i, c := range calls {
		s.Calls = append(s.Calls, planned.Sized(c, start.sizes[i]))
	}
	if s.Prices, err = periods.Price([]periods.Series{s.Bill()}, j.Dataset.Relation); err != nil {
		return nil, err
	}
	if s.Most.Cmp(r.amount()) > 0 {
		return nil, fmt.Errorf("the series costs %s %s, more than the release asks for", symbolOf(s.Question.Pure), ledger.Up(s.Most))
	}
	for _, name := range []string{"estimate", "noise_sd"} {
		if !slices.ContainsFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Name == name && f.Type == sdk.Float64 }) {
			return nil, fmt.Errorf("%s has no column %s of numbers, which becomes the value or sd of a row over time", r.Job.Mechanism, name)
		}
	}
	if r.has("whole") {
		return nil, fmt.Errorf("whole numbers are made for each period by itself, so those of a quarter would not be the sum of its " +
			"months: leave finish out")
	}
	if err := r.tellsChanges(ctx, spec); err != nil {
		return nil, err
	}
	one := *r
	one.Series, one.start = s, start
	if err := one.noTrend(spec); err != nil {
		return nil, err
	}
	// The mechanism's own plan is about one period. What it costs is not what the series costs.
	a, err := privacy.EpsilonAt(one.Event(), j.Dataset.Relation, r.Share.Delta)
	if err != nil {
		return nil, err
	}
	one.cost = a.Epsilon
	return &one, nil
}

// symbolOf names the unit of the amounts.
func symbolOf(pure bool) string {
	if pure {
		return "ε"
	}
	return "ρ"
}
