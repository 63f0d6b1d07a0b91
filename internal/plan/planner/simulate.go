package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// design is the public side of a draw that is simulated.
type design struct {
	kind string  // "full", "poisson", "srswor", "with-replacement", "multistage", "stratified"
	rate float64 // in expectation
	size int64
	// made is a design over a public frame with its numbers of records, facts are those
	// of any that was made.
	made  samplers.Design
	facts samplers.Facts
}

// public returns the public facts about the table and a draw that a mechanism gets.
func (d design) public(j *job.Job, n int64, under []privacy.Relation) sdk.Public {
	p := sdk.Public{Relation: j.Dataset.Relation, SampleRelations: under, Population: j.Dataset.Size,
		Design: sdk.Design{Kind: d.kind, EqualWeights: true, MinWeight: 1, MaxWeight: 1}}
	switch d.kind {
	case "full":
		p.Design.Rate, p.Design.SampleSize, p.Design.LargestCount = 1, j.Dataset.Size, n
	case "poisson":
		p.Design.Rate = d.rate
		p.Design.MinWeight, p.Design.MaxWeight = 1/d.rate, 1/d.rate
	default:
		p.Design.Kind = "srswor"
		p.Design.Rate, p.Design.SampleSize, p.Design.LargestCount = d.rate, d.size, d.size
		p.Design.MinWeight, p.Design.MaxWeight = 1/d.rate, 1/d.rate
	}
	for _, c := range j.Dataset.Columns {
		if c.Plain() {
			continue
		}
		col := sdk.Column{Name: c.Name, Type: sdk.Category, Domain: c.Domain, Missing: sdk.Missing(c.Missing.Rule)}
		if c.Type == job.Number {
			col.Type, col.Lower, col.Upper = sdk.Number, rational.Up(c.Lower), rational.Down(c.Upper)
		}
		p.Columns = append(p.Columns, col)
	}
	return p
}

// draw takes a sample of rows; it may reorder them.
func (d design) draw(rows []int, rng *rand.Rand) []int {
	switch d.kind {
	case "full":
		return rows
	case "poisson":
		var out []int
		for _, r := range rows {
			if rng.Float64() < d.rate {
				out = append(out, r)
			}
		}
		return out
	case "with-replacement":
		out := make([]int, d.size)
		for i := range out {
			out[i] = rows[rng.IntN(len(rows))]
		}
		return out
	}
	n := int(min(d.size, int64(len(rows))))
	for i := range n {
		k := i + rng.IntN(len(rows)-i)
		rows[i], rows[k] = rows[k], rows[i]
	}
	return rows[:n]
}

// oneBatch is a table as the rows of a release.
type oneBatch struct {
	table   []sdk.Values
	weights []float64 // nil where all are equal
	rows    int
	read    bool
}

func (r *oneBatch) Next() (*sdk.Batch, error) {
	if r.read {
		return nil, io.EOF
	}
	r.read = true
	return &sdk.Batch{Rows: r.rows, Columns: r.table, Weights: r.weights}, nil
}

// taken are the rows of a table.
func taken(table []sdk.Values, rows []int) []sdk.Values {
	out := make([]sdk.Values, len(table))
	for i, c := range table {
		if c.Codes != nil {
			out[i].Codes = make([]int32, len(rows))
			for k, r := range rows {
				out[i].Codes[k] = c.Codes[r]
			}
			continue
		}
		out[i].Float64 = make([]float64, len(rows))
		for k, r := range rows {
			out[i].Float64[k] = c.Float64[r]
		}
	}
	return out
}

// Trial is one mechanism with its plan, ready to be run on values.
type Trial struct {
	mechanism sdk.Mechanism
	request   sdk.ReleaseRequest
	field     string
	weight    float64 // of each row, 0 for none
}

// NewTrial plans a mechanism on one column of numbers.
func NewTrial(m sdk.Mechanism, params json.RawMessage, public sdk.Public, target privacy.Point) (*Trial, error) {
	t, err := newTrial(m, params, public, target)
	if err != nil {
		return nil, err
	}
	columns := t.request.Plan.Columns
	if c, ok := public.Column(columns[0]); !ok || c.Type != sdk.Number || len(columns) != 1 {
		return nil, errors.New("only releases of one column of numbers are tried")
	}
	return t, nil
}

func newTrial(m sdk.Mechanism, params json.RawMessage, public sdk.Public, target privacy.Point) (*Trial, error) {
	plan, err := m.Plan(sdk.PlanRequest{Params: params, Public: public, Target: target})
	if err != nil {
		return nil, err
	}
	if len(plan.Columns) == 0 || len(plan.Errors) == 0 {
		return nil, errors.New("only releases that read a column and state an expected error are simulated")
	}
	return &Trial{mechanism: m, field: plan.Errors[0].Field,
		request: sdk.ReleaseRequest{Params: params, Public: public, Target: target, Plan: plan}}, nil
}

// Run releases from values. The host is the dice, or one that looks at what it is asked for.
func (t *Trial) Run(ctx context.Context, values []float64, host sdk.Host) ([]float64, error) {
	return t.run(ctx, []sdk.Values{{Float64: values}}, len(values), host)
}

func (t *Trial) run(ctx context.Context, table []sdk.Values, rows int, host sdk.Host) ([]float64, error) {
	in := &oneBatch{table: table, rows: rows}
	if t.weight > 0 {
		in.weights = slices.Repeat([]float64{t.weight}, rows)
	}
	r, err := t.mechanism.Release(ctx, t.request, in, host)
	if err != nil {
		return nil, err
	}
	for _, c := range r.Columns {
		if c.Name == t.field && c.Float64 != nil {
			return c.Float64, nil
		}
	}
	return nil, fmt.Errorf("the result has no column of numbers called %s", t.field)
}

// populations is the number of populations that a simulation draws. With one alone, luck
// would decide: the smooth sensitivity of a median differs by a third between them.
const populations = 8

// unsimulated returns the reason for which a release is not simulated, "" for none.
func (u *subject) unsimulated() string {
	_, ok := u.s.Mechanisms[u.release.Mechanism]
	switch {
	case !ok:
		return "the noise depends on the data, and only built-in mechanisms are simulated"
	case u.release.Series != "":
		return "releases in a series are not simulated: plan -v says how large their noise is in each kind of row"
	case u.population() == 0:
		return "a simulation needs dataset.size or dataset.at_least"
	case u.population() > maxSimulated:
		return fmt.Sprintf("populations above %d are not simulated", maxSimulated)
	}
	return ""
}

// simulate measures the error of a release under the assumed distribution.
func (u *subject) simulate(ctx context.Context, params json.RawMessage, public sdk.Public, target privacy.Point,
	d design) (Accuracy, error) {
	if why := u.unsimulated(); why != "" {
		return Accuracy{Unknown: why}, nil
	}
	m := u.s.Mechanisms[u.release.Mechanism]
	params, public, unknown := u.grouped(m, params, public)
	if unknown != "" {
		return Accuracy{Unknown: unknown}, nil
	}
	whole := public
	whole.Design = design{kind: "full"}.public(u.job, u.population(), nil).Design
	weight, unknown := u.weigh(&public)
	all, _ := u.weigh(&whole)
	if unknown != "" {
		return Accuracy{Unknown: unknown}, nil
	}
	trial, err := newTrial(m, params, public, target)
	if err != nil {
		return Accuracy{Unknown: err.Error()}, nil
	}
	truth, err := newTrial(m, params, whole, target)
	if err != nil {
		return Accuracy{Unknown: err.Error()}, nil
	}
	trial.weight, truth.weight = weight, all
	draws, unknown := u.sources(trial.request)
	if unknown != "" {
		return Accuracy{Unknown: unknown}, nil
	}
	n := int(u.population())
	var e tally
	for p := range populations {
		rng := rand.New(rand.NewPCG(u.s.Seed, uint64(p)))
		table, rows := make([]sdk.Values, len(draws)), make([]int, n)
		for i, draw := range draws {
			table[i] = draw(n, rng)
		}
		for i := range rows {
			rows[i] = i
		}
		want, err := truth.run(ctx, table, n, &Dice{Quiet: true})
		if err != nil {
			return Accuracy{Unknown: "the mechanism fails under the assumptions"}, nil
		}
		want = append([]float64(nil), want...)
		times := (u.s.Repetitions + populations - 1) / populations
		for k := range times {
			if err := ctx.Err(); err != nil {
				return Accuracy{}, err
			}
			drawn := d.draw(rows, rng)
			sample, size := table, n
			if d.kind != "full" {
				sample, size = taken(table, drawn), len(drawn)
			}
			quiet := want
			if d.kind != "full" {
				if quiet, err = trial.run(ctx, sample, size, &Dice{Quiet: true}); err != nil {
					return Accuracy{Unknown: "the mechanism fails under the assumptions"}, nil
				}
				quiet = append([]float64(nil), quiet...)
			}
			// The magnitudes of the noise are spread evenly over its law, so that designs are
			// compared at the same luck.
			got, err := trial.run(ctx, sample, size, &Dice{Rand: rng, Share: (float64(k) + rng.Float64()) / float64(times)})
			if err != nil {
				return Accuracy{Unknown: "the mechanism fails under the assumptions"}, nil
			}
			e.add(want, quiet, got)
		}
		e.close()
		u.simulated(p + 1)
	}
	return u.surveyed(e.accuracy()), nil
}

// maxSimulated is the largest population that is simulated.
const maxSimulated = 200_000

// tally adds up squared errors, averaged over the rows of a result.
type tally struct {
	n, noise, sampling, total, size float64
	since, before                   float64   // draws and squared error of earlier populations
	each                            []float64 // mean squared error of each population
}

// add adds one draw. A value that is blank, because its noise swamps it, is wrong by all of it.
func (e *tally) add(want, quiet, got []float64) {
	rows := float64(len(want))
	for i := range want {
		if math.IsNaN(want[i]) {
			continue // no rows: there is no value to miss
		}
		if math.IsNaN(quiet[i]) {
			quiet[i] = 0
		}
		if math.IsNaN(got[i]) {
			got[i] = 0
		}
		e.noise += (got[i] - quiet[i]) * (got[i] - quiet[i]) / rows
		e.sampling += (quiet[i] - want[i]) * (quiet[i] - want[i]) / rows
		e.total += (got[i] - want[i]) * (got[i] - want[i]) / rows
		e.size += math.Abs(want[i]) / rows
	}
	e.n++
}

// close ends a population.
func (e *tally) close() {
	e.each = append(e.each, (e.total-e.before)/(e.n-e.since))
	e.since, e.before = e.n, e.total
}

func (e *tally) accuracy() Accuracy {
	a := Accuracy{NoiseSD: math.Sqrt(e.noise / e.n), SamplingSD: math.Sqrt(e.sampling / e.n), Total: math.Sqrt(e.total / e.n), each: e.each}
	if a.Total > 0 {
		// The standard error of a root is that of the mean square over twice the root.
		a.MonteCarlo = standardError(e.each) / (2 * a.Total)
	}
	if e.size > 0 {
		a.Relative = a.Total / (e.size / e.n)
	}
	return a
}

// standardError returns the standard error of the mean of independent values.
func standardError(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	return stat.StdDev(x, nil) / math.Sqrt(float64(len(x)))
}
