package plan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// SeriesSetup is all that later steps of a series need to know of how it began. It is public. The ledger keeps it
// with the debit that paid for the series.
type SeriesSetup struct {
	Job      string        `json:"job"`
	Periods  []string      `json:"periods"`
	AtMost   int           `json:"at_most"`
	Apart    int           `json:"apart"`
	Revised  bool          `json:"revised,omitempty"`
	Releases []SeriesStart `json:"releases"`
	// Rho are what a unit costs that is in one period, in AtMost periods, and in all; exact, or rounded up.
	Rho [3]string `json:"rho"`
}

// Text says in a sentence what a unit costs in one period, in as many as the guarantee covers, and in all, without its full stop.
func (s *SeriesSetup) Text() string {
	text := fmt.Sprintf("the series of %s from %s to %s costs a unit that is in one period ρ %s", s.Job, s.Periods[0], s.Periods[len(s.Periods)-1], s.Rho[0])
	if s.AtMost > 1 {
		text += fmt.Sprintf(", in up to %d periods", s.AtMost)
		if s.Apart > 1 {
			text += fmt.Sprintf(" at least %d apart", s.Apart)
		}
		text += " ρ " + s.Rho[1]
	}
	text += fmt.Sprintf(", and in all %d of them ρ %s; its first step paid for every period", len(s.Periods), s.Rho[2])
	if s.Revised {
		text += "; slices may change after they were measured: late and corrected rows count in part, from then on, and the intervals leave that out"
	}
	return text
}

// ReadSeriesSetup reads what the ledger keeps of how a series began.
func ReadSeriesSetup(text []byte) (*SeriesSetup, error) {
	out := &SeriesSetup{}
	if err := json.Unmarshal(text, out); err != nil || len(out.Periods) == 0 {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "what the ledger says of how the series began cannot be read")
	}
	return out, nil
}

// SeriesStart says how one release of a series began.
type SeriesStart struct {
	Name   string          `json:"name"`
	Target privacy.Point   `json:"target"` // what its mechanism was asked to spend
	Event  json.RawMessage `json:"event"`  // what the mechanism planned for one period alone
	Method string          `json:"method"` // how the matrix was found
	Matrix [][]int64       `json:"matrix"` // row t: the factors of periods 0 to t in run t
	Sigmas []float64       `json:"sigmas"` // of the noise of a run, for each noise call of the mechanism
}

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

// Life prices a unit in ρ that is in all periods.
func (s *PlannedSeries) Life() *big.Rat { return s.times(s.Matrix.Life(s.units.Revised)) }

// Redraw prices in ρ one run once more, for a unit in one period and in all.
func (s *PlannedSeries) Redraw(run int) (one []*big.Rat, life *big.Rat) {
	whole := int64(0)
	for _, c := range s.Matrix.Run(run) {
		one = append(one, s.times(c*c))
		whole += max(c, -c)
	}
	return one, s.times(whole * whole)
}

// StepPlan names one step of the series of a job in the ledger.
func StepPlan(j *job.Job, period string) string {
	sum := sha256.Sum256([]byte("dprelease series step 1\n" + j.SeriesDigest() + "\n" + period))
	return hex.EncodeToString(sum[:])
}

// StepPlans name all steps.
func StepPlans(j *job.Job) []string {
	out := []string{}
	for _, p := range j.Series[0].Periods.All() {
		out = append(out, StepPlan(j, p))
	}
	return out
}

// begun returns the setup of a series that an earlier run began, nil where this run begins it.
func begun(ctx context.Context, j *job.Job, past Past) (*SeriesSetup, error) {
	if len(j.Series) == 0 {
		return nil, nil
	}
	text, err := past.Series(ctx, j)
	if err != nil || text == nil {
		return nil, err
	}
	return ReadSeriesSetup(text)
}

// unitsOf are the units that the guarantee of a series covers.
func unitsOf(s *job.Series) series.Units {
	u := series.Units{AtMost: 1, Apart: 1, Revised: s.Revised == job.RevisedAccept}
	if s.Unit != nil {
		u.AtMost, u.Apart = int(s.Unit.AtMost), int(s.Unit.Apart)
	}
	return u
}

// RowOf is a published row in the terms of the matrix.
func RowOf(s job.SeriesStretch, weight float64) series.Row {
	r := series.Row{Kind: s.Row.String(), Period: s.Last, Weight: weight}
	if s.Less >= 0 {
		r.Terms = append(r.Terms, series.Term{Period: s.Less, Factor: -1})
	}
	for p := s.First; p <= s.Last; p++ {
		r.Terms = append(r.Terms, series.Term{Period: p, Factor: 1})
	}
	return r
}

// Stretches are all published rows of a series, kind by kind.
func (s *PlannedSeries) Stretches() (out []job.SeriesStretch) {
	for _, r := range s.Spec.Publish {
		out = append(out, s.Spec.Periods.Stretches(r)...)
	}
	return out
}

// findMatrix finds the matrix of a series.
func findMatrix(s *job.Series) (*series.Plan, error) {
	q := series.Question{Periods: len(s.Periods.All()), Units: unitsOf(s), Goal: series.RMS, Largest: 1 << 20}
	if s.Goal == job.Worst {
		q.Goal = series.Worst
	}
	for _, kind := range s.Publish {
		weight := 1.0
		for _, w := range s.Weights {
			if w.Name == kind.String() {
				weight = rational.Down(w.Value)
			}
		}
		for _, row := range s.Periods.Stretches(kind) {
			q.Rows = append(q.Rows, RowOf(row, weight))
		}
	}
	return series.Find(q)
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
		return r.joined(j, spec, start, found)
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
	return r.joined(j, spec, start, nil)
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
func (r *PlannedRelease) joined(j *job.Job, spec *job.Series, start SeriesStart, found *series.Plan) (*PlannedRelease, error) {
	m, err := series.NewMatrix(start.Matrix)
	if err != nil {
		return nil, err
	}
	calls, err := gaussians(nil, r.Plan.Event)
	if err != nil || len(calls) != len(start.Sigmas) {
		return nil, fmt.Errorf("%s: %w", r.Job.Mechanism, cmp.Or(err, errNotGaussian))
	}
	s := &PlannedSeries{Spec: spec, Start: start, Matrix: m, Found: found, periods: spec.Periods.All(), units: unitsOf(spec), unit: new(big.Rat)}
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
	if !r.Additive() && slices.ContainsFunc(spec.Publish, func(row job.SeriesRow) bool { return row.Kind == job.Change }) {
		return nil, fmt.Errorf("%s is no sum, so its noisy sums tell no change: leave change out of publish, or put the release into a series of its own job", r.Job.Mechanism)
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

// Step returns the step of a job's series: nil where the job has none.
func (p *Planned) Step() *SeriesStep {
	at, ok := p.Job.Step()
	if !ok {
		return nil
	}
	s := &SeriesStep{At: at, Plans: StepPlans(p.Job), Periods: p.Job.Series[0].Periods.All(), plan: p}
	return s
}

// SeriesStep is one step of all releases of a job, which share their periods.
type SeriesStep struct {
	At      int
	Periods []string
	Plans   []string // of the steps, as the ledger names them
	plan    *Planned
}

// sum adds a price over all releases.
func (s *SeriesStep) sum(of func(*PlannedSeries) *big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, r := range s.plan.Releases() {
		total.Add(total, of(r.Series))
	}
	return total
}

// Largest prices a unit that is in one period, in ρ: the largest price of any period.
func (s *SeriesStep) Largest() *big.Rat {
	most := new(big.Rat)
	for p := range s.Periods {
		if x := s.sum(func(r *PlannedSeries) *big.Rat { return r.One(p) }); x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}

// Most prices what the job promises, in ρ.
func (s *SeriesStep) Most() *big.Rat { return s.sum((*PlannedSeries).Most) }

// Life prices a unit that is in all periods, in ρ.
func (s *SeriesStep) Life() *big.Rat { return s.sum((*PlannedSeries).Life) }

// AtMost returns in how many periods a unit may be for the guarantee to hold.
func (s *SeriesStep) AtMost() int { return unitsOf(&s.plan.Job.Series[0]).AtMost }

// Text says in a sentence what the series costs.
func (s *SeriesStep) Text() string {
	setup := s.setup()
	return setup.Text()
}

// Setup writes down what the ledger keeps of a series that begins.
func (s *SeriesStep) Setup() ([]byte, error) { return json.Marshal(s.setup()) }

func (s *SeriesStep) setup() SeriesSetup {
	u := unitsOf(&s.plan.Job.Series[0])
	out := SeriesSetup{Job: s.plan.Job.Name, Periods: s.Periods, AtMost: u.AtMost, Apart: u.Apart, Revised: u.Revised,
		Rho: [3]string{ledger.Up(s.Largest()), ledger.Up(s.Most()), ledger.Up(s.Life())}}
	for _, r := range s.plan.Releases() {
		out.Releases = append(out.Releases, r.Series.Start)
	}
	return out
}

// Series puts the step into the words of the ledger. // P31
func (s *SeriesStep) Series() (*ledger.Series, error) {
	out := &ledger.Series{}
	if s.At > 0 {
		out.Before = s.Plans[s.At-1]
	}
	var err error
	if out.Setup, err = s.Setup(); err != nil {
		return nil, err
	}
	delta := 0.0
	for _, r := range s.plan.Releases() {
		delta += rational.Down(r.Job.Guarantee.Delta)
	}
	known := map[string]ledger.Price{}
	price := func(rho *big.Rat) ledger.Price {
		p, ok := known[rho.RatString()]
		if ok || err != nil {
			return p
		}
		e := privacy.ZCDP{Rho: rational.Up(rho)}
		var a privacy.Answer
		if a, err = privacy.EpsilonAt(e, s.plan.Job.Dataset.Relation, delta); err == nil {
			p = ledger.Price{Event: e, Charged: privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta}}
			known[rho.RatString()] = p
		}
		return p
	}
	for i, period := range s.Periods {
		out.Whole.Slices = append(out.Whole.Slices, ledger.SlicePrice{Is: period, Price: price(s.sum(func(r *PlannedSeries) *big.Rat { return r.One(i) }))})
	}
	out.Whole.Life = price(s.Life())
	for i := range s.At + 1 {
		one := s.sum(func(r *PlannedSeries) *big.Rat { all, _ := r.Redraw(s.At); return all[i] })
		if one.Sign() > 0 {
			out.Redraw.Slices = append(out.Redraw.Slices, ledger.SlicePrice{Is: s.Periods[i], Price: price(one)})
		}
	}
	out.Redraw.Life = price(s.sum(func(r *PlannedSeries) *big.Rat { _, life := r.Redraw(s.At); return life }))
	return out, err
}

// The columns of a release of a series that every mechanism has.
const (
	PeriodField = "period"
	KindField   = "kind"
)

// replaced are the columns of mechanisms in whose place value, sd, low and high stand, and those that look at the
// figures of one period alone.
var replaced = append([]string{"estimate", "noise_sd", "interval_low", "interval_high", "consistent"}, noiseIntervals...)

// Output are the columns of a release in a series: the period and the kind of row, then those of the mechanism,
// whose estimate is called value.
func (s *PlannedSeries) Output(own []sdk.Field) []sdk.Field {
	out := []sdk.Field{
		{Name: PeriodField, Type: sdk.String, Doc: "the period that the row is about; for a sum over several, the last one, or the quarter or year"},
		{Name: KindField, Type: sdk.String, Doc: "what the row adds up"},
	}
	for _, f := range own {
		if !slices.Contains(replaced, f.Name) {
			out = append(out, f)
		}
	}
	number := func(name, doc string) sdk.Field { return sdk.Field{Name: name, Type: sdk.Float64, Doc: doc} }
	var doc string
	for _, f := range own {
		if f.Name == "estimate" {
			doc = f.Doc
		}
	}
	return append(out, number("value", cmp.Or(doc, "the figure, with noise")), number("sd", "standard deviation of the noise in the value"),
		number("low", "lower end of an interval that holds the value without noise in 95 of 100 cases"), number("high", "its upper end"))
}

// Additive reports whether the estimates of a release are its sums, each times one constant.
func (r *PlannedRelease) Additive() bool {
	return len(r.Plan.Errors) > 0 && !slices.ContainsFunc(r.Plan.Errors, func(e sdk.ExpectedError) bool { return e.Linear == nil })
}

// SeriesError is the noise of one kind of published row: the largest of its standard deviations, and what it would be
// at the same price with independent noise in each period, or if every published row were measured anew.
type SeriesError struct {
	Kind                  job.SeriesRow
	SD, Independent, Anew float64
}

// Errors lists the noise of each kind of row, for a figure whose noise in one run is sd.
func (s *PlannedSeries) Errors(sd float64) (out []SeriesError) {
	n := len(s.periods)
	single := sd / math.Sqrt(float64(s.Matrix.Charge(s.units))) // of one period, if nothing else were published
	alone := series.Independent(n)
	each := single * math.Sqrt(float64(alone.Charge(s.units)))
	var rows []series.Row
	for _, stretch := range s.Stretches() {
		rows = append(rows, RowOf(stretch, 1))
	}
	anew := single * series.Anew(n, rows, s.units)
	for _, kind := range s.Spec.Publish {
		e := SeriesError{Kind: kind, Anew: anew}
		for _, r := range rows {
			if r.Kind == kind.String() {
				e.SD = math.Max(e.SD, sd*s.Matrix.Noise(r))
				e.Independent = math.Max(e.Independent, each*alone.Noise(r))
			}
		}
		out = append(out, e)
	}
	return out
}

// RunSD returns the noise of one run in a figure of an additive release, in its own units.
func (r *PlannedRelease) RunSD() float64 {
	planned, err := gaussians(nil, r.Plan.Event)
	if err != nil || len(planned) == 0 {
		return 0
	}
	return r.Plan.Errors[0].NoiseSD / planned[0].Sigma * r.Series.Calls[0].Sigma
}

// beside names the noise that a kind of row would have otherwise, at the same price.
func (s *PlannedSeries) beside(e SeriesError) string {
	if s.Start.Method == series.Alone {
		return fmt.Sprintf("%s: noise that is correlated over time would gain nothing here, so it is independent; if each row were measured anew it would be %.4g", e.Kind, e.Anew)
	}
	return fmt.Sprintf("%s: with independent noise in each period it would be %.4g, and if each row were measured anew %.4g", e.Kind, e.Independent, e.Anew)
}

// Expected lists the errors to expect of a release: in a series, of each kind of row.
func (r *PlannedRelease) Expected() (out []sdk.ExpectedError) {
	if r.Series == nil || !r.Additive() {
		return r.Plan.Errors
	}
	for _, e := range r.Series.Errors(r.RunSD()) {
		out = append(out, sdk.ExpectedError{Field: "value", NoiseSD: e.SD, Half95: 1.959964 * e.SD,
			Note: r.Series.beside(e)})
	}
	return out
}
