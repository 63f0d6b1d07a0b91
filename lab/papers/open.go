package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/lab/plot"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

const openOpening = `# What the papers left open

The papers on sampling and privacy leave these questions open. Every figure and number below is ours: ` +
	"`make papers`" + ` computes this page
again, with [the papers' own figures](papers.md) and [the accountant beside its rivals](accountant.md). ` +
	`Unless said otherwise the setting is that of “Accuracy Gains…”: N = 10,001,
δ = 1/(2N), simple random sampling without replacement, replace-one. A gain is the mean squared error of the full table's release ` +
	`over that of the sample's, at the same
guarantee for the population: above 1 sampling wins. Simulated figures use RUNS runs from fixed seeds, ` +
	`over POPULATIONS populations where one could decide by luck.

`

func gaussianMean() (exhibit, error) {
	e := exhibit{id: "open-gaussian", title: "Does sampling help the mean with Gaussian noise?",
		text: "The standard deviation of the Gaussian noise on the full mean over that on the sampled mean, each calibrated exactly (Balle " +
			"and Wang) to (ε, δ) and to " +
			"(ε_n, δ_n). The sampling error is left out: it can only make the sample worse.",
		alt: "The ratio of the noises stays below 1 at every epsilon and every size"}
	f := plot.New(plot.Axes{X: "ε on the population", Y: "noise of table / noise of sample", LogX: true})
	eps := logs(0.001, 8, 60)
	top := 0.0
	for _, n := range []int64{101, 1001, 5001, 9001} {
		var y []float64
		for _, at := range eps {
			ratio, err := gaussianRatio(n, at, 1)
			if err != nil {
				return e, err
			}
			y, top = append(y, ratio), max(top, ratio)
		}
		f.Line(fmt.Sprintf("n = %d", n), eps, y)
	}
	f.Rule("no gain, no loss", eps, constant(eps, 1))
	f.Range("y", 0, 1.1)
	e.figures = []panel{{e.id, f}}
	e.facts = []fact{found("largest ratio on the grid", fmt.Sprintf("below 1 by %.1g", 1-top))}
	e.agreement = "**No.** At no point of the grid is the noise of the sampled mean smaller, although the sample may also spend the " +
		"larger δ_n = δ·N/n. " +
		"At small ε the two come close, as for Laplace noise."
	if top >= 1 {
		e.agreement = "**Yes**, at the points above 1."
	}
	return e, nil
}

// gaussianRatio is the noise of the full table over that of a sample for one of many means,
// all with one guarantee: of Gaussian noise the ratio does not depend on how many they are.
func gaussianRatio(n int64, eps, means float64) (float64, error) {
	on, err := onSample(n, eps)
	if err != nil {
		return 0, err
	}
	full, err := privacy.GaussianSigma(math.Sqrt(means)/popSize, privacy.Point{Epsilon: eps, Delta: delta})
	if err != nil {
		return 0, err
	}
	part, err := privacy.GaussianSigma(math.Sqrt(means)/float64(n), on)
	return full / part, err
}

func manyMeans() (exhibit, error) {
	e := exhibit{id: "open-many", title: "Does sampling help many means at once?",
		text: "d means of columns in [0, 1] share (1, δ). Laplace noise has a standard deviation that grows as d, Gaussian noise as √d, " +
			"so from some d on the Gaussian is better. The figure shows the smaller of the two on the full table over the smaller of the two " +
			"on the sample; the table says from which d on the Gaussian is better.",
		alt: "The ratio stays below 1 for every number of means, and is nearly the same for all of them"}
	f := plot.New(plot.Axes{X: "means d", Y: "noise of table / noise of sample", LogX: true})
	d := logs(1, 10_000, 81)
	top := 0.0
	for _, n := range []int64{101, 1001, 5001, 9001} {
		on, err := onSample(n, 1)
		if err != nil {
			return e, err
		}
		best := func(size float64, p privacy.Point) func(d float64) (float64, bool) {
			sigma, failed := privacy.GaussianSigma(1/size, p)
			if failed != nil {
				err = failed
			}
			return func(d float64) (float64, bool) {
				laplace, gauss := math.Sqrt2*d/(size*p.Epsilon), math.Sqrt(d)*sigma
				return math.Min(laplace, gauss), gauss < laplace
			}
		}
		full, part := best(popSize, privacy.Point{Epsilon: 1, Delta: delta}), best(float64(n), on)
		if err != nil {
			return e, err
		}
		from := func(of func(float64) (float64, bool)) int {
			for k := 1; ; k++ {
				if _, gauss := of(float64(k)); gauss {
					return k
				}
			}
		}
		y := apply(d, func(d float64) float64 { a, _ := full(d); b, _ := part(d); return a / b })
		top = max(top, slices.Max(y))
		f.Line(fmt.Sprintf("n = %d", n), d, y)
		e.facts = append(e.facts, found(fmt.Sprintf("n = %d: the Gaussian is best from", n),
			fmt.Sprintf("d = %d on the full table, d = %d on the sample", from(full), from(part))),
			found(fmt.Sprintf("n = %d: ratio at d = 1 and at d = 10,000", n), fmt.Sprintf("%.3g and %.3g", y[0], y[len(y)-1])))
	}
	f.Range("y", 0, 1.4)
	f.Rule("no gain, no loss", d, constant(d, 1))
	e.figures = []panel{{e.id, f}}
	e.facts = append(e.facts, found("largest ratio on the grid", fmt.Sprintf("%.4f", top)))
	e.agreement = "**No**, at no number of means on the grid. With many means the loss is a little smaller than with one, " +
		"because the Gaussian also profits from δ_n = δ·N/n. It never becomes a gain."
	if top >= 1 {
		e.agreement = "**Yes**, where the figure lies above 1."
	}
	return e, nil
}

func exponentialMedian() (exhibit, error) {
	e := exhibit{id: "open-exponential", title: "Does sampling help the median by the exponential mechanism?",
		text: "Pure ε on a public lattice of 4,001 points over the bounds, for the lognormal column (clipped to [0, 1,000]) and the " +
			"bimodal one. Only the samples are drawn at random; the error over the draws of the mechanism is computed exactly.",
		alt: "The gain falls from about 1 as epsilon grows for the lognormal column, and is a little above 1 for the bimodal one"}
	eps := logs(0.003, 3, 8)
	var row plot.Row
	tops := map[string]float64{}
	for _, p := range []population{lognormal, bimodal} {
		p.upper = math.Min(p.upper, 1000)
		f := plot.New(plot.Axes{Title: p.name, X: "ε on the population", Y: "gain", LogX: true, LogY: true})
		for _, n := range []int64{101, 1001, 5001} {
			var y []float64
			last := 0.0
			for _, at := range eps {
				g, err := p.exponentialGain(n, at)
				if err != nil {
					return e, err
				}
				if y, tops[p.name] = append(y, g), max(tops[p.name], g); g > 1.02 {
					last = at
				}
			}
			f.Line(fmt.Sprintf("n = %d", n), eps, y)
			e.facts = append(e.facts, found(fmt.Sprintf("%s, n = %d: where the sample gains over 2 %%", p.name, n), lastGain(last)))
		}
		f.Rule("no gain", eps, constant(eps, 1))
		row = append(row, f)
	}
	e.figures = []panel{{e.id, row}}
	e.facts = append(e.facts, found("largest gain: lognormal, bimodal", fmt.Sprintf("%.3f, %.3f", tops[lognormal.name], tops[bimodal.name])))
	const why = "The score of the exponential mechanism is a distance in ranks. If the column is dense, its error falls with n·ε_n, " +
		"and amplification leaves n·ε_n below N·ε."
	switch {
	case tops[lognormal.name] <= 1.02 && tops[bimodal.name] > 1.02:
		e.agreement = "**Not where the median lies among other values; a little where it lies at a gap.** " + why +
			" In a gap all points have one score, the full table's release falls anywhere in the gap, and a sample, " +
			"whose median lies in one of the two parts, does a little better."
	case tops[bimodal.name] <= 1.02:
		e.agreement = "**No**, by more than 2 % at no point of the grid. " + why
	default:
		e.agreement = "**Yes**, where the table says so."
	}
	return e, nil
}

// points of the lattice of the exponential mechanism.
const points = 4001

// expected is a host that works out the mean squared error of the exponential mechanism, over
// its own draws.
type expected struct {
	planner.Dice
	truth, step, error float64
}

func (h *expected) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	least := int64(math.MaxInt64)
	for _, p := range pieces {
		least = min(least, p.At(p.Lo), p.At(p.Hi))
	}
	sum, all := 0.0, 0.0
	for _, p := range pieces {
		for x := p.Lo; x <= p.Hi; x++ {
			w := math.Exp(-rate * float64(p.At(x)-least))
			all += w
			sum += w * math.Pow(float64(x)*h.step-h.truth, 2)
		}
	}
	h.error = sum / all
	return 0, nil
}

// exponentialGain is the mean gain over populations; only the samples are drawn.
func (p population) exponentialGain(n int64, eps float64) (float64, error) {
	var trials [2]*planner.Trial
	for i, size := range []int64{popSize, n} {
		var err error
		if trials[i], err = p.trial(size, eps, map[string]any{"method": "exponential", "points": points}); err != nil {
			return 0, err
		}
	}
	full, part := 0.0, 0.0
	times := perPopulation / 4
	for k := range populations {
		column := p.column(k)
		for i := range column {
			column[i] = math.Min(column[i], p.upper)
		}
		rng := rand.New(rand.NewPCG(uint64(k), 2023))
		h := expected{truth: middle(column), step: p.upper / (points - 1)}
		if _, err := trials[0].Run(context.Background(), column, &h); err != nil {
			return 0, err
		}
		full += h.error
		for range times {
			if _, err := trials[1].Run(context.Background(), sample(column, n, rng), &h); err != nil {
				return 0, err
			}
			part += h.error / float64(times)
		}
	}
	return full / part, nil
}

func lastGain(x float64) string {
	if x == 0 {
		return "nowhere on the grid"
	}
	return fmt.Sprintf("up to ε = %.3g", x)
}

func otherQuantiles() (exhibit, error) {
	e := exhibit{id: "open-quantiles", title: "Does sampling help other quantiles?",
		text: "Lognormal(5, 0.5), smooth sensitivity with the exact β, n = 1,001. The error is a mean over populations.",
		alt:  "The gain against epsilon, for five quantiles: above 1 at small epsilon, below 1 at large"}
	f := plot.New(plot.Axes{X: "ε on the population", Y: "gain", LogX: true, LogY: true})
	eps := logs(0.02, 3, 9)
	for _, q := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
		var y []float64
		last := 0.0
		for _, at := range eps {
			full, part := 0.0, 0.0
			for k := range populations {
				column := lognormal.column(k)
				params := func() map[string]any { return map[string]any{"method": "smooth-laplace", "quantile": q} }
				whole, err := lognormal.runs(column, popSize, at, params(), 1, 0)
				if err != nil {
					return e, err
				}
				r, err := lognormal.runs(column, 1001, at, params(), perPopulation, uint64(k))
				if err != nil {
					return e, err
				}
				full, part = full+whole.error(whole.values[0]), part+r.error(whole.values[0])
			}
			if y = append(y, full/part); full/part > 1.02 {
				last = at
			}
		}
		f.Line(fmt.Sprintf("quantile %g", q), eps, y)
		e.facts = append(e.facts, found(fmt.Sprintf("quantile %g: where the sample gains over 2 %%", q), lastGain(last)))
	}
	f.Rule("no gain, no loss", eps, constant(eps, 1))
	e.figures = []panel{{e.id, f}}
	e.agreement = "**Yes, at small ε**, for every quantile in the figure."
	return e, nil
}

// verdicts shows what the planner says, by the program's own words.
func verdicts() (exhibit, error) {
	e := exhibit{id: "open-verdict", title: "How does a user find out without spending budget?",
		text: "`dprelease plan` opens no table and spends nothing. It plans the release at several rates, simulates it on columns of a " +
			"distribution that is *publicly* assumed, and gives a verdict: " +
			"*never* (proven), *gain*, *loss*, *undecided* or *unknown* ([the planner](../../docs/sampling.md)). The setting of the paper as " +
			"a job is examples/papers/study.yaml, whose table does not exist."}
	var b strings.Builder
	for _, args := range []string{"--sweep rate --release mean",
		"--sweep rate --release median --values 0.01,0.1,0.3,0.5,0.9,1 --repetitions 2000"} {
		out, err := exec.Command("bin/dprelease",
			append([]string{"plan", "examples/papers/study.yaml"}, strings.Fields(args)...)...).CombinedOutput()
		if err != nil {
			return e, fmt.Errorf("%w: %s", err, out)
		}
		fmt.Fprintf(&b, "```\n$ dprelease plan examples/papers/study.yaml %s\n%s```\n\n", args, out)
	}
	e.table = strings.TrimSuffix(b.String(), "\n")
	e.agreement = "The verdict is as good as the assumption. Take nothing for it from the private table: an assumption that was tuned " +
		"to the table is a release."
	return e, nil
}

// multistageCost compares what Theorem 3 would let a sample spend with what is proved.
func multistageCost() (exhibit, error) {
	e := exhibit{id: "open-multistage", title: "What does multistage sampling cost, and what does it give?",
		text: "10,000 records in units of m; a tenth of the records is drawn, in two stages, for ε = 1 on the population. " +
			"Theorem 3 of the episodic paper would let the sample spend as much as a simple random " +
			"sample of a tenth may; it is not sound when more than one record of a unit is drawn (P5). The figure shows the ε that the sample " +
			"may spend by the bounds that are proved here, for several shares of the units.",
		alt: "Theorem 3's budget is a flat line; the proved budgets lie below it and fall as fewer units are drawn"}
	f := plot.New(plot.Axes{X: "records in a unit, m", Y: "ε on the sample", LogX: true})
	const size, rate = 10_000, 0.1
	m := []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	var x []float64
	for _, m := range m {
		x = append(x, float64(m))
	}
	srs := amplify.SampleEpsilon(rate, 1)
	f.Rule("Theorem 3 (not sound), and a simple random sample", x, constant(x, srs))
	var b strings.Builder
	b.WriteString("| design (m = 20, 500 units) | ε the sample may spend | noise of a mean, over that of a simple random sample of that " +
		"size |\n|---|---:|---:|\n")
	fmt.Fprintf(&b, "| simple random sample of 1,000 | %.3f | × 1 |\n| Theorem 3, not sound and never charged | %.3f | × 1 |\n", srs, srs)
	for _, share := range []float64{1, 0.5, 0.2, 0.1} {
		var y []float64
		for _, m := range m {
			units := int64(size) / m
			take := max(1, int64(math.Round(share*float64(units))))
			below := int64(math.Round(rate / share * float64(m)))
			if float64(take*below) != rate*float64(units*m) {
				y = append(y, math.NaN())
				continue
			}
			d := amplify.Design{{Take: take, Of: units}, {Take: below, Of: m}}
			y = append(y, d.SamplePure(1, false))
			if m == 20 {
				fmt.Fprintf(&b, "| %d of 500 units, %d of 20 records | %.3f | × %.2f |\n", take, below, y[len(y)-1], srs/y[len(y)-1])
			}
		}
		f.Line(fmt.Sprintf("%g %% of the units", 100*share), x, y)
	}
	f.Range("y", 0, 3.5)
	e.figures = []panel{{e.id, f}}
	e.table = b.String()
	e.agreement = "**It gives** the savings of visiting few units in the field. **It costs** noise: once several records of a unit are " +
		"drawn, the stages above the last one hardly amplify, because the output can show which units were drawn. " +
		"Taking a tenth of every unit (stratification) costs nothing compared with a simple random sample; taking a tenth of the units " +
		"whole amplifies least. The sampling error of " +
		"correlated units comes on top (`plan --compare` adds both)."
	return e, nil
}

// additiveGain leaves the paper's setting: Poisson sampling under replace-one, and noise that
// is added to a centred sum.
func additiveGain() (exhibit, error) {
	e := exhibit{id: "open-poisson", title: "Where does Poisson sampling under replace-one gain?",
		text: "Under replace-one a Poisson sample may miss the record whose value changes. If noise is added to a centred sum, " +
			"the arrival of a record costs half of what its replacement costs, so the sample may spend more than ε_p " +
			"(privacy/additive.proof.md). The figure shows p·ε_sample/ε: the noise of the full table's sum over that of the sample's. " +
			"A simple random sample, and any mechanism that is not additive, stay below 1.",
		alt: "For each epsilon the ratio rises with the rate, passes 1 at the rate one half, and returns to 1 at rate 1"}
	f := plot.New(plot.Axes{X: "sampling rate p", Y: "p·ε_sample / ε"})
	p := steps(0, 1, 200)[1:200]
	below, above := true, true
	var b strings.Builder
	b.WriteString("| ε | best rate | noise of table / noise of sample | largest N·(spread/R)² with a gain |\n|---:|---:|---:|---:|\n")
	for _, eps := range []float64{0.1, 1, 3, 8} {
		var y []float64
		best, room := 0, 0.0
		for i, q := range p {
			budget, err := privacy.SampleBudgetAdditive(privacy.Poisson{Rate: q}, privacy.ReplaceOne, privacy.Point{Epsilon: eps}, 0.5)
			if err != nil {
				return e, err
			}
			ratio := q * budget.Epsilon / eps
			y = append(y, ratio)
			below = below && (q > 0.5 || ratio <= 1+1e-12)
			above = above && (q <= 0.5 || ratio > 1)
			if ratio > y[best] {
				best = i
			}
			// The sum's noise variance is 2R²/ε² or 2R²/(q·ε_sample)², its sampling variance
			// N·spread²·(1−q)/q about the centre.
			room = max(room, 2/(eps*eps)*(1-1/(ratio*ratio))*q/(1-q))
		}
		f.Line(fmt.Sprintf("ε = %g", eps), p, y)
		fmt.Fprintf(&b, "| %g | %.2f | %.3f | %.3g |\n", eps, p[best], y[best], room)
	}
	f.Rule("ε = 1, any mechanism", p, apply(p, func(q float64) float64 { return amplify.Efficiency(q, 1) }))
	f.Range("y", 0, 2)
	e.figures = []panel{{e.id, f}}
	e.table = b.String()
	e.facts = []fact{found("at most 1 at every rate up to ½", yesNo[below]), found("above 1 at every rate above ½", yesNo[above])}
	e.agreement = "**At rates above one half, for sums with added noise.** But there is also the sampling error, N·spread²·(1−p)/p with " +
		"the spread about the centre of the range R. " +
		"The sample wins in total only where N·(spread/R)² is below the last column: 100 rows whose spread is a twenty-fifth of R. " +
		"So do not draw such a sample from a table that you have. If the sample was drawn anyway, the smaller noise is a real gain."
	return e, nil
}

// randomAllocation is the note on batches in which each record takes part k times of t.
func randomAllocation() (exhibit, error) {
	e := exhibit{id: "open-allocation", title: "Batches in which each record takes part in exactly k of t steps",
		text: "Random allocation puts each record into k of the t steps of `sgd`, chosen at random: no record is forgotten, " +
			"and none is read more often than others. Feldman and Shenfeld (2025) state that its privacy is close to that of Poisson batches " +
			"at the rate k/t, by a decomposition of the mixture over the steps. `rotation{waves: t, in: k}` is this scheme, " +
			"and the accountant charges what is proved of it (privacy/rotation.proof.md); `sgd` draws Poisson batches, which cost 3 to 11 % " +
			"more in the table and need no plan of who takes part when. Panels whose groups have fixed sizes are another open case: " +
			"under replace-one one unit of each group changes places, and P34 says the pair, an average over permutations at the worst values " +
			"of all others. Nobody has reduced it to a pair of two values, which are not enough (0.18 claimed, 0.22 true), so known waves are " +
			"charged. The table compares both with a published choice, with Gaussian noise σ, add-remove, δ = 1e-6."}
	var b strings.Builder
	b.WriteString("| σ | k of t | ε, the choice published | ε, the choice kept secret | ε, Poisson batches at rate k/t (what `sgd` " +
		"draws) |\n|---:|---:|---:|---:|---:|\n")
	for _, c := range []struct {
		sigma float64
		k, t  int64
	}{{1, 1, 100}, {1, 10, 1000}, {2, 1, 100}, {2, 10, 1000}} {
		step := privacy.Gaussian{Sigma: c.sigma}
		proved, err := privacy.EpsilonAt(privacy.Repeat{N: c.k, Event: step}, privacy.AddRemove, 1e-6)
		if err != nil {
			return e, err
		}
		secret, err := privacy.EpsilonAt(privacy.Rotation{Waves: c.t, In: c.k, Event: step}, privacy.AddRemove, 1e-6)
		if err != nil {
			return e, err
		}
		poisson, err := privacy.EpsilonAt(privacy.Repeat{N: c.t, Event: privacy.Poisson{Rate: float64(c.k) / float64(c.t), Event: step}},
			privacy.AddRemove, 1e-6)
		if err != nil {
			return e, err
		}
		fmt.Fprintf(&b, "| %g | %d of %d | %.4g | %.4g | %.4g |\n", c.sigma, c.k, c.t, proved.Epsilon, secret.Epsilon, poisson.Epsilon)
	}
	e.table = b.String()
	return e, nil
}
