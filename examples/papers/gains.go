package main

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/dprelease/dprelease/internal/figure"
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
	return privacy.SampleBudget(privacy.WithoutReplacement{Take: n, Of: popSize}, privacy.ReplaceOne, privacy.Point{Epsilon: eps, Delta: delta})
}

func gainsBudget(options) (exhibit, error) {
	e := exhibit{id: "gains-budget", title: "What the sample may spend",
		text: "ε_n against the sampling rate, for a fixed ε on the population of N = 10,001 (simple random sampling without replacement, replace-one).",
		alt:  "epsilon on the sample falls to epsilon on the population as the rate grows to 1"}
	f := figure.New(figure.Axes{X: "sampling rate n/N", Y: "ε_n on the sample", LogX: true, LegendTop: true})
	q := logs(0.001, 1, 150)
	for _, eps := range []float64{3, 1, 0.5, 0.1} {
		f.Line(fmt.Sprintf("ε = %g", eps), q, apply(q, func(q float64) float64 { return amplify.SampleEpsilon(q, eps) }))
	}
	e.figures = []panel{{e.id, f}}
	small, err := onSample(101, 0.1)
	if err != nil {
		return e, err
	}
	large, err := onSample(101, 1)
	if err != nil {
		return e, err
	}
	e.facts = []fact{
		stated("ε_n at ε = 1, n/N = 1 %", 5.15, amplify.SampleEpsilon(0.01, 1), 0.005),
		stated("ε_n at ε = 0.1, n = 101", 2.43, small.Epsilon, 0.005),
		stated("ε_n at ε = 1, n = 101", 5.14, large.Epsilon, 0.005),
	}
	e.agreement = allHold(e.facts)
	return e, nil
}

// saving is q = 1 − ε²/ε_n²: how much smaller the variance of noise of equal
// sensitivity is on the sample.
func saving(rate, eps float64) float64 {
	e := amplify.SampleEpsilon(rate, eps)
	return 1 - eps*eps/(e*e)
}

func gainsSaving(options) (exhibit, error) {
	e := exhibit{id: "gains-saving", title: "The saving q = 1 − ε²/ε_n² against the rate",
		text: "By which share the noise variance of a query falls on the sample, if its sensitivity stayed the same as on the population.",
		alt:  "The saving falls from 1 to 0 as the rate grows, later for large epsilon"}
	f := figure.New(figure.Axes{X: "sampling rate n/N", Y: "q", LegendTop: true})
	rate := make([]float64, 200)
	for i := range rate {
		rate[i] = float64(i+1) / 200
	}
	for _, eps := range []float64{0.1, 1, 3} {
		f.Line(fmt.Sprintf("ε = %g", eps), rate, apply(rate, func(r float64) float64 { return saving(r, eps) }))
	}
	f.Rule("q = 0.6", rate, constant(rate, 0.6))
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	solve := func(eps float64) float64 {
		i := sort.Search(1_000_000, func(i int) bool { return saving(float64(i+1)/1e6, eps) <= 0.6 })
		return float64(i+1) / 1e4 // per cent
	}
	e.facts = []fact{
		stated("rate at which q = 0.6, ε = 3, in %", 16.77, solve(3), 0.006),
		stated("rate at which q = 0.6, ε = 0.1, in %", 61.4, solve(0.1), 0.06),
	}
	e.agreement = allHold(e.facts)
	return e, nil
}

// naiveRatio is r(ε, n/N) of P18 as the formula reads.
func naiveRatio(eps, rate float64) float64 {
	x := rate * math.Log(1+(math.Exp(eps)-1)/rate) / eps
	return x * x
}

func gainsFigure5(options) (exhibit, error) {
	e := exhibit{id: "gains-figure5", title: "Figure 5, both ways",
		text: "r(ε, n/N) = ((n/N)·log(1 + (N/n)(e^ε − 1))/ε)² is the noise variance of the full mean over that of the sampled mean. The paper draws the ε " +
			"at which r = 1. Left out of sight by plain floating point: x ↦ log(1 + x(e^ε − 1)) is concave, so r < 1 for **every** ε > 0 and n < N. " +
			"Computed as the formula reads, e^ε − 1 keeps only the digits of e^ε that lie above 1, so that at small ε the result is 1 plus or minus rounding " +
			"noise, and a root finder stops where the noise happens to cross 1. The first panel draws 1 − r with expm1 and log1p, and as the formula reads; " +
			"the second the largest ε at which the plain formula says r ≥ 1, for each rate.",
		alt: "Computed exactly, 1 minus r is a straight rising line; the plain formula follows it down to about 1e-8 and then scatters"}
	f := figure.New(figure.Axes{X: "ε", Y: "1 − r at n/N = 10 %", LogX: true, LogY: true, LegendLeft: true, LegendTop: true})
	eps := logs(1e-12, 1, 600)
	const rate = 0.1
	f.Line("with expm1 and log1p", eps, apply(eps, func(x float64) float64 { return gap(x, rate) }))
	f.Points("as the formula reads (where above 0)", eps, apply(eps, func(x float64) float64 { return 1 - naiveRatio(x, rate) }))
	g := figure.New(figure.Axes{X: "sampling rate n/N", Y: "largest ε with r ≥ 1", LogX: true, LogY: true})
	rates := logs(0.001, 0.9999, 120)
	crossing := apply(rates, naiveCrossing)
	g.Points("as the formula reads", rates, crossing)
	e.figures = []panel{{e.id, f}, {e.id + "-crossing", g}}
	exact := 0
	for _, q := range rates {
		for _, x := range eps {
			if !(gap(x, q) > 0) {
				exact++
			}
		}
	}
	lo, hi := math.Inf(1), 0.0
	for _, c := range crossing {
		if c > 0 {
			lo, hi = min(lo, c), max(hi, c)
		}
	}
	e.facts = []fact{
		{what: "ε where the noise is equal (plain formula)", stated: "2e-9 … 3e-4", ours: fmt.Sprintf("%.0e … %.0e", lo, hi)},
		{what: "points with r ≥ 1, computed exactly", stated: "none can exist (P18)", ours: fmt.Sprintf("%d of %d", exact, len(rates)*len(eps)), known: true, holds: exact == 0},
	}
	e.agreement = "The crossing of the published figure is rounding error: it lies where the plain formula has no digits left, and its exact place depends on the " +
		"computer's last bits and on the root finder, so the two ranges overlap and no closer agreement can be asked for. There is no ε at which a sampled mean has as little noise as the full one."
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
	for _, x := range logs(1e-1, 1e-13, 6000) {
		if naiveRatio(x, rate) >= 1 {
			return x
		}
	}
	return 0
}

// gainsTable puts the findings on the median side by side: what the sample may spend,
// and what becomes of its smooth sensitivity and of the error.
func gainsTable(o options) (exhibit, error) {
	e := exhibit{id: "gains-table", title: "What sampling does to the median, in one table",
		text: "Lognormal(5, 0.5), clipped to [0, 10,000]. S is the smooth sensitivity, sample over population (medians over draws, then over populations); gain is the mean squared " +
			"error of the full table's release over that of the sample's: above 1 sampling wins. With the published β, then with the exact one (P13)."}
	var b strings.Builder
	b.WriteString("| ε | n | ε_n | δ_n | S, published β | S, exact β | gain, published β | gain, exact β |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	gains := map[float64]bool{}
	for _, eps := range []float64{0.1, 1, 3} {
		for _, n := range []int64{101, 1001} {
			on, err := onSample(n, eps)
			if err != nil {
				return e, err
			}
			published, err := lognormal.compare(n, eps, calibration("published"), o)
			if err != nil {
				return e, err
			}
			exact, err := lognormal.compare(n, eps, calibration("exact"), o)
			if err != nil {
				return e, err
			}
			gains[eps] = gains[eps] || published.gain > 1.02
			fmt.Fprintf(&b, "| %g | %d | %.4g | %.3g | %.3g | %.3g | %.3g | %.3g |\n", eps, n, on.Epsilon, on.Delta, published.ratio, exact.ratio, published.gain, exact.gain)
		}
	}
	e.table = b.String()
	yes := map[bool]string{true: "a gain", false: "no gain"}
	e.facts = []fact{
		{what: "published β, ε = 0.1", stated: "gains for ε ≤ 0.1", ours: yes[gains[0.1]], known: true, holds: gains[0.1]},
		{what: "published β, ε = 1", stated: "no gain above", ours: yes[gains[1]], known: true, holds: !gains[1]},
		{what: "published β, ε = 3", stated: "no gain above", ours: yes[gains[3]], known: true, holds: !gains[3]},
	}
	e.agreement = allHold(e.facts) + " The sample's larger ε_n allows a larger β, but its smooth sensitivity grows faster; only at small ε does the budget win."
	return e, nil
}
