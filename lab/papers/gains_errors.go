package main

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/dprelease/dprelease/lab/plot"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// The grid of Figures 8 and 13.
var (
	errorRates = []float64{0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	errorEps   = []float64{0.01, 0.1, 0.5, 1, 3, 5}
)

func sizeAt(rate float64) int64 { return int64(math.Round(rate * popSize)) }

// gains are the mean squared error of the full table over that of the best sample size, for
// each population, by ε; small is the same for the smallest rate alone.
type gains struct {
	best, small map[float64][]float64
	refused     []string
}

// wins counts the populations on which a sample gains by more than a fiftieth.
func wins(each []float64) int {
	n := 0
	for _, g := range each {
		if g > 1.02 {
			n++
		}
	}
	return n
}

// gain is the error of the full table over that of a sample.
func (p population) gain(column []float64, rate, eps float64, params func() map[string]any, times int, seed uint64) (float64, error) {
	truth := middle(column)
	full, err := p.runs(column, popSize, eps, params(), 1, 0)
	if err != nil {
		return 0, err
	}
	r, err := p.runs(column, sizeAt(rate), eps, params(), times, seed)
	if err != nil {
		return 0, err
	}
	return full.error(truth) / r.error(truth), nil
}

// known keeps what gains has found: Table 1 asks again for what the figures have drawn.
var known sync.Map

// gains looks at many populations, with some of the runs on each.
func (p population) gains(cal string) (gains, error) {
	once, _ := known.LoadOrStore(p.name+cal, sync.OnceValues(func() (gains, error) { return p.measured(cal) }))
	return once.(func() (gains, error))()
}

func (p population) measured(cal string) (gains, error) {
	g := gains{best: map[float64][]float64{}, small: map[float64][]float64{}}
	for _, eps := range errorEps {
		for k := range populations {
			column := p.column(k)
			best := 0.0
			for i, rate := range errorRates {
				x, err := p.gain(column, rate, eps, func() map[string]any { return calibration(cal) }, perPopulation, uint64(k))
				if err != nil {
					// The published β is refused where it is not private enough (P13).
					if k == 0 {
						g.refused = append(g.refused, fmt.Sprintf("ε = %g at the rate %g", eps, rate))
					}
					continue
				}
				best = math.Max(best, x)
				if i == 0 {
					g.small[eps] = append(g.small[eps], x)
				}
			}
			g.best[eps] = append(g.best[eps], best)
		}
	}
	return g, nil
}

// errorsAlong is Figure 8 or 13: the mean squared error along the rate.
func errorsAlong(number int, p population, stated func(g gains) []fact) func() (exhibit, error) {
	return func() (exhibit, error) {
		e := exhibit{id: fmt.Sprintf("gains-%d", number),
			title: fmt.Sprintf("Figure %d. log(MSE) of the median of %s against the sampling rate", number, p.name),
			text: fmt.Sprintf("The natural logarithm of the mean squared error over %d runs on one population, at the rates 0.01, 0.1, "+
				"0.2 … 0.9, and of the full table (a cross at rate 1). Noise enters by its variance, so "+
				"only the draws are random. First with the published β, then with the exact one. The table counts over %d populations, "+
				"with %d runs on each: a gain is an error that is smaller than "+
				"the full table's by more than a fiftieth at some rate.", repetitions, populations, perPopulation),
			alt: "One line for each epsilon, with a cross for the full table at the right end"}
		column := p.column(0)
		truth := middle(column)
		for _, cal := range betas {
			f := plot.New(plot.Axes{Title: cal + " β", X: "sampling rate n/N", Y: "log(MSE)"})
			var full []float64
			for _, eps := range errorEps {
				var x, y []float64
				for _, rate := range errorRates {
					r, err := p.runs(column, sizeAt(rate), eps, calibration(cal), repetitions, 8)
					if err != nil {
						continue // refused; the facts say so
					}
					x, y = append(x, rate), append(y, math.Log(r.error(truth)))
				}
				r, err := p.runs(column, popSize, eps, calibration(cal), 1, 0)
				if err != nil {
					return e, err
				}
				full = append(full, math.Log(r.error(truth)))
				f.Line(fmt.Sprintf("ε = %g", eps), x, y)
			}
			f.Crosses("full table", constant(full, 1), full)
			f.Range("x", 0, 1.45) // room for the legend
			e.figures = append(e.figures, panel{e.id + "-" + cal, f})
			g, err := p.gains(cal)
			if err != nil {
				return e, err
			}
			if cal == "published" {
				e.facts = append(e.facts, stated(g)...)
			} else {
				var all []string
				for _, eps := range errorEps {
					all = append(all, fmt.Sprintf("%d at ε = %g", wins(g.best[eps]), eps))
				}
				e.facts = append(e.facts, found(fmt.Sprintf("exact β: populations of %d with a gain", populations), strings.Join(all, ", ")))
			}
			if len(g.refused) > 0 {
				e.facts = append(e.facts, found(cal+" β is refused, because it is not private enough (P13)", strings.Join(g.refused, "; ")))
			}
		}
		return e, nil
	}
}

// most says on how many populations a finding holds, and by how much a sample gains in the
// middle one; a finding agrees when it holds on most of them.
func most(what, stated string, holds int, each []float64) fact {
	return claim(what, stated, 2*holds > len(each), fmt.Sprintf("in %d of %d populations (gain × %.3g)", holds, len(each), medianOf(each)))
}

func lognormalErrors(g gains) []fact {
	var out []fact
	for _, eps := range []float64{0.01, 0.1} {
		out = append(out, most(fmt.Sprintf("ε = %g", eps), "a gain", wins(g.best[eps]), g.best[eps]))
	}
	worse := 0
	for _, x := range g.small[0.5] {
		if x < 1 {
			worse++
		}
	}
	out = append(out, most("ε = 0.5, rates below 10 %", "worse", worse, g.small[0.5]))
	for _, eps := range []float64{0.5, 1, 3, 5} {
		out = append(out, most(fmt.Sprintf("ε = %g", eps), "no gain", len(g.best[eps])-wins(g.best[eps]), g.best[eps]))
	}
	return out
}

func bimodalErrors(g gains) []fact {
	var out []fact
	for _, eps := range []float64{0.01, 0.1, 0.5, 1, 3} {
		out = append(out, most(fmt.Sprintf("ε = %g", eps), "a gain", wins(g.best[eps]), g.best[eps]))
	}
	return append(out, most("ε = 5", "no gain", len(g.best[5])-wins(g.best[5]), g.best[5]))
}

// globalRule counts the points at which the rule for the global sensitivity decides right, all points, and those
// at which sampling gains. With the same Δ on the sample and on the table the errors are 2Δ²/ε² and V + 2Δ²/ε_n².
func globalRule() (agree, all, gained int, err error) {
	for _, p := range []population{beta, lognormal, bimodal} {
		column := p.column(0)
		truth := middle(column)
		for _, n := range sampleSizes {
			r, err := p.runs(column, n, 1, calibration("exact"), repetitions, 12)
			if err != nil {
				return 0, 0, 0, err
			}
			v := 0.0
			for _, x := range r.values {
				v += (x - truth) * (x - truth) / float64(len(r.values))
			}
			for _, eps := range errorEps {
				on := amplify.SampleEpsilon(float64(n)/popSize, eps)
				delta2 := p.upper * p.upper
				full, part := 2*delta2/(eps*eps), v+2*delta2/(on*on)
				none := v >= 2*delta2*(1/(eps*eps)-1/(on*on))
				all++
				if none == (part >= full) {
					agree++
				}
				if part < full {
					gained++
				}
			}
		}
	}
	return agree, all, gained, nil
}

// gainsTable is Table 1.
func gainsTable() (exhibit, error) {
	e := exhibit{id: "gains-table", title: "Table 1. When does sampling gain?",
		text: "Each row is a statement of the paper; the last column says what we find. V is the variance of the statistic over samples, " +
			"Δ the sensitivity."}
	var b strings.Builder
	b.WriteString("| parameter | distribution | sensitivity | definition | conclusion | ours | |\n|---|---|---|---|---|---|---|\n")
	row := func(parameter, distribution, sensitivity, definition, conclusion, ours string, holds bool) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", parameter, distribution, sensitivity, definition, conclusion, ours,
			map[bool]string{true: "agrees", false: "**refuted**"}[holds])
		e.facts = append(e.facts, claim(parameter, conclusion, holds, ours))
	}
	agree, all, gained, err := globalRule()
	if err != nil {
		return e, err
	}
	row("any", "any", "global", "ε", "no gain where V ≥ 2Δ²(ε⁻² − ε_n⁻²)",
		fmt.Sprintf("for the median, three columns and two sizes: the rule decides right at %d of %d points, and %d of them gain", agree, all,
			gained), agree == all)
	top := 0.0
	for _, eps := range logs(0.001, 8, 60) {
		for _, q := range logs(0.0005, 0.999, 60) {
			top = max(top, amplify.Efficiency(q, eps))
		}
	}
	row("mean", "any", "global", "ε", "no gains",
		fmt.Sprintf("noise of the full table over that of the sample: below 1 by at least %.1g", 1-top), top < 1)
	for _, c := range []struct {
		p          population
		law        string
		yes, no    []float64
		conclusion string
	}{
		{p: lognormal, law: "Lognormal(5, 0.5)", yes: []float64{0.01, 0.1}, no: []float64{1, 3, 5}, conclusion: "gains for ε ≤ 0.1"},
		{p: bimodal, law: "mixture of scaled and shifted betas", yes: []float64{0.1, 1, 3}, no: []float64{5}, conclusion: "gains for ε ≤ 3"},
	} {
		var said []string
		holds := true
		for _, cal := range betas {
			g, err := c.p.gains(cal)
			if err != nil {
				return e, err
			}
			last := 0.0
			for _, eps := range errorEps {
				if 2*wins(g.best[eps]) > len(g.best[eps]) {
					last = eps
				}
			}
			said = append(said, fmt.Sprintf("%s β: on most populations up to ε = %g", cal, last))
			if cal == "published" {
				for _, eps := range c.yes {
					holds = holds && last >= eps
				}
				for _, eps := range c.no {
					holds = holds && last < eps
				}
			}
		}
		row("median", c.law, "smooth", "(ε, δ)", c.conclusion, strings.Join(said, "; "), holds)
	}
	e.table = b.String()
	e.agreement = "With the global sensitivity of a median sampling gains often, because that noise is far larger than any sampling " +
		"error: the paper's mean has a sensitivity that grows as 1/n, a median with global sensitivity has not."
	e.facts = nil
	return e, nil
}
