package main

import (
	"fmt"

	"github.com/dprelease/dprelease/internal/figure"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

func limitsByRate(options) (exhibit, error) {
	e := exhibit{id: "limits-rate", title: "The ratio p·ε_p/ε against the rate",
		text: "ε_p = log(1 + (e^ε − 1)/p) is what a sample at rate p may spend. A sum over the sample needs noise that is ε/(p·ε_p) times that of the full table.",
		alt:  "For each epsilon the ratio falls from 1 at rate 1 towards 0 as the rate falls, the earlier the larger epsilon is"}
	f := figure.New(figure.Axes{X: "sampling rate p", Y: "p·ε_p / ε", LogX: true, LegendLeft: true, LegendTop: true})
	p := logs(1e-4, 1, 200)
	top := 0.0
	for _, eps := range []float64{0.01, 0.1, 1, 3, 8} {
		y := apply(p, func(p float64) float64 { return amplify.Efficiency(p, eps) })
		for _, v := range y[:len(y)-1] {
			top = max(top, v)
		}
		f.Line(fmt.Sprintf("ε = %g", eps), p, y)
	}
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{
		{what: "largest ratio at a rate below 1", stated: "below 1", ours: fmt.Sprintf("%.6f", top), holds: top < 1, known: true},
		found("ratio at ε = 1, p = 1 % (19 times the noise)", fmt.Sprintf("%.4f", amplify.Efficiency(0.01, 1))),
	}
	e.agreement = "The ratio never reaches 1: sampling never pays for itself in a sum. " + allHold(e.facts)
	return e, nil
}

func limitsByEpsilon(options) (exhibit, error) {
	e := exhibit{id: "limits-epsilon", title: "The ratio p·ε_p/ε against ε",
		text: "The same ratio along ε. Sampling is nearly free while ε is at most about p.",
		alt:  "For each rate the ratio is 1 at small epsilon, falls around epsilon equal to the rate, and ends at the rate"}
	f := figure.New(figure.Axes{X: "ε on the population", Y: "p·ε_p / ε", LogX: true, LegendTop: true})
	eps := logs(1e-4, 20, 200)
	monotone := true
	for _, p := range []float64{0.001, 0.01, 0.1, 0.5} {
		y := apply(eps, func(e float64) float64 { return amplify.Efficiency(p, e) })
		for i := 1; i < len(y); i++ {
			monotone = monotone && y[i] <= y[i-1]*(1+1e-12)
		}
		f.Line(fmt.Sprintf("p = %g", p), eps, y)
	}
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{{what: "falls with ε at every rate", stated: "yes", ours: fmt.Sprint(map[bool]string{true: "yes", false: "no"}[monotone]), holds: monotone, known: true}}
	e.agreement = allHold(e.facts)
	return e, nil
}

func limitsProportional(options) (exhibit, error) {
	e := exhibit{id: "limits-proportional", title: "ε in proportion to the rate: ε = c·p, and the limit log(1+c)/c",
		text: "If ε shrinks with the rate, the ratio tends to log(1+c)/c (grey) as p → 0 and never falls below it.",
		alt:  "For each c the ratio approaches its limit log(1+c)/c from above as the rate falls"}
	f := figure.New(figure.Axes{X: "sampling rate p", Y: "p·ε_p / ε at ε = c·p", LogX: true, LegendLeft: true, LegendTop: true})
	p := logs(1e-6, 1, 200)
	name := "limit log(1+c)/c"
	for _, c := range []float64{0.1, 1, 3, 10} {
		limit := amplify.EfficiencyBound(c)
		y := apply(p, func(p float64) float64 { return amplify.Efficiency(p, c*p) })
		f.Line(fmt.Sprintf("c = %g", c), p, y)
		f.Rule(name, p, constant(p, limit))
		name = ""
		worst := 1.0
		for _, v := range y {
			worst = min(worst, v/limit)
		}
		far := y[0]
		e.facts = append(e.facts, fact{what: fmt.Sprintf("c = %g, p = 1e-6", c), stated: fmt.Sprintf("log(1+c)/c = %.6f", limit), ours: fmt.Sprintf("%.6f", far),
			holds: worst > 1-1e-9 && far/limit-1 < 1e-4, known: true})
	}
	f.Range("y", 0, 1.5)
	e.figures = []panel{{e.id, f}}
	e.agreement = allHold(e.facts) + " No point lies below its limit."
	return e, nil
}

// limitsAdditive leaves the paper's setting: Poisson sampling under replace-one, and
// noise that is added to a centred sum.
func limitsAdditive(options) (exhibit, error) {
	e := exhibit{id: "limits-additive", title: "Where the limit does not hold: added noise, Poisson, replace-one (left open by the paper)",
		text: "Under replace-one a Poisson sample may miss the record whose value changes. Noise that is added to a centred sum makes its arrival cost half of what its " +
			"replacement does, and the sample may spend more than ε_p (privacy/additive.proof.md). Drawn is the same ratio with that budget.",
		alt: "For each epsilon the ratio rises with the rate, passes 1 at the rate one half, and returns to 1 at rate 1"}
	f := figure.New(figure.Axes{X: "sampling rate p", Y: "p·ε_sample / ε", LegendLeft: true, LegendTop: true})
	p := make([]float64, 199)
	for i := range p {
		p[i] = float64(i+1) / 200
	}
	below, above := true, true
	for _, eps := range []float64{0.1, 1, 3, 8} {
		var y []float64
		for _, q := range p {
			b, err := privacy.SampleBudgetAdditive(privacy.Poisson{Rate: q}, privacy.ReplaceOne, privacy.Point{Epsilon: eps}, 0.5)
			if err != nil {
				return e, err
			}
			ratio := q * b.Epsilon / eps
			y = append(y, ratio)
			below = below && (q > 0.5 || ratio <= 1+1e-12)
			above = above && (q <= 0.5 || ratio > 1)
		}
		f.Line(fmt.Sprintf("ε = %g", eps), p, y)
	}
	f.Rule("ε = 1, any mechanism", p, apply(p, func(q float64) float64 { return amplify.Efficiency(q, 1) }))
	f.Range("y", 0, 2)
	e.figures = []panel{{e.id, f}}
	yes := map[bool]string{true: "yes", false: "no"}
	e.facts = []fact{found("at most 1 at every rate up to ½", yes[below]), found("above 1 at every rate above ½", yes[above])}
	e.agreement = "Nothing is stated to compare with. At rates above ½ the noise of a sampled total is smaller than the full table's: there is a gain in noise, against which the sampling error stands."
	return e, nil
}
