package plan

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// Weigher makes the weight of a row of the sample from the survey's weight: clipped, shrunk,
// rounded to a public step, and times what the draw's own weights leave out.
//
// # Contract
//
// Of depends on the row's own weight and public facts alone, grows with it, and lies between
// Least and Most for every number, so a mechanism that keeps to its sensitivities for all
// weights between these bounds keeps to them for the weights of a survey (P29). Proof:
// weights.proof.md.
type Weigher struct {
	Column      job.Column // the weights, clipped to their public bounds
	Least, Most float64    // of what Of makes
	Step        float64    // what weights are rounded to
	// Alone says that the weights that the sampler gives rows are left out: they are those of the
	// collection, and the survey's weights hold them already.
	Alone bool

	low, high, to, keep float64
	times               float64 // the weight that the draw gives every row
}

// weightSteps is the least number of steps between 0 and the largest weight.
const weightSteps = 1 << 24

// newWeigher is the weigher of a release of a draw, nil where it has no weights.
func newWeigher(j *job.Job, d *DraftDraw, r *job.Release) (*Weigher, error) {
	w := j.Dataset.WeightsOf(r)
	if w == nil {
		return nil, nil
	}
	g := &Weigher{Column: w.Of(&j.Dataset), low: 1, high: rational.Down(w.AtMost), keep: 1, times: 1}
	if w.Shrink != nil {
		g.to, _ = w.Shrink.To.Float64()
		g.keep, _ = w.Shrink.Keep.Float64()
	}
	design := d.Design
	if table, ok := design.(*samplers.Gathered); ok {
		design, g.Alone = table.Draw(), true
	}
	if f := design.Facts(); f.EqualWeights {
		if g.times = f.MaxWeight; !(g.times >= 1) || math.IsInf(g.times, 0) {
			return nil, errNoWeight
		}
	}
	g.Step = math.Exp2(math.Ceil(math.Log2(max(g.high, g.to) / weightSteps)))
	g.Least, g.Most = g.Of(g.low), g.Of(g.high)
	return g, nil
}

var errNoWeight = errors.New("weights: a sample of fixed size from a table of secret size has no known weight of its own; " +
	"release from the table, or draw by poisson")

// Of is the weight that a mechanism sees.
func (g *Weigher) Of(w float64) float64 {
	w = min(max(w, g.low), g.high)
	if g.keep < 1 {
		w = g.to + g.keep*(w-g.to)
	}
	return math.Round(w/g.Step) * g.Step * g.times
}

// Bounds are the smallest and the largest weight before the draw's own weights.
func (g *Weigher) Bounds() (low, high float64) { return g.Least / g.times, g.Most / g.times }

// weigh tells the mechanism that rows carry weights which a neighbour may change.
func (q *Question) weigh(j *job.Job, d *DraftDraw) error {
	var err error
	if q.Weights, err = newWeigher(j, d, &q.Job); err != nil || q.Weights == nil {
		return err
	}
	if !q.Mech.About().Weighted {
		return fmt.Errorf("%s does not use the weights of a survey, and its sensitivity is not that of weighted rows: "+
			"say weights: none for this release, or take a mechanism that uses them (plugin list)", q.Job.Mechanism)
	}
	f := &q.Public.Design
	least, most := q.Weights.Least, q.Weights.Most
	if !f.EqualWeights && !q.Weights.Alone { // weights multiply
		least, most = least*f.MinWeight, most*f.MaxWeight
	}
	f.EqualWeights, f.MinWeight, f.MaxWeight = false, least, most
	// Weights add up to a number that is private, and not to the rows of the table.
	q.Public.Population = 0
	return nil
}

// Survey explains why the sampling error of a survey with weights is not public.
const Survey = "the table is a sample with weights of its own, and how far it lies from its population is private; " +
	"interval: 95 estimates it"

// surveyed are the errors of a weighted release: nothing public says how far weighted sums reach.
func surveyed(errors []sdk.ExpectedError) []sdk.ExpectedError {
	out := slices.Clone(errors)
	for i := range out {
		if out[i].Linear != nil || out[i].SamplingNote != "" {
			out[i].Linear, out[i].SamplingNote = nil, Survey
		}
	}
	return out
}

// surveyInterval estimates the variance of a weighted sum as if the first stage were drawn
// with replacement (P30). It includes a further draw from the survey.
func surveyInterval(j *job.Job, d *DraftDraw, r *job.Release) (*interval, error) {
	w := j.Dataset.WeightsOf(r)
	design := d.Design
	if table, ok := design.(*samplers.Gathered); ok { // how it was collected is in its weights
		design = table.Draw()
	}
	kind := design.Kind()
	switch {
	case w.FirstStage != job.FirstUnit:
		return nil, noInterval("the job does not say that the survey drew the units of the table themselves: "+
			"where it drew households or schools first, their rows are alike, and an interval from single rows is too short",
			"fold the rows of each first-stage unit to one, with that unit as dataset.unit, and say first_stage: unit in weights; "+
				"or leave interval out")
	case w.Shrink != nil && w.Shrink.Keep.Cmp(big.NewRat(1, 1)) < 0:
		return nil, noInterval("shrunk weights estimate another value than the population's, and no interval says how far it lies",
			"leave shrink or interval out")
	case kind != "full" && kind != "collected" && kind != "poisson" && kind != "srswor":
		return nil, noInterval("there is no estimate of the variance of a sample ("+kind+") of a survey with weights",
			"leave interval out, or draw by srswor or poisson")
	}
	v := &interval{Square: 1, Weighted: true, Replacement: true}
	if n := d.Design.Facts().SampleSize; n > 1 && j.Dataset.Relation == privacy.ReplaceOne {
		v.Rows, v.Mean = n, 1/float64(n-1)
		v.Square = v.Mean * float64(n)
	}
	return v, nil
}
