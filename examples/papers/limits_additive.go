package main

import (
	"fmt"

	"github.com/dprelease/dprelease/internal/figure"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

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
