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
	kind string  // "full", "poisson", "srswor", "multistage", "stratified"
	rate float64 // in expectation
	size int64
	made samplers.Design // over a public frame with its numbers of records
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

// draw takes a sample of values; it may reorder them.
func (d design) draw(all []float64, rng *rand.Rand) []float64 {
	switch d.kind {
	case "full":
		return all
	case "poisson":
		var out []float64
		for _, x := range all {
			if rng.Float64() < d.rate {
				out = append(out, x)
			}
		}
		return out
	}
	n := int(min(d.size, int64(len(all))))
	for i := range n {
		k := i + rng.IntN(len(all)-i)
		all[i], all[k] = all[k], all[i]
	}
	return all[:n]
}

// oneBatch is a column of numbers as the rows of a release.
type oneBatch struct {
	values []float64
	read   bool
}

func (r *oneBatch) Next() (*sdk.Batch, error) {
	if r.read {
		return nil, io.EOF
	}
	r.read = true
	return &sdk.Batch{Rows: len(r.values), Columns: []sdk.Values{{Float64: r.values}}}, nil
}

// Trial is one mechanism with its plan, ready to be run on values.
type Trial struct {
	mechanism sdk.Mechanism
	request   sdk.ReleaseRequest
	field     string
}

// NewTrial plans a mechanism on one column of numbers.
func NewTrial(m sdk.Mechanism, params json.RawMessage, public sdk.Public, target privacy.Point) (*Trial, error) {
	req := sdk.PlanRequest{Params: params, Public: public, Target: target}
	plan, err := m.Plan(req)
	if err != nil {
		return nil, err
	}
	if len(plan.Columns) != 1 || len(plan.Errors) == 0 {
		return nil, errors.New("only releases that read one column of numbers and state an expected error are simulated")
	}
	if c, ok := public.Column(plan.Columns[0]); !ok || c.Type != sdk.Number {
		return nil, errors.New("only releases of one column of numbers are simulated")
	}
	return &Trial{mechanism: m, field: plan.Errors[0].Field, request: sdk.ReleaseRequest{PlanRequest: req, Plan: plan}}, nil
}

// Run releases from values. The host is the dice, or one that looks at what it is asked for.
func (t *Trial) Run(ctx context.Context, values []float64, host sdk.Host) ([]float64, error) {
	r, err := t.mechanism.Release(ctx, t.request, &oneBatch{values: values}, host)
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
	r := u.release
	_, ok := u.s.Mechanisms[r.Mechanism]
	why := ""
	switch {
	case !ok:
		why = "only built-in mechanisms are simulated"
	case r.Where.Said() || r.Having.Said():
		why = "a release with a condition is not simulated"
	case u.keyed() != nil:
		why = "a release whose groups nobody lists is not simulated"
	case u.job.Dataset.CapOf(&r) != nil || u.job.Dataset.Folds():
		why = "units with several rows are not simulated"
	case len(r.By) > 0 || u.job.Dataset.WeightsOf(&r) != nil:
		why = "a release with groups or weights is not simulated"
	case r.Series != "":
		return "releases in a series are not simulated: plan -v says how large their noise is in each kind of row"
	case u.population() == 0:
		return "a simulation needs dataset.size or dataset.at_least"
	case u.population() > maxSimulated:
		return fmt.Sprintf("populations above %d are not simulated", maxSimulated)
	case u.column != nil && (u.model == nil || u.model.draw == nil):
		return "the noise depends on the data: assume a distribution for the column " + u.column.Name
	default:
		return ""
	}
	return "the noise depends on the data, and " + why
}

// simulate measures the error of a release, whose noise depends on the data, under the assumed distribution.
func (u *subject) simulate(ctx context.Context, p priced, d design) (Accuracy, error) {
	if !slices.Contains([]string{"full", "poisson", "srswor"}, d.kind) {
		return Accuracy{Unknown: "the noise depends on the data, and " + d.kind + " samples are not simulated"}, nil
	}
	if why := u.unsimulated(); why != "" {
		return Accuracy{Unknown: why}, nil
	}
	under := p.draw.SampleRelations
	if len(under) == 0 {
		under = []privacy.Relation{u.job.Dataset.Relation}
	}
	public := d.public(u.job, u.population(), under)
	whole := public
	whole.Design = design{kind: "full"}.public(u.job, u.population(), nil).Design
	m := u.s.Mechanisms[u.release.Mechanism]
	trial, err := NewTrial(m, p.release.Params, public, p.release.Sample)
	if err != nil {
		return Accuracy{Unknown: err.Error()}, nil
	}
	truth, err := NewTrial(m, p.release.Params, whole, p.release.Sample)
	if err != nil {
		return Accuracy{Unknown: err.Error()}, nil
	}
	const fails = "the mechanism fails under the assumptions"
	var e tally
	for i := range populations {
		rng := rand.New(rand.NewPCG(u.s.Seed, uint64(i)))
		all := u.model.population(int(u.population()), rng)
		want, err := truth.Run(ctx, all, &Dice{Quiet: true})
		if err != nil {
			return Accuracy{Unknown: fails}, nil
		}
		want = slices.Clone(want)
		times := (u.s.Repetitions + populations - 1) / populations
		for k := range times {
			if err := ctx.Err(); err != nil {
				return Accuracy{}, err
			}
			drawn, quiet := d.draw(all, rng), want
			if d.kind != "full" {
				if quiet, err = trial.Run(ctx, drawn, &Dice{Quiet: true}); err != nil {
					return Accuracy{Unknown: fails}, nil
				}
				quiet = slices.Clone(quiet)
			}
			// The magnitudes of the noise are spread evenly over its law, so that designs are
			// compared at the same luck.
			got, err := trial.Run(ctx, drawn, &Dice{Rand: rng, Share: (float64(k) + rng.Float64()) / float64(times)})
			if err != nil {
				return Accuracy{Unknown: fails}, nil
			}
			e.add(want, quiet, got)
		}
		e.close()
		u.simulated(i + 1)
	}
	return e.accuracy(), nil
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
