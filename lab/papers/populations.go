package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// population is an assumed distribution with its public bounds.
type population struct {
	name  string
	upper float64 // the lower bound is 0
	draw  func(rng *rand.Rand) []float64
}

func each(draw func() float64) []float64 {
	x := make([]float64, popSize)
	for i := range x {
		x[i] = draw()
	}
	return x
}

// beta is Beta(2, 10): the column of the first two figures.
var beta = population{"Beta(2, 10)", 1, func(rng *rand.Rand) []float64 { return each(distuv.Beta{Alpha: 2, Beta: 10, Src: rng}.Rand) }}

// lognormal is clipped to [0, 10,000]; the paper's bound is not recorded.
var lognormal = population{"Lognormal(5, 0.5)", 1e4, func(rng *rand.Rand) []float64 {
	return each(func() float64 { return math.Min(1e4, math.Exp(5+0.5*rng.NormFloat64())) })
}}

// bimodal is 5,001 draws of Beta(2, 10)/2 and 5,000 of Beta(2, 10) + 1, shifted and scaled
// to [0, 1] by the smallest and the largest.
var bimodal = population{"the bimodal column", 1, func(rng *rand.Rand) []float64 {
	x := beta.draw(rng)
	for i := range x {
		if i < (popSize+1)/2 {
			x[i] /= 2
		} else {
			x[i]++
		}
	}
	lo, hi := slices.Min(x), slices.Max(x)
	for i := range x {
		x[i] = (x[i] - lo) / (hi - lo)
	}
	return x
}}

// column is population k of the distribution, sorted.
func (p population) column(k int) []float64 {
	x := p.draw(rand.New(rand.NewPCG(uint64(k), 2022)))
	slices.Sort(x)
	return x
}

// middle is the median of a sorted column.
func middle(sorted []float64) float64 { return sorted[(len(sorted)-1)/2] }

// sample is a simple random sample of n of a sorted column, sorted.
func sample(sorted []float64, n int64, rng *rand.Rand) []float64 {
	out := make([]float64, 0, n)
	for i, x := range sorted {
		if left := int(n) - len(out); rng.IntN(len(sorted)-i) < left {
			out = append(out, x)
		}
	}
	return out
}

// trial plans one quantile of a sample of n at a population ε, by the paper's method unless
// another is given.
func (p population) trial(n int64, eps float64, params map[string]any) (*planner.Trial, error) {
	on, err := onSample(n, eps)
	if err != nil {
		return nil, err
	}
	switch params["method"] {
	case nil:
		params["method"] = "smooth-laplace"
	case "exponential":
		on.Delta = 0
	}
	params["column"] = "x"
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	rate := float64(n) / popSize
	public := sdk.Public{
		Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: popSize,
		Design: sdk.Design{Kind: "srswor", Rate: rate, SampleSize: n, MinWeight: 1 / rate, MaxWeight: 1 / rate, EqualWeights: true,
			LargestCount: n},
		Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: 0, Upper: p.upper, Missing: sdk.MissingRefuse}},
	}
	return planner.NewTrial(median.Mechanism{}, raw, public, on)
}

func calibration(name string) map[string]any {
	return map[string]any{"method": "smooth-laplace", "calibration": name}
}

// smoothed is one run of the smooth-sensitivity median: the quantile itself, and the scale
// of its Laplace noise.
func smoothed(t *planner.Trial, x []float64) (value, scale float64, err error) {
	d := &planner.Dice{Quiet: true}
	out, err := t.Run(context.Background(), x, d)
	if err == nil && len(d.Scales) != 1 {
		err = errors.New("the mechanism made no smooth release")
	}
	if err != nil {
		return 0, 0, err
	}
	return out[0], d.Scales[0], nil
}

// runs are the medians of T samples and the scales of their noise.
type runs struct{ values, scales []float64 }

// runs draws samples of n from a sorted column and runs the mechanism on each. All of n
// are one run, because the result without its noise is always the same.
func (p population) runs(sorted []float64, n int64, eps float64, params map[string]any, times int, seed uint64) (runs, error) {
	t, err := p.trial(n, eps, params)
	if err != nil {
		return runs{}, err
	}
	var r runs
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	if n == popSize {
		times = 1
	}
	for range times {
		x := sorted
		if n < popSize {
			x = sample(sorted, n, rng)
		}
		v, s, err := smoothed(t, x)
		if err != nil {
			return runs{}, err
		}
		r.values, r.scales = append(r.values, v), append(r.scales, s)
	}
	return r, nil
}

// error is the mean squared error about the truth. Noise enters by its variance, 2·scale²,
// not by draws; a release is not clamped.
func (r runs) error(truth float64) float64 {
	sum := 0.0
	for i, v := range r.values {
		sum += (v-truth)*(v-truth) + 2*r.scales[i]*r.scales[i]
	}
	return sum / float64(len(r.values))
}

// noise draws the Laplace noise of each run, times in all.
func (r runs) noise(times int, rng *rand.Rand) []float64 {
	out := make([]float64, times)
	for i := range out {
		out[i] = r.scales[i%len(r.scales)] * (rng.ExpFloat64() - rng.ExpFloat64())
	}
	return out
}

// ratios are the smooth sensitivities of the runs over that of the full table. Both spend
// half of their ε on the noise, so a scale times ε is the sensitivity twice over.
func (r runs) ratios(n int64, eps, full float64) ([]float64, error) {
	on, err := onSample(n, eps)
	out := make([]float64, len(r.scales))
	for i, s := range r.scales {
		out[i] = s * on.Epsilon / (full * eps)
	}
	return out, err
}

func medianOf(x []float64) float64 {
	return stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(x)), nil)
}
