package plan

import (
	"cmp"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// Forecast is an error to expect of a value where all rows count and are spread evenly over the groups of its release. It follows
// from public facts alone (P19).
type Forecast struct {
	Groups          float64
	Rows            float64 // that a value is made of, of the sample
	NoiseSD, Half95 float64 // of the noise: its standard deviation, and half of its 95 % interval
	DrawSD          float64 // of drawing the sample, where Drawn
	Drawn           bool    // says that DrawSD is known
	Unsure          float64 // the variance that an interval adds
	Value           float64 // to expect, 0 where nothing says it
	Spread          float64 // of a quantile, whose errors are in shares of the ranks: what turns them into values; 0 where nothing says it
}

// Forecast is the error to expect of a value e of the release, and false where nobody knows how many rows count.
func (r *PlannedRelease) Forecast(e sdk.ExpectedError) (Forecast, bool) {
	rows := r.counted()
	switch {
	case rows == 0:
		return Forecast{}, false
	case e.Above != nil && e.Over != nil:
		return r.quotient(e, rows)
	case e.Linear == nil:
		return Forecast{}, false
	}
	f := Forecast{Groups: r.spreadOver(), Rows: summed(rows, r.design, &sdk.Linear{Scale: 1}) / r.spreadOver(), NoiseSD: e.NoiseSD,
		Half95: e.Half95, Unsure: e.Unsure}
	if m := r.even(e.Linear); m != nil {
		f.draw(r, *e.Linear, m)
	}
	return f, f.Drawn
}

// counted is the public number of rows of the table if every row counts in some group, and of units that are capped that of one row each;
// 0 where nothing public says it.
func (r *PlannedRelease) counted() int64 {
	if r.Job.Where.Said() || r.Job.Having.Said() || r.job.Dataset.MayVanish() || r.Weights != nil || r.Series != nil ||
		r.Cells != nil && r.Cells.Selected() {
		return 0
	}
	return max(planned.Population(r.job, r.design), r.job.Dataset.AtLeast)
}

// spreadOver is the number of groups over which rows are spread, for each column that the release is about.
func (r *PlannedRelease) spreadOver() float64 {
	return math.Max(1, float64(r.cells())/float64(max(1, len(r.Plan.Errors))))
}

// draw adds what drawing the sample does to a linear value whose z have these moments.
func (f *Forecast) draw(r *PlannedRelease, l sdk.Linear, m *samplers.Moments) {
	if r.cap != nil && r.design.Kind() != "full" {
		return // the rows of a unit are drawn together
	}
	if sd, err := Deviation(r.job, r.design, &l, m); err == nil {
		f.DrawSD, f.Drawn = sd, true
	}
}

// even are the moments of what a row adds to one of several groups over which the rows are
// spread evenly, nil where nothing is assumed of a column that is added up.
func (r *PlannedRelease) even(l *sdk.Linear) *samplers.Moments {
	if l.Column != "" || l.Low == l.High || r.cap != nil {
		return nil
	}
	m := samplers.Moments{Mean: l.High}
	if sums := sums(l); sums != "" {
		if m = assumed(r.job, sums); m.SD == 0 {
			return nil
		}
	}
	p := 1 / r.spreadOver()
	if p < 1 {
		m.Strata = nil // a group holds a part of each stratum
	}
	sd := math.Sqrt(p*(m.SD*m.SD+m.Mean*m.Mean) - p*p*m.Mean*m.Mean)
	return &samplers.Moments{Strata: m.Strata, Mean: p * m.Mean, SD: sd, KnownMean: true}
}

// quotient forecasts c + A/B, A and B sums over the rows of a group, to the first order. The sum that B divides is A − (A/B)·B.
func (r *PlannedRelease) quotient(e sdk.ExpectedError, rows int64) (Forecast, bool) {
	a, b := &e.Above.Linear, &e.Over.Linear
	f := Forecast{Groups: r.spreadOver(), Rows: summed(rows, r.design, &sdk.Linear{Scale: 1}) / r.spreadOver()}
	above, spread, known := r.expects(a)
	below, spreadBelow := 1.0, 0.0
	if b.Adds != "" {
		var knows bool
		if below, spreadBelow, knows = r.expects(b); !known || !knows || below <= 0 {
			return f, false
		}
	}
	ratio := above / below
	if !known { // at worst
		ratio = math.Max(math.Abs(a.Low), math.Abs(a.High))
		if sums(a) == "" {
			spread = (a.High - a.Low) / 2
		}
	} else if f.Value = ratio; sums(a) == "" || a.Column != "" {
		f.Value += r.constant(a)
	}
	size := f.Rows * below
	f.NoiseSD = math.Hypot(e.Above.NoiseSD, ratio*e.Over.NoiseSD) / size
	f.Half95 = f.NoiseSD * e.Above.Half95 / e.Above.NoiseSD
	f.Unsure = (e.Above.Unsure + ratio*ratio*e.Over.Unsure) / (size * size)
	all := math.Max(math.Abs(a.Low), math.Abs(a.High)) + math.Abs(ratio)*b.High
	rest := sdk.Linear{Low: -all, High: all, Scale: 1 / size}
	if part := math.Hypot(spread, ratio*spreadBelow); part > 0 {
		f.draw(r, rest, &samplers.Moments{SD: part / math.Sqrt(r.spreadOver()), KnownMean: true})
	} else if f.draw(r, rest, nil); f.DrawSD > 0 { // nothing says how far the values lie apart
		f.DrawSD, f.Drawn = 0, false
	}
	switch r.Plan.Estimates() {
	case sdk.StatisticQuantile:
		f.Value, f.Spread = 0, r.sparsity(a)
	case sdk.StatisticSD: // the root of a variance
		f.Value = math.Sqrt(above)
		if f.Value == 0 {
			return f, false
		}
		f.NoiseSD, f.Half95, f.DrawSD, f.Unsure = f.NoiseSD/(2*f.Value), f.Half95/(2*f.Value), f.DrawSD/(2*f.Value), f.Unsure/(4*above)
	}
	return f, true
}

// sparsity returns how far values lie apart around a quantile, over the shares of ranks between them: as the column is assumed to be
// spread, and like normal values where the job assumes moments alone. It is 0 where nothing says it.
func (r *PlannedRelease) sparsity(l *sdk.Linear) float64 {
	column := assumed(r.job, l.Adds)
	mean, sd := column.Mean, column.SD
	c, declared := r.job.Dataset.Column(l.Adds)
	if !declared || sd == 0 || c.Assume.Distribution == job.PilotTable {
		return 0
	}
	z := math.Sqrt2 * math.Erfinv(-2*l.Low-1)
	apart := math.Sqrt(2*math.Pi) * math.Exp(z*z/2)
	if c.Assume.Distribution == job.Lognormal {
		v := math.Log1p(sd * sd / (mean * mean))
		return apart * math.Sqrt(v) * math.Exp(math.Log(mean)-v/2+z*math.Sqrt(v))
	}
	return apart * sd
}

// expects are the mean and the standard deviation of the z of a row that counts in a sum of a quotient, as the job assumes: of a
// variance those of the squares of normal values. Known is false where it assumes no mean.
func (r *PlannedRelease) expects(l *sdk.Linear) (mean, sd float64, known bool) {
	if sums(l) == "" {
		p := AssumedShare(&r.Job)
		return p - r.constant(l), math.Sqrt(p * (1 - p)), p > 0
	}
	column := assumed(r.job, sums(l))
	mean, sd = column.Mean, column.SD
	switch s := r.Plan.Estimates(); {
	case s == sdk.StatisticQuantile: // of the share of rows below it, less q
		return 0, math.Sqrt(-l.Low * l.High), true
	case s == sdk.StatisticVariance || s == sdk.StatisticSD:
		return sd * sd, math.Sqrt2 * sd * sd, sd > 0
	case mean == 0:
		return 0, sd, false
	}
	return mean - r.constant(l), sd, true
}

// constant returns how much more the value of a row is than its z. The value is 1 where a row has the property of a share.
func (r *PlannedRelease) constant(l *sdk.Linear) float64 {
	if c, ok := r.job.Dataset.Column(l.Column); ok {
		return rational.Up(c.Lower) - l.Low
	} else if sums(l) == "" {
		return -l.Low
	}
	return 0
}

// sums is the column whose values a linear value adds up, "" where it counts.
func sums(l *sdk.Linear) string {
	return cmp.Or(l.Column, l.Adds)
}
