package run

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
)

// Measurement is the result of one run of a series, as the ledger keeps it: noisy sums, and no sum without noise.
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

// Adds lists the periods that a step adds up, itself among them: those with a factor in some release.
func Adds(p *planned.Plan, step int) (out []int) {
	for s := range step + 1 {
		if slices.ContainsFunc(p.Releases(), func(r *planned.Release) bool { return r.Series.Matrix.Run(step)[s] != 0 }) {
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
// Gaussian or Laplace noise on each coordinate. x_s are the sums that the mechanism makes of slice s by itself. Nothing else
// that depends on rows leaves it, and the noise is forgotten. made holds the factors and the noise that it used, release by
// release: the seal compares them with what was debited. Proof: series.proof.md. // P31, P38
func Measure(p *planned.Plan, step int, sums map[int]*SliceSums) (m *Measurement, made []periods.Series, err error) {
	src, err := noise.NewSource()
	if err != nil {
		return nil, nil, errNoRandomness
	}
	noisy, factors, err := weighed(p, step, sums)
	if err != nil {
		return nil, nil, err
	}
	m = &Measurement{Noisy: noisy}
	for _, rel := range p.Releases() {
		name := rel.Job.Name
		drawn, err := addNoise(m.Noisy[name], rel.Series.Calls, src.Child())
		if err != nil {
			return nil, nil, err
		}
		made = append(made, periods.Series{Matrix: [][]int64{factors[name]}, Calls: drawn})
	}
	if src.Err() != nil {
		return nil, nil, errNoRandomness
	}
	return m, made, nil
}

// weighed adds up Σ C_ts·x_s for each noise call, without noise. factors are those by which slices were added, by release.
func weighed(p *planned.Plan, step int, sums map[int]*SliceSums) (out map[string][][]*big.Int, factors map[string][]int64, err error) {
	out, factors = map[string][][]*big.Int{}, map[string][]int64{}
	for _, rel := range p.Releases() {
		factors[rel.Job.Name] = make([]int64, step+1)
	}
	for _, s := range Adds(p, step) {
		if sums[s] == nil {
			return nil, nil, errMeasured
		}
		for _, rel := range p.Releases() {
			c := rel.Series.Matrix.Run(step)[s]
			if err := weigh(out, rel, sums[s].vectors[rel.Job.Name], c); err != nil {
				return nil, nil, err
			}
			factors[rel.Job.Name][s] += c
		}
	}
	return out, factors, nil
}

// sums has a mechanism add up in its own process. It is a Summer.
func (m *Mechanisms) sums(ctx context.Context, rel *planned.Release, alone bool,
	feed func(context.Context, host.RowWriter) error) ([][]int64, error) {
	mech, err := m.known[rel.Job.Mechanism]()
	if err != nil {
		return nil, err
	}
	process, done, err := mech.take(ctx, alone)
	if err != nil {
		return nil, err
	}
	defer done()
	return process.(*host.Plugin).Sums(ctx, rel.Request(), feed)
}

var errMeasured = errors.New("the sums of a slice do not fit the plan")

// weigh adds the sums of one slice, times a factor, to what a run measures.
func weigh(into map[string][][]*big.Int, rel *planned.Release, runs [][][]int64, factor int64) error {
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

// addNoise draws the noise of a run and adds it. It returns the noise that it drew.
func addNoise(into [][]*big.Int, calls []privacy.Event, src *noise.Source) (drawn []privacy.Event, _ error) {
	drawer := host.NewDrawer(src)
	for k, call := range calls {
		z := make([]int64, len(into[k]))
		if err := drawer.Add(call, z); err != nil {
			return nil, err
		}
		for i := range z {
			into[k][i].Add(into[k][i], big.NewInt(z[i]))
		}
		clear(z)
		drawn = append(drawn, call)
	}
	if src.Err() != nil {
		return nil, errNoRandomness
	}
	return drawn, nil
}
