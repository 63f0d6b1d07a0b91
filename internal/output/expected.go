package output

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// expectedError writes down what is known of an error before any data is read: the
// mechanism's word on its noise, and what the design does to a value of the form
// that the mechanism says it has.
func expectedError(j *job.Job, d samplers.Design, r *job.Release, e sdk.ExpectedError) report.ExpectedError {
	out := report.ExpectedError{Field: e.Field, NoiseSD: e.NoiseSD, Half95: e.Half95, Note: e.Note, Unsure: e.Unsure,
		Range: plan.Span(j, d, e.Linear)}
	if e.Linear == nil && e.SamplingNote == "" && e.NoiseSD == 0 && e.Half95 == 0 {
		return out // a remark
	}
	s, err := samplingOf(j, d, r, e)
	if err != nil {
		out.Sampling = &report.Sampling{Unknown: err.Error()}
		return out
	}
	out.Sampling = s
	if *s.BoundSD > 0 && out.NoiseSD > 0 {
		out.Sampling.Worst = report.Combine(out, *s.BoundSD)
		if s.Assumption != "" {
			out.Sampling.Assumed = report.Combine(out, s.AssumedSD)
		}
	}
	return out
}

// likely adds what the planner asks: what the release estimates, the value to expect, and the error where the rows are spread evenly
// over several groups.
func likely(r *plan.PricedRelease, e sdk.ExpectedError, out report.ExpectedError) report.ExpectedError {
	out.Statistic = string(r.Plan.Estimates())
	out.Rank = r.Plan.Estimates() == sdk.StatisticQuantile && e.Above != nil
	if r.Plan.Estimates() != sdk.StatisticSD { // of which it is that of the square
		out.PerRow = e.PerRow()
	}
	if size, expect := r.Size(e); expect {
		out.Size = size
	}
	f, ok := r.Forecast(e)
	if !ok || e.Above == nil && f.DrawSD == 0 { // else it is the noise alone, in any group
		return out
	}
	even := &report.Even{Groups: f.Groups, Rows: f.Rows, NoiseSD: f.NoiseSD, Half95: f.Half95}
	if f.Drawn {
		even.Both = report.Combine(report.ExpectedError{NoiseSD: f.NoiseSD, Half95: f.Half95, Unsure: f.Unsure}, f.DrawSD)
	}
	out.Even = even
	if e.Above != nil {
		out.Size = f.Value
	}
	if !out.Rank {
		return out
	}
	if out.Ranks, out.Even = even, nil; f.Spread > 0 {
		values := *even
		values.NoiseSD, values.Half95 = f.Spread*even.NoiseSD, f.Spread*even.Half95
		values.Both = even.Both.Times(f.Spread)
		out.Even = &values
	}
	return out
}

// oneEnd returns how likely the interval of a quotient has no two ends, where the job assumes how large the sum below the line is:
// as likely as that this sum, with noise and draw, lies within its own interval of 0. It is 0 for any other value.
func oneEnd(r *plan.PricedRelease, e sdk.ExpectedError) float64 {
	if e.Over == nil || e.Ratio() || r.Level() == "" || !(e.Over.NoiseSD > 0) {
		return 0
	}
	size, expect := r.SizeOf(&e.Over.Linear)
	if !expect || !(size > 0) {
		return 0
	}
	below := sdk.ExpectedError{NoiseSD: e.Over.NoiseSD, Linear: &e.Over.Linear}
	f, _ := r.Forecast(below)
	spread := math.Hypot(below.NoiseSD, f.DrawSD)
	half := math.Max(e.Over.Half95/below.NoiseSD, 1.96) * math.Sqrt(spread*spread+e.Over.Unsure)
	under := func(x float64) float64 { return math.Erfc(-x/spread/math.Sqrt2) / 2 }
	return under(half-size) - under(-half-size)
}

// insteadText names the estimator that is taken and the other one, with their errors, "" where there is one.
func insteadText(j *job.Job, d samplers.Design, r *plan.PricedRelease, taken report.ExpectedError) string {
	if r.Instead == nil {
		return ""
	}
	error := func(e report.ExpectedError) (float64, bool) {
		switch s := e.Sampling; {
		case s == nil || s.BoundSD == nil:
			return 0, false
		case s.Assumption != "":
			return math.Hypot(e.NoiseSD, s.AssumedSD), true
		default:
			return math.Hypot(e.NoiseSD, *s.BoundSD), false
		}
	}
	ratio, difference := taken, expectedError(j, d, &r.Job, *r.Instead)
	if r.Instead.Ratio() {
		ratio, difference = difference, ratio
	}
	a, known := error(ratio)
	b, _ := error(difference)
	if !known {
		return fmt.Sprintf(
			": a ratio of two sums has a standard error of at most %.4g, a difference from the middle of the bounds of at most %.4g; "+
				"assume tells which is smaller: mean and sd of the column, or assume_share of the release", a, b)
	}
	return fmt.Sprintf(": as assumed, a ratio of two sums has a standard error of %.4g, a difference from the middle of the "+
		"bounds of %.4g", a, b)
}

// samplingOf returns what drawing from a table by a design adds to the error e. The
// error says why that is not public.
func samplingOf(j *job.Job, d samplers.Design, r *job.Release, e sdk.ExpectedError) (*report.Sampling, error) {
	zero := 0.0
	census := j.Dataset.Collected == nil && d.Kind() == "full" && e.SamplingNote != plan.Survey
	switch l := e.Linear; {
	case census:
		return &report.Sampling{BoundSD: &zero}, nil
	case l == nil && e.SamplingNote != "":
		return nil, errors.New(e.SamplingNote)
	case l == nil:
		return nil, errors.New("the mechanism does not say")
	case e.Ratio():
		return ofResiduals(j, d, r, *l)
	default:
		bound, err := plan.Deviation(j, d, l, nil)
		if q := d.Facts().Rate; errors.Is(err, samplers.ErrSecretSize) && d.Kind() == "poisson" {
			// Σz² is at most the number of rows that count, times the largest square.
			if q == 1 {
				return &report.Sampling{BoundSD: &zero}, nil
			}
			per := math.Abs(l.Scale) * math.Sqrt(q*(1-q)) * math.Max(math.Abs(l.Low), math.Abs(l.High))
			return nil, fmt.Errorf("its standard deviation is at most %.4g·√n, where n, the number of rows that count towards the value, "+
				"is secret", per)
		}
		if err != nil {
			return nil, err
		}
		out := &report.Sampling{BoundSD: &bound}
		if m, words := assumed(j, r, l); m != nil {
			sd, err := plan.Deviation(j, d, l, m)
			if err != nil {
				return nil, err
			}
			// An assumption that the bounds rule out tells nothing that they do not.
			if sd <= bound {
				out.AssumedSD, out.Assumption = sd, words
			}
		}
		return out, nil
	}
}

// ofResiduals returns the part of the draw in the error of a quotient: to first order that of the sum of the
// differences of values from their mean.
func ofResiduals(j *job.Job, d samplers.Design, r *job.Release, l sdk.Linear) (*report.Sampling, error) {
	whole := l
	if d.Kind() != "poisson" { // from a mean near one bound the values of a large unit may differ by the whole range
		whole.Low, whole.High = l.Low-l.High, l.High-l.Low
	}
	bound, err := plan.Deviation(j, d, &whole, nil)
	if err != nil {
		return nil, err
	}
	out := &report.Sampling{BoundSD: &bound}
	if m, words := assumed(j, r, &l); m != nil {
		m.Mean, m.KnownMean = 0, true
		if sd, err := plan.Deviation(j, d, &l, m); err == nil && sd <= bound {
			out.AssumedSD, out.Assumption = sd, words
		}
	}
	return out, nil
}

// assumed are the moments of z that the job assumes, nil where it assumes none or
// only a form, which is for the planner to simulate.
func assumed(j *job.Job, r *job.Release, l *sdk.Linear) (*samplers.Moments, string) {
	if p := plan.AssumedShare(r); p > 0 && l.Column == "" && l.Adds == "" {
		return &samplers.Moments{Mean: p + l.Low, SD: math.Sqrt(p * (1 - p)), KnownMean: true},
			fmt.Sprintf("the share is %g, as the job assumes", p)
	}
	c, _ := j.Dataset.Column(l.Column)
	m, words, inside := plan.Moments(c)
	if words == "" {
		return nil, ""
	}
	if m.KnownMean {
		m.Mean -= rational.Up(c.Lower) - l.Low // z is the value minus a constant
	}
	return &m, words + inside + ", as the job assumes"
}
