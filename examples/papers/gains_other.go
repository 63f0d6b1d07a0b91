package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/dprelease/dprelease/internal/figure"
	"github.com/dprelease/dprelease/planner"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

func meanNever(options) (exhibit, error) {
	e := exhibit{id: "mean-never", title: "The mean, with global sensitivity",
		text: "Laplace noise for values in [0, R]. Drawn is the mean squared error of the full table's release over the sample's. The first panel leaves the sampling error out " +
			"(the best case for sampling: a constant column), the second takes a standard deviation of R/10.",
		alt: "The ratio stays below 1 for every rate and every epsilon"}
	q := logs(0.001, 1, 150)
	top := 0.0
	for i, sd := range []float64{0, 0.1} {
		f := figure.New(figure.Axes{Title: fmt.Sprintf("sd = %g·R", sd), X: "sampling rate n/N", Y: "error of table / error of sample", LogX: true, LogY: i > 0, LegendLeft: i == 0, LegendTop: i == 0})
		for _, eps := range []float64{0.001, 0.1, 1, 3} {
			y := apply(q, func(q float64) float64 {
				full := 2 / math.Pow(popSize*eps, 2)
				sample := full / math.Pow(amplify.Efficiency(q, eps), 2)
				return full / (sample + sd*sd*(1-q)/(q*popSize))
			})
			top = max(top, slices.Max(y[:len(y)-1]))
			f.Line(fmt.Sprintf("ε = %g", eps), q, y)
		}
		if i == 0 {
			f.Range("y", 0, 1.5)
		}
		e.figures = append(e.figures, panel{fmt.Sprintf("%s-%d", e.id, i+1), f})
	}
	e.facts = []fact{{what: "largest ratio at a rate below 1", stated: "never a gain", ours: fmt.Sprintf("%.6f", top), known: true, holds: top < 1}}
	e.agreement = allHold(e.facts) + " The distribution does not matter: it enters through the sampling error only, which makes the sample worse. The proof is the concavity argument of P18 ([sampling](sampling.md))."
	return e, nil
}

func gaussianMean(options) (exhibit, error) {
	e := exhibit{id: "mean-gaussian", title: "The mean with Gaussian noise (left open by the paper)",
		text: "The standard deviation of the Gaussian noise on the full mean over that on the sampled mean, each calibrated exactly (Balle and Wang) to (ε, δ) and to " +
			"(ε_n, δ_n), without any sampling error. The sample also gains from δ_n = δ·N/n.",
		alt: "The ratio of the noises stays below 1"}
	f := figure.New(figure.Axes{X: "ε on the population", Y: "noise of table / noise of sample", LogX: true, LegendLeft: true})
	eps := logs(0.001, 8, 60)
	top := 0.0
	for _, n := range []int64{101, 1001, 5001, 9001} {
		var y []float64
		for _, at := range eps {
			on, err := onSample(n, at)
			if err != nil {
				return e, err
			}
			full, err := privacy.GaussianSigma(1.0/popSize, privacy.Point{Epsilon: at, Delta: delta})
			if err != nil {
				return e, err
			}
			part, err := privacy.GaussianSigma(1/float64(n), on)
			if err != nil {
				return e, err
			}
			y = append(y, full/part)
			top = max(top, full/part)
		}
		f.Line(fmt.Sprintf("n = %d", n), eps, y)
	}
	f.Rule("no gain, no loss", eps, constant(eps, 1))
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{found("largest ratio", fmt.Sprintf("%.4f", top))}
	e.agreement = "Nothing is stated to compare with. "
	if top < 1 {
		e.agreement += "On this grid sampling never makes the Gaussian noise of a mean smaller."
	} else {
		e.agreement += "On this grid there are points where sampling makes the Gaussian noise of a mean smaller."
	}
	return e, nil
}

func exponentialMedian(o options) (exhibit, error) {
	e := exhibit{id: "median-exponential", title: "The median by the exponential mechanism (left open by the paper)",
		text: "Pure ε on a public lattice of 4,001 points over [0, 1,000] for the lognormal column and the bimodal one, with drawn noise. Above 1 sampling wins; gains below a tenth are not told from luck.",
		alt:  "Error of the full table over that of the sample against epsilon"}
	eps := logs(0.003, 3, 8)
	helped := false
	for _, p := range []population{lognormal, bimodal} {
		p.upper = 1000
		f := figure.New(figure.Axes{Title: p.name, X: "ε on the population", Y: "error of table / error of sample", LogX: true, LogY: true, LegendTop: true})
		for _, n := range []int64{101, 1001, 5001} {
			var y []float64
			last := 0.0
			for _, at := range eps {
				g, err := p.drawn(n, at, map[string]any{"method": "exponential", "points": 4001}, o)
				if err != nil {
					return e, err
				}
				y = append(y, g)
				if g > 1.1 { // drawn noise: a clear gain only
					last, helped = at, true
				}
			}
			f.Line(fmt.Sprintf("n = %d", n), eps, y)
			e.facts = append(e.facts, found(fmt.Sprintf("%s, n = %d: where the sample gains", p.name, n), lastGain(last)))
		}
		f.Rule("no gain, no loss", eps, constant(eps, 1))
		e.figures = append(e.figures, panel{fmt.Sprintf("%s-%d", e.id, len(e.figures)+1), f})
	}
	e.agreement = "Nothing is stated to compare with. Does sampling help here? Nowhere by more than a tenth: the error of the exponential mechanism falls with n·ε, which amplification keeps at most."
	if helped {
		e.agreement = "Nothing is stated to compare with. Does sampling help here? Where the table says so."
	}
	return e, nil
}

// drawn is the ratio of mean squared errors with noise drawn.
func (p population) drawn(n int64, eps float64, params map[string]any, o options) (float64, error) {
	whole, _, err := p.trial(popSize, eps, params)
	if err != nil {
		return 0, err
	}
	part, _, err := p.trial(n, eps, params)
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	var full, sample []float64
	for k := range o.populations {
		rng := rand.New(rand.NewPCG(uint64(k), 2023))
		x := p.draw(rng)
		for i := range x {
			x[i] = math.Min(x[i], p.upper)
		}
		sorted := slices.Clone(x)
		slices.Sort(sorted)
		truth := sorted[(len(sorted)-1)/2]
		for range max(1, o.repetitions/o.populations) {
			for i := range int(n) {
				j := i + rng.IntN(len(x)-i)
				x[i], x[j] = x[j], x[i]
			}
			d := &planner.Dice{Rand: rng}
			a, err := whole.Run(ctx, x, d)
			if err != nil {
				return 0, err
			}
			full = append(full, (a[0]-truth)*(a[0]-truth))
			if a, err = part.Run(ctx, x[:n], d); err != nil {
				return 0, err
			}
			sample = append(sample, (a[0]-truth)*(a[0]-truth))
		}
	}
	return stat.Mean(full, nil) / stat.Mean(sample, nil), nil
}
