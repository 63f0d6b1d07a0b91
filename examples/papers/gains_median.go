package main

import (
	"fmt"

	"github.com/dprelease/dprelease/internal/figure"
)

func medianRatio(o options) (exhibit, error) {
	e := exhibit{id: "median-sensitivity", title: "Smooth sensitivity of the median, sample over population",
		text: "Lognormal(5, 0.5), clipped to [0, 10,000]. β on the sample follows ε_n and δ_n, and is larger than on the population; the sample is sparser around its middle. " +
			"First with the published β = ε/(2 log(2/δ)), then with the largest β that the dilation allows (P13). Medians over draws, then over populations.",
		alt: "The ratio of smooth sensitivities grows with epsilon, and is larger for the smaller sample"}
	eps := logs(0.05, 3, 8)
	for _, cal := range []string{"published", "exact"} {
		f := figure.New(figure.Axes{Title: cal + " calibration", X: "ε on the population", Y: "S_sample / S_population", LogX: true, LogY: true, LegendLeft: true, LegendTop: true})
		for _, n := range []int64{101, 1001} {
			var y []float64
			for _, x := range eps {
				c, err := lognormal.compare(n, x, calibration(cal), o)
				if err != nil {
					return e, err
				}
				y = append(y, c.ratio)
			}
			f.Line(fmt.Sprintf("n = %d", n), eps, y)
		}
		e.figures = append(e.figures, panel{e.id + "-" + cal, f})
	}
	for _, c := range []struct {
		eps          float64
		n            int64
		want, lo, hi float64
	}{{0.1, 1001, 1.28, 1.23, 1.40}, {0.1, 101, 3.72, 3.39, 4.35}, {1, 1001, 4.24, 2.68, 4.90}, {1, 101, 23.30, 14.1, 25.0}} {
		got, err := lognormal.compare(c.n, c.eps, calibration("published"), o)
		if err != nil {
			return e, err
		}
		exact, err := lognormal.compare(c.n, c.eps, calibration("exact"), o)
		if err != nil {
			return e, err
		}
		e.facts = append(e.facts, within(fmt.Sprintf("ε = %g, n = %d, published β", c.eps, c.n), c.want, c.lo, c.hi, got.ratio),
			found(fmt.Sprintf("ε = %g, n = %d, exact β (over populations %s)", c.eps, c.n, percentRange(exact.lo, exact.hi)), fmt.Sprintf("%.3g", exact.ratio)))
	}
	e.agreement = allHold(e.facts) + " One population decides these figures, so they agree when ours lies in the range over 25 populations."
	return e, nil
}

// gainSizes are the samples that the gains are drawn for.
var gainSizes = []int64{101, 1001, 3001, 7001}

// medianGains draws by how much a sample beats the table, for both calibrations.
func medianGains(id, title, text string, p population, eps []float64, claim func(gains map[string]float64) []fact) func(options) (exhibit, error) {
	return func(o options) (exhibit, error) {
		e := exhibit{id: id, title: title, text: text +
			" Drawn is the mean squared error of the release from the full table over that of the release from the sample (noise and sampling error together): above 1 sampling wins.",
			alt: "Mean squared error of the full table's release over the sample's, against epsilon, for four sample sizes"}
		last := map[string]float64{} // the largest ε of the grid with a gain
		var each []fact
		for _, cal := range []string{"published", "exact"} {
			f := figure.New(figure.Axes{Title: cal + " calibration", X: "ε on the population", Y: "error of table / error of sample", LogX: true, LogY: true, LegendTop: true})
			for _, n := range gainSizes {
				var x, y []float64
				own := 0.0
				for _, at := range eps {
					c, err := p.compare(n, at, calibration(cal), o)
					if err != nil {
						// The published β is refused where it is not private enough (P13).
						e.facts = append(e.facts, found(fmt.Sprintf("%s β, n = %d, ε = %.3g", cal, n, at), "refused: not private enough"))
						continue
					}
					x, y = append(x, at), append(y, c.gain)
					// A gain on average over populations, not by a hair.
					if c.gain > 1.02 {
						last[cal], own = max(last[cal], at), at
					}
				}
				each = append(each, found(fmt.Sprintf("%s β, n = %d: where the sample gains", cal, n), lastGain(own)))
				f.Line(fmt.Sprintf("n = %d", n), x, y)
			}
			f.Rule("no gain, no loss", eps, constant(eps, 1))
			e.figures = append(e.figures, panel{id + "-" + cal, f})
		}
		e.facts = append(append(claim(last), each...), e.facts...)
		e.agreement = allHold(e.facts)
		e.agreement += fmt.Sprintf(" With the published calibration some sample gains %s, with the exact one %s", lastGain(last["published"]), lastGain(last["exact"]))
		if last["published"] == last["exact"] {
			e.agreement += ": the exact calibration does not change the conclusion."
		} else {
			e.agreement += ": the exact calibration makes the full table's noise smaller as well and moves the point from which sampling no longer helps."
		}
		return e, nil
	}
}

func lastGain(x float64) string {
	if x == 0 {
		return "nowhere on the grid"
	}
	return fmt.Sprintf("up to ε = %.3g", x)
}

// The grid on which the paper found its gains is not recorded: a gain at 0.1 and
// none at 1 is what can be compared.
func lognormalClaim(last map[string]float64) []fact {
	return []fact{
		{what: "published β: a gain at ε = 0.1 and none at ε = 1", stated: "gains for ε ≤ 0.1", ours: lastGain(last["published"]), known: true,
			holds: last["published"] >= 0.1 && last["published"] < 1},
	}
}

func bimodalClaim(last map[string]float64) []fact {
	return []fact{
		{what: "published β: a gain at ε = 3 and none at ε = 5", stated: "gains up to ε = 3", ours: lastGain(last["published"]), known: true,
			holds: last["published"] >= 3 && last["published"] < 5},
	}
}

func otherQuantiles(o options) (exhibit, error) {
	e := exhibit{id: "quantiles", title: "Quantiles other than the median (left open by the paper)",
		text: "Lognormal(5, 0.5), smooth sensitivity with exact calibration, n = 1,001. Same measure: above 1 sampling wins.",
		alt:  "Error of the full table over that of the sample against epsilon, for five quantiles"}
	f := figure.New(figure.Axes{X: "ε on the population", Y: "error of table / error of sample", LogX: true, LogY: true, LegendTop: true})
	eps := logs(0.02, 3, 9)
	least, most := 99.0, 0.0
	for _, q := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
		var y []float64
		last := 0.0
		for _, at := range eps {
			c, err := lognormal.compare(1001, at, map[string]any{"method": "smooth-laplace", "quantile": q}, o)
			if err != nil {
				return e, err
			}
			y = append(y, c.gain)
			if c.gain > 1.02 {
				last = at
			}
		}
		f.Line(fmt.Sprintf("quantile %g", q), eps, y)
		e.facts = append(e.facts, found(fmt.Sprintf("quantile %g: where the sample gains", q), lastGain(last)))
		least, most = min(least, last), max(most, last)
	}
	answer := fmt.Sprintf("As for the median: at small ε, for every quantile drawn up to between ε = %.3g and %.3g, and not above.", least, most)
	if least == most {
		answer = fmt.Sprintf("As for the median: at small ε, for every quantile drawn up to ε = %.3g on this grid, and not above.", most)
	}
	if least == 0 {
		answer = "Not for all of the quantiles drawn."
	}
	f.Rule("no gain, no loss", eps, constant(eps, 1))
	e.figures = []panel{{e.id, f}}
	e.agreement = "Nothing is stated to compare with. Does sampling help here? " + answer
	return e, nil
}
