package planner

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// accuracy is the error to expect of a priced variant.
func (u *subject) accuracy(ctx context.Context, p priced, d design) (a Accuracy, err error) {
	tail, unsure := normal95, 0.0
	at := slices.IndexFunc(p.release.Expected, func(e report.ExpectedError) bool { return e.NoiseSD > 0 })
	switch {
	case at < 0:
		a, err = u.simulated95(ctx, p, d)
	default:
		e := p.release.Expected[at]
		if a = u.stated(e, d); u.statistic == sdk.StatisticMean {
			a = u.analytic(e, d)
		}
		if unsure = e.Unsure; d.kind == "full" {
			unsure = 0
		}
		a = u.surveyed(a)
		tail = math.Min(math.Max(tail, e.Half95/e.NoiseSD), math.Sqrt(20))
	}
	a.Noise95 = normal95 * a.NoiseSD
	if at >= 0 && p.release.Expected[at].Half95 > 0 {
		e := p.release.Expected[at]
		a.Noise95 = e.Half95 * (a.NoiseSD / e.NoiseSD)
	}
	a.Margin = tail * math.Sqrt(a.Total*a.Total+unsure)
	return a, err
}

// normal95 is the 97.5 % point of the standard normal distribution. A margin of error takes
// as many standard errors, or more where the noise needs more.
const normal95 = 1.959963984540054

// stated is the error that the plan of a linear value states: of its noise, and of drawing
// the sample as the job assumes, or for a cell as if rows were spread evenly, or at worst.
func (u *subject) stated(e report.ExpectedError, d design) Accuracy {
	a := Accuracy{NoiseSD: e.NoiseSD}
	switch s := e.Sampling; {
	case d.kind == "full":
	case s == nil || s.BoundSD == nil:
		a.Unknown = "the sampling error of this release is not public"
		if s != nil {
			a.Unknown += ": " + s.Unknown
		}
		return a
	case s.Assumption != "":
		a.SamplingSD = s.AssumedSD
	case s.EvenSD > 0:
		a.SamplingSD = s.EvenSD
	default:
		a.SamplingSD = *s.BoundSD
	}
	if a.Total = math.Hypot(a.NoiseSD, a.SamplingSD); e.Size > 0 {
		a.Relative = a.Total / e.Size
	}
	return a
}

// simulated95 is the error of a release whose noise depends on the data.
func (u *subject) simulated95(ctx context.Context, p priced, d design) (Accuracy, error) {
	switch d.kind {
	case "full", "poisson", "srswor":
	default:
		return Accuracy{Unknown: "the noise depends on the data, and " + d.kind + " samples are not simulated"}, nil
	}
	under := p.draw.SampleRelations
	if len(under) == 0 {
		under = []privacy.Relation{u.job.Dataset.Relation}
	}
	return u.simulate(ctx, p.release.Params, d.public(u.job, u.population(), under), p.release.Sample, d)
}

// analytic adds the sampling error of a mean to a noise whose size is public.
func (u *subject) analytic(e report.ExpectedError, d design) Accuracy {
	noise := e.NoiseSD
	a := Accuracy{NoiseSD: noise}
	if d.kind == "full" {
		a.Total = noise
	} else {
		v, unknown := u.samplingVariance(d, e.Ratio)
		if a.Unknown = unknown; unknown != "" {
			return a
		}
		a.SamplingSD = math.Sqrt(v)
		a.Total = math.Hypot(noise, a.SamplingSD)
	}
	if u.statistic == sdk.StatisticMean && u.model != nil && u.model.hasMean && u.model.mean != 0 {
		a.Relative = a.Total / math.Abs(u.model.mean)
	}
	return a
}

// samplingVariance returns the variance over the draws of a mean's estimator (P12) for a
// sample of equal probabilities: Σ/n, or under Poisson sampling c + Σ(y−c)/(qN), or a ratio of two sums.
func (u *subject) samplingVariance(d design, ratio bool) (float64, string) {
	if u.statistic != sdk.StatisticMean {
		return 0, "the sampling error is worked out for the mean only"
	}
	if u.model == nil {
		return 0, "the sampling error needs an assumption: assume: {sd: …} for the column"
	}
	n, v := float64(u.population()), u.model.sd*u.model.sd
	if d.made != nil {
		return u.framedVariance(d.made, ratio)
	}
	switch d.kind {
	case "srswor":
		return v * (1 - d.rate) / float64(d.size), ""
	case "with-replacement":
		return v / float64(d.size), ""
	case "poisson":
		if n == 0 {
			return 0, "the sampling error needs dataset.size"
		}
		return (1 - d.rate) / (d.rate * n) * u.offset(ratio), ""
	}
	if d.kind == "stratified" {
		if d.facts.EqualWeights && n > 0 {
			return (1 - d.rate) / (d.rate * n) * u.offset(ratio), ""
		}
		return 0, "the sampling error of unequal rates needs the sizes of the strata, which are secret"
	}
	return 0, "the sampling error of a " + d.kind + " sample is not worked out"
}

// framedVariance returns the variance of c + Σ w(y−c)/N over a design with a public frame.
func (u *subject) framedVariance(d samplers.Design, ratio bool) (float64, string) {
	lower, upper := number(u.column.Lower), number(u.column.Upper)
	c := lower + (upper-lower)/2
	m := samplers.Moments{Mean: u.model.mean - c, SD: u.model.sd, ICC: u.model.icc, KnownMean: u.model.hasMean, Strata: u.model.strata}
	if ratio { // to first order the sum of the differences from the mean
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

// offset returns E(y − c)² about the middle c of the bounds, or where the mean is not
// assumed the most that it can be; for a ratio about the mean itself.
func (u *subject) offset(ratio bool) float64 {
	v := u.model.sd * u.model.sd
	if ratio {
		return v
	}
	lower, upper := number(u.column.Lower), number(u.column.Upper)
	if !u.model.hasMean {
		return math.Max(v, (upper-lower)*(upper-lower)/4)
	}
	c := lower + (upper-lower)/2
	return v + (u.model.mean-c)*(u.model.mean-c)
}
