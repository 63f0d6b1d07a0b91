package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/planner"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// population is an assumed distribution with its public bounds.
type population struct {
	name         string
	lower, upper float64
	draw         func(rng *rand.Rand) []float64
}

var lognormal = population{"Lognormal(5, 0.5)", 0, 1e4, func(rng *rand.Rand) []float64 {
	x := make([]float64, popSize)
	for i := range x {
		x[i] = math.Min(1e4, math.Exp(5+0.5*rng.NormFloat64()))
	}
	return x
}}

// bimodal has one record more in its lower part, so that the median is the last
// record before the gap.
var bimodal = population{"two scaled Beta(2, 10)", 0, 1000, func(rng *rand.Rand) []float64 {
	b := distuv.Beta{Alpha: 2, Beta: 10, Src: rng}
	x := make([]float64, popSize)
	for i := range x {
		if i <= popSize/2 {
			x[i] = 400 * b.Rand()
		} else {
			x[i] = 600 + 400*b.Rand()
		}
	}
	return x
}}

// trial plans one quantile of a sample of n at a population ε, with the papers'
// method unless another is given.
func (p population) trial(n int64, eps float64, params map[string]any) (*planner.Trial, privacy.Point, error) {
	on, err := onSample(n, eps)
	if err != nil {
		return nil, on, err
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
		return nil, on, err
	}
	rate := float64(n) / popSize
	public := sdk.Public{
		Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: popSize,
		Design:  sdk.Design{Kind: "srswor", Rate: rate, SampleSize: n, MinWeight: 1 / rate, MaxWeight: 1 / rate, EqualWeights: true, LargestCount: n},
		Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: p.lower, Upper: p.upper, Missing: sdk.MissingRefuse}},
	}
	t, err := planner.NewTrial(median.Mechanism{}, raw, public, on)
	return t, on, err
}

// smoothed is one run of the smooth-sensitivity median: the quantile itself, and
// the scale of its Laplace noise.
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

// comparison is a sample beside its population, over populations and draws.
type comparison struct {
	ratio  float64 // median over draws, then populations, of S_sample/S_population
	lo, hi float64 // its range over populations
	gain   float64 // mean squared error of the population's release over that of the sample's
	gLo    float64 // the same over populations, smallest and largest
	gHi    float64
}

// compare runs the mechanism on populations and on samples of n. Noise enters by
// its variance, 2·scale², not by draws; the release is not clamped.
func (p population) compare(n int64, eps float64, params map[string]any, o options) (comparison, error) {
	whole, full, err := p.trial(popSize, eps, params)
	if err != nil {
		return comparison{}, err
	}
	part, on, err := p.trial(n, eps, params)
	if err != nil {
		return comparison{}, err
	}
	var ratios, gains []float64
	var mseFull, mseSample float64
	for k := range o.populations {
		rng := rand.New(rand.NewPCG(uint64(k), 2022))
		x := p.draw(rng)
		truth, scale, err := smoothed(whole, slices.Clone(x))
		if err != nil {
			return comparison{}, err
		}
		var r []float64
		mse := 0.0
		draws := max(1, o.repetitions/o.populations)
		for range draws {
			for i := range int(n) {
				j := i + rng.IntN(len(x)-i)
				x[i], x[j] = x[j], x[i]
			}
			v, s, err := smoothed(part, slices.Clone(x[:n]))
			if err != nil {
				return comparison{}, err
			}
			// Both spend half of ε on the noise, so scale·ε is the sensitivity twice over.
			r = append(r, s*on.Epsilon/(scale*full.Epsilon))
			mse += (2*s*s + (v-truth)*(v-truth)) / float64(draws)
		}
		slices.Sort(r)
		ratios = append(ratios, r[len(r)/2])
		gains = append(gains, 2*scale*scale/mse)
		mseFull += 2 * scale * scale
		mseSample += mse
	}
	slices.Sort(ratios)
	slices.Sort(gains)
	return comparison{ratio: ratios[len(ratios)/2], lo: ratios[0], hi: ratios[len(ratios)-1],
		gain: mseFull / mseSample, gLo: gains[0], gHi: gains[len(gains)-1]}, nil
}

func calibration(name string) map[string]any {
	return map[string]any{"method": "smooth-laplace", "calibration": name}
}

func percentRange(lo, hi float64) string { return fmt.Sprintf("%.3g to %.3g", lo, hi) }
