package plan

import (
	"context"
	"encoding/json"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// choose takes the better one of two estimators where the mechanism has two for the value: the ratio of two sums, unless the mean that
// the job assumes is so near the middle of the bounds that a difference from there has a smaller error. It looks at public facts alone.
func (r *PlannedRelease) choose(ctx context.Context) error {
	var said map[string]json.RawMessage
	if len(r.Plan.Errors) != 1 || !r.Plan.Errors[0].Ratio() || json.Unmarshal(r.Params, &said) != nil || said["difference"] != nil {
		return nil
	}
	one := r.Question
	var err error
	if one.Params, err = planned.AddParam(r.Params, "difference", true); err != nil {
		return err
	}
	answer, err := one.Mech.Plan(ctx, one.At(r.Target))
	if err != nil || len(answer.Errors) != 1 || answer.Errors[0].Linear == nil {
		return nil // it has none; the ratio stands
	}
	ratio, difference := r.Plan.Errors[0], answer.Errors[0]
	r.Instead = &difference
	if r.narrower(difference, ratio) {
		r.Question, r.Plan, r.Instead = one, answer, &ratio
		return nil
	}
	mean := assumed(r.job, difference.Linear.Column).Mean
	if p := AssumedShare(&r.Job); p > 0 {
		mean = p
	} else if c, ok := r.job.Dataset.Column(difference.Linear.Column); !ok || c.Assume == nil || c.Assume.Mean == nil {
		return nil
	}
	a, err := r.total(ratio, mean)
	if err != nil {
		return nil // nobody knows which is better
	}
	if b, err := r.total(difference, mean); err == nil && b < a {
		r.Question, r.Plan, r.Instead = one, answer, &ratio
	}
	return nil
}

// narrower reports whether a difference has the narrower interval whatever the values are: at the worst draw, where that of the ratio adds
// its noise and what it does not know of the variance. So it is for clusters of many rows.
func (r *PlannedRelease) narrower(difference, ratio sdk.ExpectedError) bool {
	draw, err := Deviation(r.job, r.design, difference.Linear, nil)
	return err == nil && math.Hypot(draw, difference.NoiseSD)*math.Hypot(draw, difference.NoiseSD)+
		difference.Unsure < ratio.NoiseSD*ratio.NoiseSD+ratio.Unsure
}

// total is the error to expect of a value, of noise and draw, where its column has this mean.
func (r *PlannedRelease) total(e sdk.ExpectedError, mean float64) (float64, error) {
	column := assumed(r.job, e.Linear.Column)
	m := &samplers.Moments{SD: column.SD, KnownMean: true, Strata: column.Strata}
	if p := AssumedShare(&r.Job); p > 0 {
		if m.SD = math.Sqrt(p * (1 - p)); !e.Ratio() {
			m.Mean = p + e.Linear.Low
		}
	} else if c, ok := r.job.Dataset.Column(e.Linear.Column); ok && !e.Ratio() {
		m.Mean = mean - (rational.Up(c.Lower) - e.Linear.Low)
	}
	draw, err := Deviation(r.job, r.design, e.Linear, m)
	return math.Hypot(e.NoiseSD, draw), err
}

// AssumedShare is the share that a release assumes of its value, 0 for none.
func AssumedShare(r *job.Release) float64 { return rational.Near(r.AssumeShare) }

// Deviation is the standard deviation of a linear value over the draws, that of the
// table itself from its population among them.
func Deviation(j *job.Job, d samplers.Design, l *sdk.Linear, m *samplers.Moments) (float64, error) {
	v := samplers.Values{Low: l.Low, High: l.High, Assumed: m}
	total, err := samplers.Variance(d, v)
	if err != nil {
		return 0, err
	}
	if c := j.Dataset.Collected; c != nil && c.Method == job.SRSWOR {
		outer, err := planned.CollectedBy(j)
		if err != nil {
			return 0, err
		}
		table, err := samplers.Variance(outer, v)
		if err != nil {
			return 0, err
		}
		// On average over the draw a row counts π·w times, which is once. Equal weights are
		// left out of the sum.
		kept := 1.0
		if f := d.Facts(); f.EqualWeights {
			kept = f.Rate
		}
		total += kept * kept * table
	}
	return math.Abs(l.Scale) * math.Sqrt(total), nil
}
