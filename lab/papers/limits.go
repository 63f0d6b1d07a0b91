package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/lab/plot"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

func limitsByRate() (exhibit, error) {
	e := exhibit{id: "limits-1", title: "Figure 1. The ratio p·ε_p/ε against the rate",
		text: "ε_p = log(1 + (e^ε − 1)/p) is what a sample at rate p may spend. A sum over the sample needs noise that is ε/(p·ε_p) times " +
			"that of the full table.",
		alt: "For each epsilon the ratio rises from near 0 at small rates to 1 at rate 1, the later the larger epsilon is"}
	f := plot.New(plot.Axes{X: "sampling rate p", Y: "p·ε_p / ε"})
	p := steps(0, 1, 200)[1:]
	top, rising := 0.0, true
	for _, eps := range []float64{0.01, 0.1, 1, 2} {
		y := apply(p, func(p float64) float64 { return amplify.Efficiency(p, eps) })
		top, rising = max(top, y[len(y)-2]), rising && slices.IsSorted(y)
		f.Line(fmt.Sprintf("ε = %g", eps), p, y)
	}
	f.Range("x", 0, 1)
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{
		claim("the ratio is below 1 at every rate below 1", "below 1", top < 1, fmt.Sprintf("below 1 by at least %.1g", 1-top)),
		claim("it rises with the rate", "yes", rising, yesNo[rising]),
		found("ratio at ε = 1, p = 1 % (19 times the noise)", fmt.Sprintf("%.4f", amplify.Efficiency(0.01, 1))),
	}
	e.agreement = "Sampling never pays for itself in the noise of a sum."
	return e, nil
}

func limitsByEpsilon() (exhibit, error) {
	e := exhibit{id: "limits-2", title: "Figure 2. The ratio p·ε_p/ε against ε",
		text: "The same ratio along ε. Sampling costs almost no noise while ε is at most about p.",
		alt:  "For each rate the ratio is 1 at small epsilon, falls around epsilon equal to the rate, and ends at the rate"}
	f := plot.New(plot.Axes{X: "ε on the population", Y: "p·ε_p / ε", LogX: true})
	eps := logs(1e-4, 20, 200)
	falling, free := true, 1.0
	for _, p := range []float64{0.001, 0.01, 0.1, 0.5} {
		y := apply(eps, func(e float64) float64 { return amplify.Efficiency(p, e) })
		for i := 1; i < len(y); i++ {
			falling = falling && y[i] <= y[i-1]*(1+1e-12)
		}
		free = min(free, amplify.Efficiency(p, p))
		f.Line(fmt.Sprintf("p = %g", p), eps, y)
	}
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{
		claim("falls with ε at every rate", "yes", falling, yesNo[falling]),
		claim("sampling is free only while ε = O(p): the ratio at ε = p", "a constant, whatever p is", free > math.Ln2 &&
			amplify.Efficiency(1e-6, 1) < 1e-4, fmt.Sprintf("at least %.4f", free)),
	}
	return e, nil
}

func limitsProportional() (exhibit, error) {
	e := exhibit{id: "limits-3", title: "Figure 3. ε in proportion to the rate: ε = c·p",
		text: "If ε shrinks with the rate, the ratio tends to log(1+c)/c (grey) as p → 0 and never falls below it.",
		alt:  "For each c the ratio rises from its limit log(1+c)/c as the rate grows"}
	f := plot.New(plot.Axes{X: "sampling rate p", Y: "p·ε_p / ε at ε = c·p"})
	p := steps(0, 1, 200)[1:]
	name := "log(1+c)/c"
	least := 1.0
	for _, c := range []float64{0.2, 0.5, 2, 5} {
		limit := amplify.EfficiencyBound(c)
		ratio := func(p float64) float64 { return amplify.Efficiency(p, c*p) }
		y := apply(p, ratio)
		f.Line(fmt.Sprintf("c = %g", c), p, y)
		f.Rule(name, p, constant(p, limit))
		name = ""
		worst, far := slices.Min(y), ratio(1e-6)
		if c <= 2 {
			least = min(least, worst, far)
		}
		e.facts = append(e.facts, claim(fmt.Sprintf("c = %g: the infimum over p (ours: at p = 1e-6)", c), fmt.Sprintf("%.6f", limit),
			worst >= limit && math.Abs(far/limit-1) < 1e-4, fmt.Sprintf("%.6f", far)))
	}
	f.Range("x", 0, 1)
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	e.facts = append(e.facts, claim("c ≤ 2: the ratio", "at least ½", least >= 0.5, fmt.Sprintf("at least %.4f", least)))
	return e, nil
}

func limitsConstant() (exhibit, error) {
	e := exhibit{id: "limits-4", title: "Figure 4. log(1+c)/c",
		text: "The infimum over p of the ratio at ε = c·p, as a line along c; the rings are the smallest ratios on a grid of rates down to 1e-7.",
		alt:  "log(1+c)/c falls from 1 at c = 0 to about a quarter at c = 10"}
	f := plot.New(plot.Axes{X: "c", Y: "log(1+c)/c"})
	c := steps(0, 10, 200)[1:]
	f.Line("log(1+c)/c", c, apply(c, amplify.EfficiencyBound))
	at := []float64{0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	far := 0.0
	seen := apply(at, func(c float64) float64 {
		least := slices.Min(apply(logs(1e-7, 1, 300), func(p float64) float64 { return amplify.Efficiency(p, c*p) }))
		far = max(far, math.Abs(least/amplify.EfficiencyBound(c)-1))
		return least
	})
	f.Marks("smallest ratio over p", at, seen)
	f.Range("x", 0, 10)
	f.Range("y", 0, 1)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{
		claim("the infimum over p is log(1+c)/c", "equal", far < 1e-5, fmt.Sprintf("equal to %.0e", far)),
		claim("log(1+c)/c at c = 2", "at least ½", amplify.EfficiencyBound(2) >= 0.5, fmt.Sprintf("%.4f", amplify.EfficiencyBound(2))),
	}
	return e, nil
}

// limitsError simulates the mean of a column of zeros and ones, x of them ones.
func limitsError() (exhibit, error) {
	const size, ones = 10_000, 3_000
	e := exhibit{id: "limits-error", title: "The error formulas",
		text: fmt.Sprintf("The mean squared error of a mean of n = %d values in {0, 1} with %d ones (|x|), by Laplace noise on the full "+
			"table, 2/(ε²n²), and on a Poisson sample "+
			"divided by p·n, at most |x|/(pn²) + 2/(ε_p²p²n²). Ours is simulated with %d draws.", size, ones, 40*repetitions)}
	rng := rand.New(rand.NewPCG(4, 2023))
	noise := func(scale float64) float64 { return scale * (rng.ExpFloat64() - rng.ExpFloat64()) }
	for _, c := range []struct{ eps, p float64 }{{0.01, 0.01}, {0.1, 0.1}, {0.1, 0.5}, {1, 0.1}} {
		on := amplify.SampleEpsilon(c.p, c.eps)
		full, part := 0.0, 0.0
		draws := 40 * repetitions
		for range draws {
			full += math.Pow(noise(1/(c.eps*size)), 2)
			drawn := distuv.Binomial{N: ones, P: c.p, Src: rng}.Rand()
			part += math.Pow((drawn+noise(1/on))/(c.p*size)-float64(ones)/size, 2)
		}
		full, part = full/float64(draws), part/float64(draws)
		wantFull := 2 / (c.eps * c.eps * size * size)
		bound := ones/(c.p*size*size) + 2/(on*on*c.p*c.p*size*size)
		at := fmt.Sprintf("ε = %g, p = %g", c.eps, c.p)
		slack := 5 * math.Sqrt(5/float64(draws)) // five standard errors of a mean of squares
		e.facts = append(e.facts,
			claim(at+": full table", fmt.Sprintf("%.3g", wantFull), math.Abs(full/wantFull-1) < slack, fmt.Sprintf("%.3g", full)),
			claim(at+": sample", fmt.Sprintf("at most %.3g", bound), part < bound*(1+slack), fmt.Sprintf("%.3g", part)))
	}
	e.agreement = "The bound leaves a factor 1 − p out of the sampling variance."
	return e, nil
}

// limitsEpochs looks for the smallest sampling rate at which many queries lose little.
func limitsEpochs() (exhibit, error) {
	e := exhibit{id: "limits-epochs", title: "k queries: how many epochs",
		text: "k queries share (ε*, δ) = (1, 1e-6). Advanced composition leaves each ε = Θ(ε*/√k), and the ratio is at least ½ from p = " +
			"ε/2.51 on (log(1+c)/c = ½ at c = 2.51). " +
			"The queries then read k·p times the table: the number of epochs. The figure shows that number, with ε from advanced composition " +
			"and from our accountant " +
			"(the composition of k pure ε, exactly).",
		alt: "The number of epochs grows as the square root of the number of queries, by both accounts"}
	f := plot.New(plot.Axes{X: "queries k", Y: "epochs k·p", LogX: true, LogY: true})
	const target, allowed, c = 1, 1e-6, 2.5128624
	k := []float64{10, 100, 1000, 10_000, 100_000}
	solve := func(fits func(eps float64) (bool, error)) (float64, error) {
		lo, hi := 1e-7, 1.0
		for range 40 {
			mid := math.Sqrt(lo * hi)
			ok, err := fits(mid)
			if err != nil {
				return 0, err
			}
			if ok {
				lo = mid
			} else {
				hi = mid
			}
		}
		return lo, nil
	}
	var advanced, ours []float64
	for _, k := range k {
		a, _ := solve(func(x float64) (bool, error) {
			return x*math.Sqrt(2*k*math.Log(1/allowed))+k*x*math.Expm1(x) <= target, nil
		})
		b, err := solve(func(x float64) (bool, error) {
			d, err := privacy.DeltaAt(privacy.Repeat{N: int64(k), Event: privacy.Pure{Eps: x}}, privacy.AddRemove, target)
			return err == nil && d.Delta <= allowed, err
		})
		if err != nil {
			return e, err
		}
		advanced, ours = append(advanced, k*a/c), append(ours, k*b/c)
	}
	f.Line("advanced composition", k, advanced)
	f.Line("exact composition", k, ours)
	f.Rule("√k", k, apply(k, func(k float64) float64 { return ours[2] * math.Sqrt(k/1000) }))
	e.figures = []panel{{e.id, f}}
	slope := math.Log(ours[4]/ours[1]) / math.Log(1000)
	e.facts = []fact{
		claim("exponent of k in the number of epochs, k from 100 to 100,000", "at least ½", math.Abs(slope-0.5) < 0.03,
			fmt.Sprintf("%.3f", slope)),
		found("epochs for 10,000 queries", fmt.Sprintf("%.1f (advanced composition: %.1f)", ours[3], advanced[3])),
	}
	e.agreement = "k queries on samples that lose at most half of their accuracy read the table Ω(√k) times."
	return e, nil
}
