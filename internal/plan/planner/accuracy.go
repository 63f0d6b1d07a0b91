package planner

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// accuracy is the error to expect of a priced variant: the one that its plan forecasts, else a simulated one.
func (u *subject) accuracy(ctx context.Context, p priced, d design) (a Accuracy, err error) {
	tail, unsure := normal95, 0.0
	known := func(ranks bool) int { // the first error that is forecast
		return slices.IndexFunc(p.release.Expected, func(e report.ExpectedError) bool {
			return e.NoiseSD > 0 || e.Even != nil && e.Rank == ranks
		})
	}
	at := known(false)
	if at < 0 && u.unsimulated() != "" {
		at = known(true)
	}
	if at < 0 {
		a, err = u.simulate(ctx, p, d)
		a.Noise95, a.Margin = normal95*a.NoiseSD, normal95*a.Total
		return a, err
	}
	e := p.release.Expected[at]
	if e.NoiseSD == 0 {
		e.NoiseSD, e.Half95 = e.Even.NoiseSD, e.Even.Half95
	}
	if a = u.stated(e, d); u.table.sampling != nil && u.statistic == sdk.StatisticMean {
		a = u.analytic(e, d) // the collection's error is added later
	}
	a = u.surveyed(a)
	if a.Noise95 = e.Half95; e.Half95 == 0 {
		a.Noise95 = normal95 * e.NoiseSD
	}
	if unsure = e.Unsure; d.kind == "full" {
		unsure = 0
	}
	tail = math.Min(math.Max(tail, e.Half95/e.NoiseSD), math.Sqrt(20))
	a.Margin = tail * math.Sqrt(a.Total*a.Total+unsure)
	return a, nil
}

// surveyed drops the sampling error of a survey with weights, which is private.
func (u *subject) surveyed(a Accuracy) Accuracy {
	if u.job.Dataset.WeightsOf(&u.release) == nil || a.NoiseSD == 0 {
		return a
	}
	return Accuracy{NoiseSD: a.NoiseSD, Unknown: "the table is a survey with weights: how far it lies from its population is private"}
}

// normal95 is the 97.5 % point of the standard normal distribution. A margin of error takes
// as many standard errors, or more where the noise needs more.
const normal95 = 1.959963984540054

// stated is the error that a plan states: of its noise, and of drawing the sample as the job assumes, or as if rows were
// spread evenly over the groups, or at worst.
func (u *subject) stated(e report.ExpectedError, d design) Accuracy {
	a := Accuracy{NoiseSD: e.NoiseSD}
	switch s := e.Sampling; {
	case d.kind == "full":
	case e.Even != nil && e.Even.Both != nil:
		a.SamplingSD = math.Sqrt(e.Even.Both.SD*e.Even.Both.SD - e.NoiseSD*e.NoiseSD)
	case u.statistic == sdk.StatisticMean && u.model == nil:
		a.Unknown = "the sampling error needs an assumption: assume: {sd: …} for the column"
		return a
	case s == nil || s.BoundSD == nil:
		a.Unknown = "the sampling error of this release is not public"
		if s != nil {
			a.Unknown += ": " + s.Unknown
		}
		return a
	case s.Assumption != "":
		a.SamplingSD = s.AssumedSD
	default:
		a.SamplingSD = *s.BoundSD
	}
	if a.Total = math.Hypot(a.NoiseSD, a.SamplingSD); e.Size != 0 {
		a.Relative = a.Total / math.Abs(e.Size)
	}
	return a
}

// analytic adds the sampling error of a mean to a noise whose size is public, for a design that no plan was made of.
func (u *subject) analytic(e report.ExpectedError, d design) Accuracy {
	a := Accuracy{NoiseSD: e.NoiseSD}
	if d.kind != "full" {
		v, unknown := u.samplingVariance(d, e.Ratio)
		if a.Unknown = unknown; unknown != "" {
			return a
		}
		a.SamplingSD = math.Sqrt(v)
	}
	if a.Total = math.Hypot(a.NoiseSD, a.SamplingSD); u.model != nil && u.model.Mean != 0 {
		a.Relative = a.Total / math.Abs(u.model.Mean)
	}
	return a
}

// samplingVariance returns the variance over the draws of a mean's estimator (P12) for a design with equal weights: of c + Σ w(y−c)/N, or
// to first order of a ratio of two sums.
func (u *subject) samplingVariance(d design, ratio bool) (float64, string) {
	n, err := u.population(), error(nil)
	switch {
	case u.statistic != sdk.StatisticMean:
		return 0, "the sampling error is worked out for the mean only"
	case u.model == nil:
		return 0, "the sampling error needs an assumption: assume: {sd: …} for the column"
	case n == 0:
		return 0, "the sampling error needs dataset.size"
	case d.made != nil:
	case d.kind == "poisson":
		var rate samplers.Rate
		if rate, err = samplers.ParseRate(rational.Format(decimal(d.rate))); err == nil {
			d.made, err = samplers.NewPoisson(rate, n)
		}
	case d.kind == "srswor":
		d.made, err = samplers.NewSRSWOR(d.size, n)
	default:
		return 0, "the sampling error of a " + d.kind + " sample is not worked out"
	}
	if err != nil {
		return 0, err.Error()
	}
	return u.framedVariance(d.made, ratio)
}

// framedVariance returns the variance of c + Σ w(y−c)/N over a design with a public frame.
func (u *subject) framedVariance(d samplers.Design, ratio bool) (float64, string) {
	lower, upper := rational.Near(u.column.Lower), rational.Near(u.column.Upper)
	c := lower + (upper-lower)/2
	m := u.model.Moments
	if m.Mean -= c; ratio { // to first order the sum of the differences from the mean
		m.Mean, m.KnownMean = 0, true
	}
	total, err := samplers.Variance(d, samplers.Values{Low: lower - c, High: upper - c, Assumed: &m})
	if err != nil {
		return 0, err.Error()
	}
	f := d.Facts()
	if f.EqualWeights { // of the plain sum
		total *= f.MaxWeight * f.MaxWeight
	}
	n := float64(f.Population)
	return total / (n * n), ""
}
