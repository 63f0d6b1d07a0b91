package main

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/lab/plot"
	"github.com/dprelease/dprelease/privacy/amplify"
	"github.com/dprelease/dprelease/privacy/iterate"
	"github.com/dprelease/dprelease/privacy/shuffle"
)

func lectureResponse() (exhibit, error) {
	e := exhibit{id: "lecture-response", title: "Subsampled randomized response",
		text: "Each user is drawn with probability q and then answers a yes-no question by randomized response with ε0; " +
			"who is not drawn answers with a fair coin, so that the draw " +
			"stays secret. The true ratio of the answers' probabilities is drawn as marks, the amplification rule log(1 + q(e^ε0 − 1)) as lines.",
		alt: "The true epsilon lies on or below the rule's line for each rate"}
	f := plot.New(plot.Axes{X: "ε0 on the sample", Y: "ε on the population"})
	x := make([]float64, 61)
	for i := range x {
		x[i] = float64(i) / 10
	}
	var few []float64
	for i := 2; i < len(x); i += 6 {
		few = append(few, x[i])
	}
	worst, truth := 0.0, map[float64][]float64{}
	for _, q := range []float64{1, 0.5, 0.1, 0.01} {
		f.Line(fmt.Sprintf("q = %g", q), x, apply(x, func(e0 float64) float64 { return math.Log1p(q * math.Expm1(e0)) }))
		truth[q] = apply(few, func(e0 float64) float64 { return subsampledResponse(q, e0) })
		for i, e0 := range few {
			worst = max(worst, truth[q][i]/amplify.Epsilon(q, e0))
		}
	}
	name := "true ε, fair coin for the others"
	for _, q := range []float64{1, 0.5, 0.1, 0.01} {
		g := name
		f.Marks(g, few, truth[q])
		name = ""
	}
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{claim("largest true ε over the rule's", "at most 1", worst <= 1+1e-12, fmt.Sprintf("%.4f", worst))}
	e.agreement = "The rule holds for any mechanism; this one is more private than that, because a fair coin hides both answers."
	return e, nil
}

// subsampledResponse is the exact ε of one answer: yes is said with probability
// q·p + (1−q)/2 or q·(1−p) + (1−q)/2.
func subsampledResponse(q, eps0 float64) float64 {
	p := 1 / (1 + math.Exp(-eps0))
	return math.Log((q*p + (1-q)/2) / (q*(1-p) + (1-q)/2))
}

func lectureShuffle() (exhibit, error) {
	e := exhibit{id: "lecture-shuffle", title: "Shuffling: the 1/√n rate",
		text: "n users with ε0 = 1, δ = 1e-6: the closed form of “Hiding among the clones”, its numeric bound (any randomizer), " +
			"and the privacy blanket's exact sum for binary randomized response. " +
			"The grey line falls as 1/√n; at a fixed δ the bounds fall a little faster, because log(1/(δ√n)) falls too.",
		alt: "All three bounds fall in parallel with the line of slope minus one half"}
	f := plot.New(plot.Axes{X: "users n", Y: "ε after shuffling", LogX: true, LogY: true})
	n := []float64{300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000}
	var closed, numeric, blanket []float64
	for _, x := range n {
		c, err := shuffle.ClosedForm(int64(x), 1, 1e-6)
		if err != nil {
			c = math.NaN() // the theorem does not apply to so few users
		}
		a, err := shuffle.Epsilon(int64(x), 1, 1e-6)
		if err != nil {
			return e, err
		}
		b, err := shuffle.ResponseEpsilon(int64(x), 2, 1, 1e-6)
		if err != nil {
			return e, err
		}
		closed, numeric, blanket = append(closed, c), append(numeric, a.Upper), append(blanket, b.Upper)
	}
	f.Line("closed form", n, closed)
	f.Line("numeric, any randomizer", n, numeric)
	f.Line("exact blanket, k = 2", n, blanket)
	f.Rule("1/√n", n, apply(n, func(x float64) float64 { return numeric[5] * math.Sqrt(1e5/x) }))
	e.figures = []panel{{e.id, f}}
	v, err := shuffle.Epsilon(100_000, 4, 1e-6)
	if err != nil {
		return e, err
	}
	c, err := shuffle.ClosedForm(100_000, 4, 1e-6)
	if err != nil {
		return e, err
	}
	// At a fixed δ the curve is a little steeper than 1/√n; at δ ∝ 1/√n it is not.
	more, err := shuffle.Epsilon(10_000_000, 1, 1e-6/math.Sqrt(10))
	if err != nil {
		return e, err
	}
	slope := math.Log(more.Upper/numeric[7]) / math.Log(10)
	e.facts = []fact{
		claim("numeric, n = 1e5, ε0 = 4, δ = 1e-6", "in [0.1675, 0.1728]", v.Upper >= 0.1675 && v.Upper <= 0.1728, fmt.Sprintf("%.4f", v.Upper)),
		stated("closed form for the same", 0.5378, c, 0.00006),
		claim("slope of log ε against log n, 1e6 to 1e7, with δ in proportion to 1/√n", "−1/2", math.Abs(slope+0.5) < 0.03,
			fmt.Sprintf("%.3f", slope)),
	}
	return e, nil
}

func lectureIteration() (exhibit, error) {
	e := exhibit{id: "lecture-iteration", title: "Iteration: privacy stops growing with T",
		text: "Full-batch noisy gradient descent, only the last iterate released (P9): μ of Gaussian differential privacy against " +
			"the number of steps. " +
			"Strongly convex with L/(nσ) = 0.1 and contraction c = 0.99; convex on a set of diameter 1 with L/n = 0.5, step 0.1, σ = 8. " +
			"Publishing every iterate costs L/(nσ)·√T.",
		alt: "The composition curves grow without end, the last iterate's curves level off"}
	f := plot.New(plot.Axes{X: "steps T", Y: "μ", LogX: true, LogY: true})
	strong := iterate.Params{Kind: iterate.FullStronglyConvex, Sensitivity: 10, Sigma: 2, N: 50, Eta: 0.1, StrongConvexity: 0.1,
		Smoothness: 10}
	convex := iterate.Params{Kind: iterate.FullConvex, Sensitivity: 50, Sigma: 8, N: 100, Eta: 0.1, Smoothness: 10, Diameter: 1}
	var at100, flat float64
	for _, c := range []struct {
		name string
		p    iterate.Params
	}{{"strongly convex", strong}, {"convex, confined", convex}} {
		var x, last, every []float64
		for _, t := range logs(1, 1e6, 61) {
			p := c.p
			p.Steps = int64(math.Round(t))
			all, err := iterate.Composition(p)
			if err != nil {
				return e, err
			}
			mu, _, err := iterate.Best(p)
			if err != nil {
				return e, err
			}
			x, last, every = append(x, float64(p.Steps)), append(last, mu), append(every, all)
		}
		f.Line(c.name+": last iterate", x, last)
		f.Line(c.name+": every iterate", x, every)
	}
	strong.Steps, convex.Steps = 100, 1_000_000
	var err error
	if at100, err = iterate.Mu(strong); err != nil {
		return e, err
	}
	if flat, err = iterate.Mu(convex); err != nil {
		return e, err
	}
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{
		stated("μ, strongly convex, T = 100", 0.96101374, at100, 1e-8),
		stated("μ, convex and confined, any large T", 0.55901699, flat, 1e-8),
	}
	e.agreement = "Both curves level off.\n\n" +
		"The lecture's table of four datasets, in which x ~ x′ differ in the record that is consumed first and y ~ y′ in the one that is " +
		"consumed last, says that the privacy loss of a record depends on its " +
		"place in the pass. The report of a one-pass `sgd` release draws this as its figure of positions: one bound for each place, " +
		"the smallest for the first record (x ~ x′) and the largest for the last (y ~ y′)."
	return e, nil
}
