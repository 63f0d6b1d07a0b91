package run

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Measurement is what one run of a series measured, as the ledger keeps it: noisy sums, and no sum without noise.
type Measurement struct {
	// Slice is the keyed digest of the slice of the run. It stands in no record of the ledger and in no output.
	Slice string `json:"slice"`
	// Noisy holds for each release, and each noise call of its mechanism, Σ C_ts·x_s and fresh noise.
	Noisy map[string][][]*big.Int `json:"noisy"`
}

// MeasurementFile is its name among the sealed bytes.
const MeasurementFile = "measurement.json"

// ReadMeasurement reads a measurement.
func ReadMeasurement(data []byte) (*Measurement, error) {
	m := &Measurement{}
	return m, json.Unmarshal(data, m)
}

// Periods are views of a table, one for each of some periods. They are found in one scan of the column of the
// slices, which is public.
func (t *OpenedTable) Periods(ctx context.Context, column string, periods []string) ([]*OpenedTable, error) {
	sets := make([]*rowSet, len(periods))
	for i := range sets {
		sets[i] = newRowSet(t.Table.Rows())
	}
	p := NewPreparer(job.Column{Name: column, Type: job.Category, Domain: periods, Missing: job.Handling{Rule: job.Drop}, Outside: job.Handling{Rule: job.Drop}})
	err := t.Table.Scan(ctx, table.ScanOptions{Columns: []string{column}, Content: t.Content}, func(b table.Batch) error {
		values, err := p.Prepare(b.Columns[0], b.Rows)
		if err != nil {
			return err
		}
		for row, code := range values.Codes {
			if code >= 0 {
				sets[code].add(b.Block.First + int64(row))
			}
		}
		return nil
	})
	out := make([]*OpenedTable, len(periods))
	for i, set := range sets {
		one := *t
		one.rows = &sliced{whole: t.Table, set: set, rows: set.count()}
		out[i] = &one
	}
	return out, err
}

// Adds lists the periods that a step adds up, itself among them: those with a factor in some release.
func Adds(p *plan.Planned, step int) (out []int) {
	for s := range step + 1 {
		if slices.ContainsFunc(p.Releases(), func(r *plan.PlannedRelease) bool { return r.Series.Matrix.Run(step)[s] != 0 }) {
			out = append(out, s)
		}
	}
	return out
}

// Measure makes one step of a series from the sums of its slices, as far as the step adds them up. It reads no table.
//
// # Contract
//
// For each noise call it returns Σ_s C_ts·x_s, in whole numbers of any size, with one fresh draw of discrete
// Gaussian noise on each coordinate. x_s are the sums that the mechanism makes of slice s by itself. Nothing else
// that depends on rows leaves it, and the noise is forgotten. Proof: series.proof.md. // P31
func Measure(p *plan.Planned, step int, sums map[int]*SliceSums) (*Measurement, error) {
	src, err := noise.NewSource()
	if err != nil {
		return nil, errNoRandomness
	}
	noisy, err := weighed(p, step, sums)
	if err != nil {
		return nil, err
	}
	out := &Measurement{Noisy: noisy}
	for _, rel := range p.Releases() {
		if err := addNoise(out.Noisy[rel.Job.Name], rel.Series.Calls, src.Child()); err != nil {
			return nil, err
		}
	}
	if src.Err() != nil {
		return nil, errNoRandomness
	}
	return out, nil
}

// weighed adds up Σ C_ts·x_s for each noise call, without noise.
func weighed(p *plan.Planned, step int, sums map[int]*SliceSums) (map[string][][]*big.Int, error) {
	out := map[string][][]*big.Int{}
	for _, s := range Adds(p, step) {
		if sums[s] == nil {
			return nil, errMeasured
		}
		for _, rel := range p.Releases() {
			if err := weigh(out, rel, sums[s].vectors[rel.Job.Name], rel.Series.Matrix.Run(step)[s]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// sums has a mechanism add up in its own process. It is a summer.
func (m *Mechanisms) sums(ctx context.Context, rel *plan.PlannedRelease, feed func(context.Context, host.RowWriter) error) ([][]int64, error) {
	mech, err := m.known[rel.Job.Mechanism]()
	if err != nil {
		return nil, err
	}
	process, err := mech.take(ctx)
	if err != nil {
		return nil, err
	}
	defer mech.put(process)
	return process.(*host.Plugin).Sums(ctx, rel.Request(), feed)
}

var errMeasured = errors.New("the sums of a slice do not fit the plan")

// weigh adds the sums of one slice, times a factor, to what a run measures.
func weigh(into map[string][][]*big.Int, rel *plan.PlannedRelease, runs [][][]int64, factor int64) error {
	if len(runs) != 1 || len(runs[0]) != len(rel.Series.Calls) {
		return errMeasured
	}
	name, times, product := rel.Job.Name, big.NewInt(factor), new(big.Int)
	if into[name] == nil {
		for _, v := range runs[0] {
			vector := make([]*big.Int, len(v))
			for i := range vector {
				vector[i] = new(big.Int)
			}
			into[name] = append(into[name], vector)
		}
	}
	for k, v := range runs[0] {
		if len(v) != len(into[name][k]) {
			return errMeasured
		}
		for i, x := range v {
			into[name][k][i].Add(into[name][k][i], product.Mul(times, product.SetInt64(x)))
		}
	}
	return nil
}

// addNoise draws the noise of a run and adds it.
func addNoise(into [][]*big.Int, calls []privacy.DiscreteGaussian, src *noise.Source) error {
	drawer := host.NewDrawer(src)
	for k, call := range calls {
		z := make([]int64, len(into[k]))
		if err := drawer.AddGaussian(call, z); err != nil {
			return err
		}
		for i := range z {
			into[k][i].Add(into[k][i], big.NewInt(z[i]))
		}
		clear(z)
	}
	if src.Err() != nil {
		return errNoRandomness
	}
	return nil
}

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
			r.options.Observe(Event{Kind: "release-done", Release: rel.Job.Name})
		}
		return nil
	})
}

// decoded are the noisy sums of one published row, and how large their noise is: a multiple of that of a run.
type decoded struct {
	stretch job.SeriesStretch
	sums    [][]float64
	times   float64
}

// decode makes the noisy sums of a row from the measurements.
func decode(m series.Matrix, stretch job.SeriesStretch, noisy [][][]float64) (decoded, error) {
	e, err := m.Decode(plan.RowOf(stretch, 1))
	if err != nil {
		return decoded{}, err
	}
	out := decoded{stretch: stretch, times: e.Deviation(1)}
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
func figures(ctx context.Context, rel *plan.PlannedRelease, set *Mechanisms, measured []*Measurement) (sdk.Result, error) {
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
	process, err := mech.take(ctx)
	if err != nil {
		return sdk.Result{}, err
	}
	defer mech.put(process)
	f := &figurer{rel: rel, from: process.(*host.Plugin)}
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
		if err == nil {
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
	rel     *plan.PlannedRelease
	from    *host.Plugin
	lengths []int // of the vectors

	// blank is the mechanism's result where all sums are 0. Where the mechanism is linear in its sums, the estimate
	// of row i is that of blank and unit times sum i.
	blank sdk.Result
	unit  float64
	rows  []sdk.Result
}

// estimateOf finds the columns of a mechanism's result that a series renames.
func estimateOf(r sdk.Result, name string) []float64 {
	for _, c := range r.Columns {
		if c.Name == name {
			return c.Float64
		}
	}
	return nil
}

// asked is the request for a row whose noise is so many times that of a run.
func (f *figurer) asked(times float64) sdk.ReleaseRequest {
	req := f.rel.Request()
	calls := slices.Clone(f.rel.Series.Calls)
	var events []privacy.Event
	for i := range calls {
		calls[i].Sigma *= times
		events = append(events, calls[i])
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
	if f.blank, err = f.from.Figures(ctx, f.asked(1), zero); err != nil || len(f.lengths) != 1 || !f.rel.Additive() {
		return err
	}
	up, err := f.from.Figures(ctx, f.asked(1), some)
	if err != nil {
		return err
	}
	a, b := estimateOf(f.blank, "estimate"), estimateOf(up, "estimate")
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

// add makes the rows of one published row.
func (f *figurer) add(ctx context.Context, d decoded) error {
	result := f.blank
	var value, sd, low, high []float64
	var blank []bool
	if f.unit != 0 {
		base, noise := estimateOf(f.blank, "estimate"), f.unit*d.times*f.rel.Series.Calls[0].Sigma
		for i, x := range d.sums[0] {
			v := base[i]*float64(periodsOf(d.stretch)) + f.unit*x
			value, sd = append(value, v), append(sd, math.Abs(noise))
			low, high = append(low, v-half95*math.Abs(noise)), append(high, v+half95*math.Abs(noise))
		}
	} else {
		whole := make([][]int64, len(d.sums))
		for k, v := range d.sums {
			for _, x := range v {
				whole[k] = append(whole[k], int64(math.RoundToEven(math.Max(-0x1p62, math.Min(0x1p62, x)))))
			}
		}
		var err error
		if result, err = f.from.Figures(ctx, f.asked(d.times), whole); err != nil {
			return err
		}
		value, sd = estimateOf(result, "estimate"), estimateOf(result, "noise_sd")
		low, high = estimateOf(result, "noise_low"), estimateOf(result, "noise_high")
		for _, c := range result.Columns {
			if c.Name == "estimate" {
				blank = c.Blank
			}
		}
		if value == nil || sd == nil {
			return errMeasured
		}
		if low == nil || high == nil {
			low, high = make([]float64, len(value)), make([]float64, len(value))
			for i := range value {
				low[i], high[i] = value[i]-half95*sd[i], value[i]+half95*sd[i]
			}
		}
	}
	if f.rel.Cells != nil {
		result = f.rel.Cells.Result(result)
	}
	n := len(value)
	period, kind := make([]string, n), make([]string, n)
	for i := range n {
		period[i], kind[i] = d.stretch.Label, d.stretch.Row.String()
	}
	out := sdk.Result{Columns: []sdk.ResultColumn{{Name: plan.PeriodField, String: period}, {Name: plan.KindField, String: kind}}}
	for _, c := range result.Columns {
		if slices.ContainsFunc(f.rel.Output(), func(o sdk.Field) bool { return o.Name == c.Name }) {
			out.Columns = append(out.Columns, c)
		}
	}
	for _, c := range []sdk.ResultColumn{{Name: "value", Float64: value}, {Name: "sd", Float64: sd}, {Name: "low", Float64: low}, {Name: "high", Float64: high}} {
		c.Blank = blank
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
			to := &out.Columns[i]
			to.Name = c.Name
			before := max(len(to.Float64), len(to.Int64), len(to.String))
			n := max(len(c.Float64), len(c.Int64), len(c.String))
			if c.Blank != nil && to.Blank == nil {
				to.Blank = make([]bool, before)
			}
			if to.Blank != nil {
				if c.Blank == nil {
					c.Blank = make([]bool, n)
				}
				to.Blank = append(to.Blank, c.Blank...)
			}
			to.Float64, to.Int64, to.String = append(to.Float64, c.Float64...), append(to.Int64, c.Int64...), append(to.String, c.String...)
		}
	}
	return out.Blanks(), nil
}
