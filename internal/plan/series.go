package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// PlannedSeries is a release as part of a series: a matrix of whole numbers, and the noise that each run adds to
// each noise call of the mechanism.
//
// # Contract
//
// Run t releases Σ C_ts·x_s and fresh discrete Gaussian noise, x_s the vectors of the mechanism for slice s. One
// and Life price, in ρ, a unit that is in one given period, and in all; Most what the job promises. Each is computed
// from the whole numbers of the matrix and from the parameters of the noise that is drawn. Proof: series.proof.md. // P31
type PlannedSeries struct {
	Spec    *job.Series
	Start   SeriesStart
	Matrix  series.Matrix
	Found   *series.Plan // how the matrix was found, and what it is worth
	Calls   []privacy.DiscreteGaussian
	periods []string
	units   series.Units
	capped  bool     // no unit counts in more periods than Most prices
	unit    *big.Rat // Σ Δ²/2σ² over the noise calls
}

// times prices a charge of the matrix, in ρ.
func (s *PlannedSeries) times(charge int64) *big.Rat {
	return new(big.Rat).Mul(s.unit, new(big.Rat).SetInt64(charge))
}

// One prices a unit in ρ that is in one period alone.
func (s *PlannedSeries) One(period int) *big.Rat { return s.times(s.Matrix.Column(period)) }

// Most prices a unit in ρ that is in as many periods as the job says.
func (s *PlannedSeries) Most() *big.Rat { return s.times(s.Matrix.Charge(s.units)) }

// Life prices a unit in ρ that is in all periods, whether or not it counts in all.
func (s *PlannedSeries) Life() *big.Rat {
	if s.capped {
		return s.Most()
	}
	return s.times(s.Matrix.Life(s.units.Revised))
}

// Redraw prices in ρ one run once more, for a unit in one period and in all.
func (s *PlannedSeries) Redraw(run int) (one []*big.Rat, life *big.Rat) {
	whole := int64(0)
	for _, c := range s.Matrix.Run(run) {
		one = append(one, s.times(c*c))
		whole += max(c, -c)
	}
	return one, s.times(whole * whole)
}

// unitsOf are the units that the guarantee of a series covers.
func unitsOf(s *job.Series) series.Units {
	u := series.Units{AtMost: 1, Apart: 1, Revised: s.Revised == job.RevisedAccept}
	if s.Unit != nil {
		u.AtMost, u.Apart = int(s.Unit.AtMost), int(s.Unit.Apart)
	}
	return u
}

// planInSeries has the mechanism plan a release of a series, for one period alone, and finds the noise of all.
// The first run asks for what the guarantee allows. A later one asks for what the first one asked.
func (q *Question) planInSeries(ctx context.Context, j *job.Job, spec *job.Series, d *DraftDraw) (*PlannedRelease, error) {
	if builtin, _ := q.Mech.Origin(); !builtin || !q.Mech.About().Linear || q.Apart {
		return nil, fmt.Errorf("%s cannot be in a series: its rows do not add up, or it is a plugin", q.Job.Mechanism)
	}
	one, err := q.gaussian()
	if err != nil {
		return nil, err
	}
	q = one
	if d.begun == nil {
		r, err := q.solveRho(ctx, j, d.relations)
		if err != nil {
			return nil, err
		}
		found, err := d.matrix(spec)
		if err != nil {
			return nil, err
		}
		start := SeriesStart{Name: q.Job.Name, Target: r.target, Method: found.Name}
		for t := range found.Matrix.Periods() {
			start.Matrix = append(start.Matrix, found.Matrix.Run(t))
		}
		calls, err := gaussians(nil, r.Plan.Event)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.Job.Mechanism, err)
		}
		unit := 0.0
		for _, c := range calls {
			unit += math.Pow(c.Sensitivity.Under(j.Dataset.Relation)/c.Sigma, 2) / 2
		}
		// The noise of a run is that of the plan, times what the guarantee needs for the whole matrix.
		times := math.Sqrt(unit * float64(found.Matrix.Charge(unitsOf(spec))) / rational.Down(q.Job.Guarantee.Rho))
		for _, c := range calls {
			start.Sigmas = append(start.Sigmas, seriesSigma(c.Sigma*times))
		}
		if start.Event, err = privacy.Canonical(r.Plan.Event); err != nil {
			return nil, err
		}
		return r.joined(ctx, j, spec, start, found)
	}
	at := slices.IndexFunc(d.begun.Releases, func(s SeriesStart) bool { return s.Name == q.Job.Name })
	if at < 0 {
		return nil, fmt.Errorf("release %s was not in the series when it began", q.Job.Name)
	}
	start := d.begun.Releases[at]
	r, err := q.plan(ctx, start.Target, start.Target, d.relations)
	if err == nil {
		r, err = r.settled(j)
	}
	if err != nil {
		return nil, err
	}
	event, err := privacy.Canonical(r.Plan.Event)
	if err != nil || string(event) != string(start.Event) {
		return nil, fmt.Errorf("%s plans otherwise than when the series began: use the version of dprelease that began it, or begin a second series", q.Job.Mechanism)
	}
	return r.joined(ctx, j, spec, start, nil)
}

// gaussian is the question with Gaussian noise, which a series needs.
func (q *Question) gaussian() (*Question, error) {
	var said struct {
		Noise string `json:"noise"`
	}
	if err := json.Unmarshal(q.Params, &said); err != nil || said.Noise != "" && said.Noise != "auto" {
		return q, err
	}
	one := *q
	params, err := with(q.Params, "noise", "gaussian")
	if err == nil && q.Mech.Validate(params) == nil {
		one.Params = params
	}
	return &one, err
}

// seriesSigma rounds the noise of a run up, so that the exact price of the series stays within the guarantee.
func seriesSigma(sigma float64) float64 { return math.Ceil(sigma*(1+1e-9)*1024) / 1024 }

// joined is the release in its series.
func (r *PlannedRelease) joined(ctx context.Context, j *job.Job, spec *job.Series, start SeriesStart, found *series.Plan) (*PlannedRelease, error) {
	m, err := series.NewMatrix(start.Matrix)
	if err != nil {
		return nil, err
	}
	calls, err := gaussians(nil, r.Plan.Event)
	if err != nil || len(calls) != len(start.Sigmas) {
		return nil, fmt.Errorf("%s: %w", r.Job.Mechanism, cmp.Or(err, errNotGaussian))
	}
	s := &PlannedSeries{Spec: spec, Start: start, Matrix: m, Found: found, periods: spec.Periods.All(), units: unitsOf(spec), capped: j.CapsPeriods(), unit: new(big.Rat)}
	if m.Periods() != len(s.periods) {
		return nil, fmt.Errorf("the series had other periods when it began")
	}
	for i, c := range calls {
		sigma, delta := new(big.Rat).SetFloat64(start.Sigmas[i]), new(big.Rat).SetFloat64(c.Sensitivity.Under(j.Dataset.Relation))
		if sigma == nil || sigma.Sign() <= 0 || delta == nil {
			return nil, fmt.Errorf("the noise of the series has no finite size")
		}
		one := delta.Quo(delta, sigma)
		s.unit.Add(s.unit, one.Mul(one, one).Mul(one, big.NewRat(1, 2)))
		c.Sigma = start.Sigmas[i]
		s.Calls = append(s.Calls, c)
	}
	if s.Most().Cmp(r.Job.Guarantee.Rho) > 0 {
		return nil, fmt.Errorf("the series costs ρ %s, more than the release asks for", ledger.Up(s.Most()))
	}
	if slices.ContainsFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Name == "whole" }) {
		return nil, fmt.Errorf("whole numbers are made for each period by itself, so those of a quarter would not be the sum of its months: leave finish out")
	}
	if err := r.tellsChanges(ctx, spec); err != nil {
		return nil, err
	}
	one := *r
	one.Series = s
	// The mechanism's own plan is about one period. What it costs is not what the series costs.
	a, err := privacy.EpsilonAt(one.Event(), j.Dataset.Relation, r.Share.Delta)
	if err != nil {
		return nil, err
	}
	one.cost = a.Epsilon
	return &one, nil
}

var errNotGaussian = fmt.Errorf("a series needs Gaussian noise: say params: {noise: gaussian}")

// gaussians lists the noise calls of a linear mechanism.
func gaussians(calls []privacy.DiscreteGaussian, e privacy.Event) ([]privacy.DiscreteGaussian, error) {
	var err error
	switch e := e.(type) {
	case privacy.DiscreteGaussian:
		return append(calls, e), nil
	case privacy.Compose:
		for _, child := range e.Events {
			if calls, err = gaussians(calls, child); err != nil {
				return nil, err
			}
		}
		return calls, nil
	case privacy.Repeat:
		for range e.N {
			if calls, err = gaussians(calls, e.Event); err != nil {
				return nil, err
			}
		}
		return calls, nil
	}
	return nil, errNotGaussian
}

// event returns the event of a series for a unit that is in as many periods as the job says. What a loss distribution
// would say of it holds for one period and unchanged slices alone, so it is a ρ.
func (s *PlannedSeries) event() privacy.Event { return privacy.ZCDP{Rho: rational.Up(s.Most())} }
