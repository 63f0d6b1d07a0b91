package run

import (
	"context"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Figures makes the releases of a series up to a step: public arithmetic on what was measured. It reads and draws
// nothing.
func (r *Runner) Figures(ctx context.Context, measured []*Measurement) error {
	return guarded(func() error {
		for _, rel := range r.Plan.Releases() {
			result, err := figures(ctx, rel, r.set, measured)
			if err != nil {
				return err
			}
			r.keep(rel, result)
			r.options.Observe(Progress{Kind: "release-done", Release: rel.Job.Name})
		}
		return nil
	})
}

// decoded are the noisy sums of one published row, and how large their noise is: a multiple of that of a run.
type decoded struct {
	stretch  job.SeriesStretch
	sums     [][]float64
	times    float64
	estimate series.Estimate
}

// decode makes the noisy sums of a row from the measurements.
func decode(m series.Matrix, stretch job.SeriesStretch, noisy [][][]float64) (decoded, error) {
	e, err := m.Decode(planned.RowOf(stretch, 1))
	if err != nil {
		return decoded{}, err
	}
	out := decoded{stretch: stretch, times: e.Deviation(1), estimate: e}
	over := new(big.Rat).SetFrac(big.NewInt(1), e.Over)
	for k := range noisy[0] {
		out.sums = append(out.sums, make([]float64, len(noisy[0][k])))
	}
	for t, f := range e.Factors {
		if f.Sign() == 0 {
			continue
		}
		factor, _ := new(big.Rat).Mul(new(big.Rat).SetInt(f), over).Float64()
		for k, v := range noisy[t] {
			for i, y := range v {
				out.sums[k][i] += factor * y
			}
		}
	}
	return out, nil
}

// figures is one release, with the rows of each period after those of the one before.
func figures(ctx context.Context, rel *planned.Release, set *Mechanisms, measured []*Measurement) (sdk.Result, error) {
	var noisy [][][]float64 // by run, call and coordinate
	for _, m := range measured {
		var calls [][]float64
		for _, v := range m.Noisy[rel.Job.Name] {
			x := make([]float64, len(v))
			for i, y := range v {
				x[i], _ = new(big.Float).SetInt(y).Float64()
			}
			calls = append(calls, x)
		}
		if len(calls) != len(rel.Series.Calls) {
			return sdk.Result{}, errMeasured
		}
		noisy = append(noisy, calls)
	}
	mech, err := set.known[rel.Job.Mechanism]()
	if err != nil {
		return sdk.Result{}, err
	}
	process, done, err := mech.take(ctx, false)
	if err != nil {
		return sdk.Result{}, err
	}
	defer done()
	f := &figurer{rel: rel, from: process.(*host.Plugin), halves: map[string]float64{}}
	for k := range noisy[0] {
		f.lengths = append(f.lengths, len(noisy[0][k]))
	}
	if err := f.learn(ctx); err != nil {
		return sdk.Result{}, err
	}
	stretches := rel.Series.Stretches()
	slices.SortStableFunc(stretches, func(a, b job.SeriesStretch) int { return a.Last - b.Last })
	for _, s := range stretches {
		if s.Last >= len(measured) {
			break
		}
		row, err := decode(rel.Series.Matrix, s, noisy)
		if err == nil && s.Less >= 0 && !rel.Additive {
			err = f.addChange(ctx, s, noisy)
		} else if err == nil {
			err = f.add(ctx, row)
		}
		if err != nil {
			return sdk.Result{}, err
		}
	}
	return f.result()
}

// figurer turns noisy sums into the rows of a release.
type figurer struct {
	rel     *planned.Release
	from    *host.Plugin
	lengths []int // of the vectors

	// blank is the mechanism's result where all sums are 0. Where the mechanism is linear in its sums, the estimate
	// of row i is that of blank and unit times sum i.
	blank sdk.Result
	unit  float64
	rows  []sdk.Result

	halves map[string]float64 // known intervals of Laplace noise
}

// columnOf finds a column of a mechanism's result that a series renames; it has no values where the result has none.
func columnOf(r sdk.Result, name string) sdk.ResultColumn {
	for _, c := range r.Columns {
		if c.Name == name {
			return c
		}
	}
	return sdk.ResultColumn{}
}

// estimateOf returns the estimates of a mechanism's result.
func estimateOf(r sdk.Result) []float64 { return columnOf(r, "estimate").Float64 }

// asked is the request for a row whose noise is so many times that of a run; for a change, that of each period.
func (f *figurer) asked(times ...float64) sdk.ReleaseRequest {
	req := f.rel.Request()
	var events []privacy.Event
	for _, by := range times {
		for _, c := range f.rel.Series.Calls {
			events = append(events, planned.Louder(c, by))
		}
	}
	if req.Plan.Event = events[0]; len(events) > 1 {
		req.Plan.Event = privacy.Compose{Events: events}
	}
	return req
}

// ramp is the size of the sums with which learn asks what one of them adds to an estimate.
const ramp = 1 << 30

// rampStep tells the sums of two rows apart, far above what the comparison forgives.
const rampStep = 1 << 10

// learn finds out whether the mechanism's estimates are its sums times a constant.
func (f *figurer) learn(ctx context.Context) (err error) {
	zero, some := make([][]int64, len(f.lengths)), make([][]int64, len(f.lengths))
	for k, n := range f.lengths {
		zero[k], some[k] = make([]int64, n), make([]int64, n)
		for i := range some[k] {
			some[k][i] = ramp + rampStep*int64(i)
		}
	}
	if f.blank, err = f.from.Figures(ctx, f.asked(1), zero); err != nil || len(f.lengths) != 1 || !f.rel.Additive {
		return err
	}
	up, err := f.from.Figures(ctx, f.asked(1), some)
	if err != nil {
		return err
	}
	a, b := estimateOf(f.blank), estimateOf(up)
	if len(a) != f.lengths[0] || len(b) != len(a) {
		return nil
	}
	unit := (b[0] - a[0]) / ramp
	for i := range a {
		if want := unit * float64(ramp+rampStep*i); !(math.Abs(b[i]-a[i]-want) <= 1e-9*math.Abs(want)) {
			return nil // the order of the sums is not that of the rows
		}
	}
	f.unit = unit
	return nil
}

var half95 = distuv.UnitNormal.Quantile(0.975)

// wide returns how many standard deviations hold the noise of a sum in 95 of 100 cases.
func (f *figurer) wide(d decoded) float64 {
	if _, laplace := f.rel.Series.Calls[0].(privacy.DiscreteLaplace); !laplace {
		return half95
	}
	key := d.estimate.Key()
	if f.halves[key] == 0 {
		f.halves[key] = d.estimate.Half(95) / d.times
	}
	return f.halves[key]
}

// add makes the rows of one published row.
func (f *figurer) add(ctx context.Context, d decoded) error {
	if f.unit == 0 {
		result, err := f.from.Figures(ctx, f.asked(d.times), d.whole())
		if err != nil {
			return err
		}
		return f.put(d.stretch, result, f.wide(d))
	}
	base, noise := estimateOf(f.blank), math.Abs(f.unit)*d.times*planned.DeviationOf(f.rel.Series.Calls[0])
	half := f.wide(d)*noise + math.Abs(f.unit)*d.estimate.Step()/2 // to the middle between two values of the noise
	var value, sd, low, high []float64
	for i, x := range d.sums[0] {
		v := base[i]*float64(periodsOf(d.stretch)) + f.unit*x
		value, sd = append(value, v), append(sd, noise)
		low, high = append(low, v-half), append(high, v+half)
	}
	return f.row(d.stretch, f.blank, sdk.ResultColumn{Float64: value}, sdk.ResultColumn{Float64: sd}, sdk.ResultColumn{Float64: low},
		sdk.ResultColumn{Float64: high})
}

// addChange makes the rows of the change between two periods of a figure that is no sum. The mechanism compares the two:
// it is told what their noise shares, which is public.
func (f *figurer) addChange(ctx context.Context, s job.SeriesStretch, noisy [][][]float64) error {
	m := f.rel.Series.Matrix
	now, err := decode(m, job.SeriesStretch{First: s.Last, Last: s.Last, Less: -1}, noisy)
	if err != nil {
		return err
	}
	before, err := decode(m, job.SeriesStretch{First: s.Less, Last: s.Less, Less: -1}, noisy)
	if err != nil {
		return err
	}
	shared, _ := series.Covariance(now.estimate, before.estimate).Float64()
	req := f.asked(now.times, before.times)
	if req.Params, err = f.rel.Changing(math.Max(-1, math.Min(1, shared/now.times/before.times))); err != nil {
		return err
	}
	result, err := f.from.Figures(ctx, req, append(now.whole(), before.whole()...))
	if err != nil {
		return err
	}
	return f.put(s, result, half95)
}

// whole are the sums in whole numbers, as a mechanism takes them.
func (d *decoded) whole() [][]int64 {
	out := make([][]int64, len(d.sums))
	for k, v := range d.sums {
		for _, x := range v {
			out[k] = append(out[k], int64(math.RoundToEven(math.Max(-0x1p62, math.Min(0x1p62, x)))))
		}
	}
	return out
}

// put makes the rows of a published row from what the mechanism makes of its sums. The interval of a sum is so many
// standard deviations wide to each side; other statistics have one of their own.
func (f *figurer) put(s job.SeriesStretch, result sdk.Result, wide float64) error {
	value, sd := columnOf(result, "estimate"), columnOf(result, "noise_sd")
	low, high := columnOf(result, "interval_low"), columnOf(result, "interval_high")
	if value.Float64 == nil || sd.Float64 == nil {
		return errMeasured
	}
	if f.rel.Additive || low.Float64 == nil || high.Float64 == nil {
		low, high = sdk.ResultColumn{Blank: value.Blank}, sdk.ResultColumn{Blank: value.Blank}
		for i, v := range value.Float64 {
			half := wide * sd.Float64[i]
			low.Float64, high.Float64 = append(low.Float64, v-half), append(high.Float64, v+half)
		}
	}
	return f.row(s, result, value, sd, low, high)
}

// row puts together the columns of a published row.
func (f *figurer) row(s job.SeriesStretch, result sdk.Result, value, sd, low, high sdk.ResultColumn) error {
	if f.rel.Cells != nil {
		result = f.rel.Cells.Result(result)
	}
	n := len(value.Float64)
	period, kind := make([]string, n), make([]string, n)
	for i := range n {
		period[i], kind[i] = s.Label, s.Row.String()
	}
	out := sdk.Result{Columns: []sdk.ResultColumn{{Name: planned.PeriodField, Texts: period}, {Name: planned.KindField, Texts: kind}}}
	for _, c := range result.Columns {
		if !planned.Replaced(c.Name) {
			out.Columns = append(out.Columns, c)
		}
	}
	for i, c := range []sdk.ResultColumn{value, sd, low, high} {
		c.Name = []string{"value", "sd", "low", "high"}[i]
		out.Columns = append(out.Columns, c)
	}
	f.rows = append(f.rows, out)
	return nil
}

// periodsOf counts how often a row has the constant part of a figure: 0 times for a change.
func periodsOf(s job.SeriesStretch) int {
	n := s.Last - s.First + 1
	if s.Less >= 0 {
		n--
	}
	return n
}

// result puts the rows below one another.
func (f *figurer) result() (sdk.Result, error) {
	var out sdk.Result
	for at, r := range f.rows {
		if at == 0 {
			out.Columns = make([]sdk.ResultColumn, len(r.Columns))
		}
		if len(r.Columns) != len(out.Columns) {
			return out, errMeasured
		}
		for i, c := range r.Columns {
			out.Columns[i].Name = c.Name
			out.Columns[i].Append(c)
		}
	}
	return out.Blanks(), nil
}
