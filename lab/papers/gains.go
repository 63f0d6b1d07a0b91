package main

import (
	"fmt"
	"math"
	"sort"

	"github.com/dprelease/dprelease/lab/plot"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// The paper's setting.
const (
	popSize = 10001
	delta   = 1 / (2.0 * popSize)
)

// onSample returns the budget that a simple random sample of n may spend.
func onSample(n int64, eps float64) (privacy.Point, error) {
	if n >= popSize {
		return privacy.Point{Epsilon: eps, Delta: delta}, nil
	}
	return privacy.SampleBudget(privacy.WithoutReplacement{Take: n, Of: popSize}, privacy.ReplaceOne,
		privacy.Point{Epsilon: eps, Delta: delta})
}

func gainsBudget() (exhibit, error) {
	e := exhibit{id: "gains-3", title: "Figure 3. ε_n against the sampling rate",
		text: "What the sample may spend, ε_n = log(1 + (N/n)(e^ε − 1)).",
		alt:  "epsilon on the sample falls to epsilon on the population as the rate grows to 1"}
	f := plot.New(plot.Axes{X: "sampling rate n/N", Y: "ε_n on the sample"})
	q := logs(0.001, 1, 300)
	for _, eps := range []float64{1, 0.5, 0.1} {
		f.Line(fmt.Sprintf("ε = %g", eps), q, apply(q, func(q float64) float64 { return amplify.SampleEpsilon(q, eps) }))
	}
	f.Range("x", 0, 1)
	f.Range("y", 0, 8)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{stated("ε_n at ε = 1, n/N = 1 %", 5.15, amplify.SampleEpsilon(0.01, 1), 0.005)}
	for _, c := range []struct{ eps, want float64 }{{0.1, 2.43}, {1, 5.14}} {
		on, err := onSample(101, c.eps)
		if err != nil {
			return e, err
		}
		e.facts = append(e.facts, stated(fmt.Sprintf("ε_n at ε = %g, n = 101", c.eps), c.want, on.Epsilon, 0.005))
	}
	return e, nil
}

// saving is q = 1 − ε²/ε_n²: how much smaller the variance of noise of equal
// sensitivity is on the sample.
func saving(rate, eps float64) float64 {
	e := amplify.SampleEpsilon(rate, eps)
	return 1 - eps*eps/(e*e)
}

func gainsSaving() (exhibit, error) {
	e := exhibit{id: "gains-4", title: "Figure 4. The saving q = 1 − ε²/ε_n² against the sampling rate",
		text: "By which share the variance of the noise falls on the sample, if the sensitivity of the query stays the same.",
		alt:  "The saving falls from 1 to 0 as the rate grows, later for small epsilon"}
	f := plot.New(plot.Axes{X: "sampling rate n/N", Y: "q"})
	rate := steps(0, 1, 400)[1:]
	for _, eps := range []float64{0.01, 0.1, 0.5, 1, 3} {
		f.Line(fmt.Sprintf("ε = %g", eps), rate, apply(rate, func(r float64) float64 { return saving(r, eps) }))
	}
	f.Rule("q = 0.6", rate, constant(rate, 0.6))
	f.Range("x", 0, 1)
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	solve := func(eps float64) float64 {
		i := sort.Search(1_000_000, func(i int) bool { return saving(float64(i+1)/1e6, eps) <= 0.6 })
		return float64(i+1) / 1e4 // per cent
	}
	moves := 0.0
	for _, r := range rate {
		moves = max(moves, math.Abs(saving(r, 0.1)-saving(r, 1e-4)))
	}
	e.facts = []fact{
		stated("rate at which q = 0.6, ε = 3, in %", 16.77, solve(3), 0.006),
		stated("rate at which q = 0.6, ε = 0.1, in %", 61.4, solve(0.1), 0.06),
		claim("how far the curve moves below ε = 0.1", "hardly", moves < 0.05, fmt.Sprintf("by at most %.3f", moves)),
	}
	return e, nil
}

// naiveRatio is r(ε, n/N) of P18 as the formula reads.
func naiveRatio(eps, rate float64) float64 {
	x := rate * math.Log(1+(math.Exp(eps)-1)/rate) / eps
	return x * x
}

func gainsFigure5() (exhibit, error) {
	e := exhibit{id: "gains-5", title: "Figure 5. The ε at which sampling costs nothing",
		text: "r(ε, n/N) = ((n/N)·log(1 + (N/n)(e^ε − 1))/ε)² is the noise variance of the full mean over that of the sampled mean. " +
			"The paper draws log ε and log ε_n at which r = 1. " +
			"There is no such ε: x ↦ log(1 + x(e^ε − 1)) is concave, so r < 1 for **every** ε > 0 and n < N. Computed as the formula reads, " +
			"e^ε − 1 keeps only the digits of e^ε " +
			"that lie above 1, so at small ε the result is 1 plus or minus rounding error, and a root finder stops where the error happens to " +
			"cross 1. The dots are the largest such ε " +
			"for each rate. The second picture shows 1 − r at a rate of 10 %, with expm1 and log1p and as the formula reads.",
		alt: "Dots scattered along the rate, from rounding error alone; computed exactly, 1 minus r is a straight rising line without a crossing"}
	rates := logs(1e-4, 0.9999, 120)
	crossing := apply(rates, naiveCrossing)
	onRate := make([]float64, len(rates))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, q := range rates {
		onRate[i] = math.Log(amplify.SampleEpsilon(q, crossing[i]))
		lo, hi = min(lo, math.Log(crossing[i])), max(hi, math.Log(crossing[i]))
	}
	left := plot.New(plot.Axes{X: "sampling rate n/N", Y: "log ε at which r = 1", LogX: true})
	left.Points("", rates, apply(crossing, math.Log))
	right := plot.New(plot.Axes{X: "sampling rate n/N", Y: "log ε_n at which r = 1", LogX: true})
	right.Points("", rates, onRate)
	f := plot.New(plot.Axes{X: "ε", Y: "1 − r at n/N = 10 %", LogX: true, LogY: true})
	eps := logs(1e-12, 1, 600)
	f.Line("with expm1 and log1p", eps, apply(eps, func(x float64) float64 { return gap(x, 0.1) }))
	f.Points("as the formula reads (where above 0)", eps, apply(eps, func(x float64) float64 { return 1 - naiveRatio(x, 0.1) }))
	e.figures = []panel{{e.id, plot.Row{left, right}}, {e.id + "-exact", f}}
	exact := 0
	for _, q := range rates {
		for _, x := range eps {
			if !(gap(x, q) > 0) {
				exact++
			}
		}
	}
	small := amplify.SampleEpsilon(rates[0], crossing[0])
	e.facts = []fact{
		claim("points with r ≥ 1, computed exactly", "one for each rate", exact > 0, fmt.Sprintf("%d of %d", exact, len(rates)*len(eps))),
		{what: "log ε of the dots, by the plain formula", stated: "−20 to −8", ours: fmt.Sprintf("%.1f to %.1f", lo, hi)},
		claim("ε_n at the rate 0.0001, by the plain formula", "below 1.66e-6", small < 1.66e-6, fmt.Sprintf("%.2g", small)),
	}
	e.agreement = "Refuted: the dots are rounding error. They lie where the plain formula has no digits left, so their place depends on " +
		"the computer's last bits and on the root finder's " +
		"tolerance, and no closer agreement can be asked for. There is no ε at which a sampled mean has as little noise as the full one."
	return e, nil
}

// gap is 1 − r without cancellation: with y = (n/N)·log1p(expm1(ε)/(n/N)), it is
// (1 − y/ε)(1 + y/ε), and ε − y comes from a series where ε is small.
func gap(eps, rate float64) float64 {
	z := math.Expm1(eps) / rate
	y := rate * math.Log1p(z)
	d := eps - y
	if z < 1e-4 {
		// ε = log1p(qz), so ε − y = Σ_k (−1)^{k+1} z^k (q^k − q)/k.
		d = 0
		for k := 6; k >= 2; k-- {
			term := math.Pow(z, float64(k)) * (math.Pow(rate, float64(k)) - rate) / float64(k)
			if k%2 == 0 {
				term = -term
			}
			d += term
		}
	}
	return d / eps * (1 + y/eps)
}

// naiveCrossing is the largest ε of a fine grid at which the plain formula claims
// r ≥ 1.
func naiveCrossing(rate float64) float64 {
	for _, x := range logs(1e-2, 1e-13, 6000) {
		if naiveRatio(x, rate) >= 1 {
			return x
		}
	}
	return 0
}
