package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/lab/plot"
)

// betas are the two calibrations of the dilation: the paper's, which is not sound
// everywhere, and the exact one (P13).
var betas = []string{"published", "exact"}

var threeEps = []float64{0.1, 0.5, 1}

func laplace(rng *rand.Rand) float64 { return rng.ExpFloat64() - rng.ExpFloat64() }

func epsNames(eps []float64) []string {
	var out []string
	for _, x := range eps {
		out = append(out, fmt.Sprintf("ε = %g", x))
	}
	return out
}

// gainsMean is Figure 1.
func gainsMean() (exhibit, error) {
	e := exhibit{id: "gains-1", title: "Figure 1. Beta(2, 10) and its privatised means",
		text: fmt.Sprintf("Left: the density. Right: %d means of the full table with Laplace noise (R = 1), the true mean dashed.", repetitions),
		alt:  "A density with its peak near 0.1; violins of the means that become flatter as epsilon grows"}
	law := distuv.Beta{Alpha: 2, Beta: 10}
	x := steps(0, 1, 300)
	left := plot.New(plot.Axes{X: "value", Y: "density"})
	left.Line("", x, apply(x, law.Prob))
	right := plot.New(plot.Axes{Y: "privatised mean"})
	truth := stat.Mean(beta.column(0), nil)
	rng := rand.New(rand.NewPCG(1, 1))
	var means [][]float64
	widest := 0.0
	var spread []float64
	for _, eps := range threeEps {
		v := make([]float64, repetitions)
		for i := range v {
			v[i] = truth + laplace(rng)/(eps*popSize)
			widest = max(widest, math.Abs(v[i]-truth))
		}
		means, spread = append(means, v), append(spread, stat.StdDev(v, nil))
	}
	right.Violins(epsNames(threeEps), means)
	right.Level("true mean", truth)
	e.figures = []panel{{e.id, plot.Row{left, right}}}
	e.facts = []fact{
		claim("concentrates as ε grows", "yes", spread[0] > spread[1] && spread[1] > spread[2],
			fmt.Sprintf("standard deviations %.2g, %.2g, %.2g", spread[0], spread[1], spread[2])),
		claim("all useful", "yes", widest < truth/10, fmt.Sprintf("at most %.2g away from %.3g", widest, truth)),
	}
	return e, nil
}

// gainsMedian is Figure 2.
func gainsMedian() (exhibit, error) {
	e := exhibit{id: "gains-2", title: "Figure 2. Privatised medians of Beta(2, 10)",
		text: fmt.Sprintf("%d medians of the full table: with noise for the global sensitivity R = 1 (left), and for the smooth "+
			"sensitivity with the published β (middle) and the exact one (right). "+
			"The true median is dashed. P13 says why the published β is not sound for every ε.", repetitions),
		alt: "Violins of the medians: with global sensitivity they reach from minus 50 to 100 at epsilon 0.1, with smooth sensitivity they " +
			"lie close to the true median"}
	column := beta.column(0)
	truth := middle(column)
	rng := rand.New(rand.NewPCG(2, 1))
	row := plot.Row{}
	global := make([][]float64, len(threeEps))
	lo, hi := 0.0, 0.0
	for i, eps := range threeEps {
		for range repetitions {
			global[i] = append(global[i], truth+laplace(rng)/eps)
		}
	}
	lo, hi = slices.Min(global[0]), slices.Max(global[0])
	f := plot.New(plot.Axes{Title: "global", Y: "privatised median"})
	f.Violins(epsNames(threeEps), global)
	f.Level("", truth)
	row = append(row, f)
	var inside []float64
	for _, cal := range betas {
		var smooth [][]float64
		for i, eps := range threeEps {
			r, err := beta.runs(column, popSize, eps, calibration(cal), 1, 0)
			if err != nil {
				return e, err
			}
			v := r.noise(repetitions, rng)
			in := 0
			for k := range v {
				v[k] += truth
				if v[k] >= 0 && v[k] <= 1 {
					in++
				}
			}
			smooth = append(smooth, v)
			if i == 0 {
				inside = append(inside, float64(in)/float64(len(v)))
			}
		}
		f := plot.New(plot.Axes{Title: "smooth, " + cal + " β"})
		f.Violins(epsNames(threeEps), smooth)
		f.Level("", truth)
		row = append(row, f)
	}
	e.figures = []panel{{e.id, row}}
	e.facts = []fact{
		claim("global, ε = 0.1: from, to", "about −50 to 100", lo < -30 && hi > 50, fmt.Sprintf("%.0f to %.0f", lo, hi)),
		claim("smooth, published β, ε = 0.1: inside [0, 1]", "nearly all", inside[0] > 0.95, fmt.Sprintf("%.1f %%", 100*inside[0])),
		found("smooth, exact β, ε = 0.1: inside [0, 1]", fmt.Sprintf("%.1f %%", 100*inside[1])),
	}
	e.agreement = "The two ends of the global range are the largest of 1,000 draws of Laplace noise of scale 10; " +
		"they move by some tens from one run to the next."
	return e, nil
}

// sampleSizes are those of the violins.
var sampleSizes = []int64{1001, 101}

// sensitivity is Figure 6 or 10: smooth sensitivities of samples over that of the full table.
func sensitivity(number int, p population,
	stated func(at func(cal string, eps float64, n int64) float64,
		span func(eps float64, n int64) (lo, hi float64)) []fact) func() (exhibit, error) {
	return func() (exhibit, error) {
		e := exhibit{id: fmt.Sprintf("gains-%d", number),
			title: fmt.Sprintf("Figure %d. Smooth sensitivity of the median of %s, sample over population", number, p.name),
			text: fmt.Sprintf("%d samples of each size. β on the sample follows ε_n and δ_n and is larger than on the population, "+
				"but the sample is sparser around its middle. "+
				"First with the published β, then with the exact one.", repetitions),
			alt: "Violins of the ratio in three panels, for samples of 1001 and of 101"}
		column := p.column(0)
		medians := map[string]float64{}
		key := func(cal string, eps float64, n int64) string { return fmt.Sprint(cal, eps, n) }
		ratios := func(column []float64, cal string, eps float64, n int64, times int, seed uint64) ([]float64, error) {
			full, err := p.runs(column, popSize, eps, calibration(cal), 1, 0)
			if err != nil {
				return nil, err
			}
			r, err := p.runs(column, n, eps, calibration(cal), times, seed)
			if err != nil {
				return nil, err
			}
			return r.ratios(n, eps, full.scales[0])
		}
		for _, cal := range betas {
			row := plot.Row{}
			for i, eps := range threeEps {
				var all [][]float64
				for _, n := range sampleSizes {
					x, err := ratios(column, cal, eps, n, repetitions, 6)
					if err != nil {
						return e, err
					}
					all = append(all, x)
					medians[key(cal, eps, n)] = medianOf(x)
				}
				axes := plot.Axes{Title: fmt.Sprintf("%s β, ε = %g", cal, eps), LogY: true}
				if i == 0 {
					axes.Y = "ratio"
				}
				f := plot.New(axes)
				f.Violins([]string{"n = 1001", "n = 101"}, all)
				f.Level("", 1)
				row = append(row, f)
			}
			e.figures = append(e.figures, panel{e.id + "-" + cal, row})
		}
		var failed error
		e.facts = stated(func(cal string, eps float64, n int64) float64 { return medians[key(cal, eps, n)] },
			func(eps float64, n int64) (float64, float64) {
				var each []float64
				for k := range populations {
					x, err := ratios(p.column(k), "published", eps, n, perPopulation, 7)
					if err != nil {
						failed = err
						return 0, 0
					}
					each = append(each, medianOf(x))
				}
				return slices.Min(each), slices.Max(each)
			})
		return e, failed
	}
}

// lognormalSensitivity compares the four medians that are stated with ours. One population
// decides them, so they agree when they lie in the range over populations.
func lognormalSensitivity(at func(string, float64, int64) float64, span func(float64, int64) (float64, float64)) []fact {
	var out []fact
	for _, c := range []struct {
		eps  float64
		n    int64
		want float64
	}{{0.1, 1001, 1.28}, {0.1, 101, 3.72}, {1, 1001, 4.24}, {1, 101, 23.30}} {
		lo, hi := span(c.eps, c.n)
		out = append(out,
			claim(fmt.Sprintf("median at ε = %g, n = %d", c.eps, c.n), fmt.Sprintf("%.2f", c.want), lo*0.97 <= c.want && c.want <= hi*1.03,
				fmt.Sprintf("%.3g (over populations %.3g to %.3g; exact β: %.3g)", at("published", c.eps, c.n), lo, hi, at("exact", c.eps, c.n))))
	}
	return out
}

func bimodalSensitivity(at func(string, float64, int64) float64, _ func(float64, int64) (float64, float64)) []fact {
	below, all := 0, []string{}
	for _, eps := range threeEps {
		for _, n := range sampleSizes {
			x := at("published", eps, n)
			if x < 1 {
				below++
			}
			all = append(all, fmt.Sprintf("%.3g", x))
		}
	}
	return []fact{claim("the sample's sensitivity, published β", "mostly smaller", below >= 4,
		fmt.Sprintf("median ratio below 1 in %d of 6: %s", below, strings.Join(all, ", ")))}
}

// added is Figure 7 or 12: the noise that is added.
func added(number int, p population, stated func(mean map[string]float64) []fact) func() (exhibit, error) {
	return func() (exhibit, error) {
		e := exhibit{id: fmt.Sprintf("gains-%d", number),
			title: fmt.Sprintf("Figure %d. The noise that is added to the median of %s", number, p.name),
			text: fmt.Sprintf("%d draws of the noise, each of a sample of its own. First with the published β, then with the exact one. "+
				"The ends of the violins are single draws; "+
				"the bar joins the quartiles.", repetitions),
			alt: "Violins of the noise in three panels, for the population and for samples of 1001 and of 101"}
		column := p.column(0)
		mean := map[string]float64{}
		rng := rand.New(rand.NewPCG(uint64(number), 1))
		for _, cal := range betas {
			row := plot.Row{}
			for i, eps := range threeEps {
				var all [][]float64
				far := 0.0
				for _, n := range append([]int64{popSize}, sampleSizes...) {
					r, err := p.runs(column, n, eps, calibration(cal), repetitions, 6)
					if err != nil {
						return e, err
					}
					v := r.noise(repetitions, rng)
					all = append(all, v)
					mean[fmt.Sprint(cal, eps, n)] = stat.Mean(r.scales, nil) // of |noise|
					sorted := slices.Sorted(slices.Values(apply(v, math.Abs)))
					far = max(far, sorted[len(sorted)*99/100])
				}
				axes := plot.Axes{Title: fmt.Sprintf("%s β, ε = %g", cal, eps)}
				if i == 0 {
					axes.Y = "noise"
				}
				f := plot.New(axes)
				f.Violins([]string{"all", "1001", "101"}, inside(all, far))
				f.Level("", 0)
				row = append(row, f)
			}
			e.figures = append(e.figures, panel{e.id + "-" + cal, row})
		}
		e.facts = stated(mean)
		return e, nil
	}
}

// inside leaves the draws out that lie farther than the ninety-ninth hundredth of the widest
// violin, so that the others can be seen.
func inside(all [][]float64, far float64) [][]float64 {
	out := make([][]float64, len(all))
	for i, v := range all {
		out[i] = slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return math.Abs(x) > far })
	}
	return out
}

// overFull is the mean magnitude of a sample's noise over that of the full table.
func overFull(mean map[string]float64, cal string, eps float64, n int64) float64 {
	return mean[fmt.Sprint(cal, eps, n)] / mean[fmt.Sprint(cal, eps, int64(popSize))]
}

func lognormalNoise(mean map[string]float64) []fact {
	ratio := func(eps float64, n int64) float64 { return overFull(mean, "published", eps, n) }
	both := func(eps float64) string {
		return fmt.Sprintf("noise × %.3g (n = 1001), × %.3g (n = 101)", ratio(eps, 1001), ratio(eps, 101))
	}
	return []fact{
		claim("ε = 0.1", "less with sampling", ratio(0.1, 1001) < 1 && ratio(0.1, 101) < 1, both(0.1)),
		claim("ε = 0.5", "a little less at n = 1001, more at 101", ratio(0.5, 1001) < 1 && ratio(0.5, 101) > 1, both(0.5)),
		claim("ε = 1", "more", ratio(1, 1001) > 1 && ratio(1, 101) > 1, both(1)),
		found("exact β, n = 1001, ε = 0.1, 0.5, 1", fmt.Sprintf("noise × %.3g, × %.3g, × %.3g", overFull(mean, "exact", 0.1, 1001),
			overFull(mean, "exact", 0.5, 1001), overFull(mean, "exact", 1, 1001))),
	}
}

func bimodalNoise(mean map[string]float64) []fact {
	var out []fact
	for _, cal := range betas {
		less, all := 0, []string{}
		for _, eps := range threeEps {
			for _, n := range sampleSizes {
				x := overFull(mean, cal, eps, n)
				if x < 1 {
					less++
				}
				all = append(all, fmt.Sprintf("%.3g", x))
			}
		}
		out = append(out,
			claim("sampling, "+cal+" β", "reduces noise", less >= 5, fmt.Sprintf("less in %d of 6: × %s", less, strings.Join(all, ", "))))
	}
	return out
}

func bimodalDensity() (exhibit, error) {
	e := exhibit{id: "gains-9", title: "Figure 9. The bimodal population",
		text: "5,001 draws of Beta(2, 10)/2 and 5,000 of Beta(2, 10) + 1, shifted and scaled to [0, 1] by minimum and maximum. " +
			"The median is the largest value of the lower part.",
		alt: "A density with two peaks and an empty gap between them; the median lies at the lower edge of the gap"}
	column := bimodal.column(0)
	f := plot.New(plot.Axes{X: "value", Y: "density"})
	at, height := f.Density(column)
	f.Line("", at, height)
	f.Upright("median", middle(column), 0, slices.Max(height))
	f.Range("x", 0, 1)
	e.figures = []panel{{e.id, f}}
	lo, hi := 1.0, 0.0
	for k := range populations {
		m := middle(bimodal.column(k))
		lo, hi = min(lo, m), max(hi, m)
	}
	e.facts = []fact{claim("median", "0.21", lo <= 0.21 && 0.21 <= hi,
		fmt.Sprintf("%.2g (over %d populations %.2g to %.2g)", middle(column), populations, lo, hi))}
	next := column[(popSize-1)/2+1]
	e.facts = append(e.facts,
		claim("the median lies", "in the gap", next-middle(column) > 0.2, fmt.Sprintf("at its lower edge; the next value is %.3g", next)))
	return e, nil
}

func bimodalMedians() (exhibit, error) {
	e := exhibit{id: "gains-11", title: "Figure 11. The medians of samples of the bimodal population",
		text: fmt.Sprintf("%d sample medians without noise, the true median dotted.", repetitions),
		alt:  "Violins with two peaks, away from the true median"}
	column := bimodal.column(0)
	f := plot.New(plot.Axes{Y: "sample median"})
	var all [][]float64
	var near []float64
	for _, n := range sampleSizes {
		r, err := bimodal.runs(column, n, 1, calibration("exact"), repetitions, 11)
		if err != nil {
			return e, err
		}
		all = append(all, r.values)
		close := 0
		for _, v := range r.values {
			if math.Abs(v-middle(column)) < 0.02 {
				close++
			}
		}
		near = append(near, float64(close)/float64(len(r.values)))
	}
	f.Violins([]string{"n = 1001", "n = 101"}, all)
	f.Level("true median", middle(column))
	f.Range("y", 0, 0.9)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{claim("within 0.02 of the true median", "rarely", max(near[0], near[1]) < 0.2,
		fmt.Sprintf("%.1f %% (n = 1001), %.1f %% (n = 101)", 100*near[0], 100*near[1]))}
	for i, v := range all {
		lower := 0
		for _, x := range v {
			if x <= middle(column) {
				lower++
			}
		}
		share := float64(lower) / float64(len(v))
		e.facts = append(e.facts, claim(fmt.Sprintf("n = %d: share in the lower part", sampleSizes[i]), "bimodal", share > 0.2 && share < 0.8,
			fmt.Sprintf("%.2f", share)))
	}
	return e, nil
}
