package samplers

import (
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/privacy"
)

// The falsifier: the executed draw, walked through choice by choice, with a
// discrete Laplace sum on the sample, against what the accountant charges for the
// event that the same design emits. No pair of neighbouring tables may do worse
// than the charge.

const ratio = 0.7 // the noise: P(x) ∝ e^{−ratio·|x|}

// outputs of a sum of at most 6 values in {−1, 0, 1}, with 45 steps of noise each
// side: what is cut off is below e^{−31}.
const reach = 51

// released is the exact law of the noisy sum over a sample with the given law.
func released(law map[int64]float64, values []int8) []float64 {
	sums := map[int]float64{}
	for m, p := range law {
		sum := 0
		for i, v := range values {
			sum += int(v) * int(m>>i&1)
		}
		sums[sum] += p
	}
	out := make([]float64, 2*reach+1)
	for sum, p := range sums {
		for y := range out {
			out[y] += p * math.Tanh(ratio/2) * math.Exp(-ratio*math.Abs(float64(y-reach-sum)))
		}
	}
	return out
}

// delta is the true δ(ε) of P against Q.
func delta(p, q []float64, eps float64) (d float64) {
	for y := range p {
		d += max(0, p[y]-math.Exp(eps)*q[y])
	}
	return d
}

// tables lists all tables of n values in {−1, 0, 1}.
func tables(n int) (out [][]int8) {
	for code := range int(math.Pow(3, float64(n))) {
		var t []int8
		for range n {
			t = append(t, int8(code%3)-1)
			code /= 3
		}
		out = append(out, t)
	}
	return out
}

var atEps = []float64{0.05, 0.2, 0.5, 1}

// worstReplaced is the largest δ over all tables that differ in one value.
func worstReplaced(law map[int64]float64, n int) []float64 {
	worst := make([]float64, len(atEps))
	laws := map[string][]float64{}
	at := func(t []int8) []float64 {
		key := ""
		for _, v := range t {
			key += string(rune('b' + v))
		}
		if laws[key] == nil {
			laws[key] = released(law, t)
		}
		return laws[key]
	}
	for _, t := range tables(n) {
		for i := range t {
			for v := int8(-1); v <= 1; v++ {
				if v == t[i] {
					continue
				}
				u := slices.Clone(t)
				u[i] = v
				for e, eps := range atEps {
					worst[e] = max(worst[e], delta(at(t), at(u), eps))
				}
			}
		}
	}
	return worst
}

func checkCharge(t *testing.T, name string, d Design, rel privacy.Relation, worst []float64, tight float64) {
	t.Helper()
	if err := d.Supports(rel); err != nil {
		t.Fatal(err)
	}
	event := d.Event(privacy.DiscreteLaplace{Scale: 1 / ratio})
	for i, eps := range atEps {
		a, err := privacy.DeltaAt(event, rel, eps)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// 1e-12 for the sums of this test.
		if a.Delta < worst[i]-1e-12 {
			t.Errorf("%s: at ε = %g two tables have δ = %.6f, charged are %.6f (%s)", name, eps, worst[i], a.Delta, a.Method)
		}
		// Not a matter of soundness: the charge is that of this design, and not
		// of a wider one.
		if a.Delta > tight*worst[i]+1e-3 {
			t.Errorf("%s: at ε = %g the worst tables have δ = %.6f, charged are %.6f (%s)", name, eps, worst[i], a.Delta, a.Method)
		}
	}
}

// lawByExploring is the law of a draw, by walking through its choices.
func lawByExploring(t *testing.T, d Design, rows int, units []int32) map[int64]float64 {
	t.Helper()
	law, rest := noisetest.Explore(1e-7, func(choose func(uint64) uint64) int64 {
		sel, err := begin(d, insecurenoise.NewScript(choose), int64(rows))
		if err != nil {
			t.Fatal(err)
		}
		drawn, _ := collect(t, sel, rows, units, rows)
		return mask(drawn)
	})
	if rest > 0 {
		t.Fatalf("%g of the law was not explored", rest)
	}
	return law
}

func TestNoTablesDoWorseThanTheCharge(t *testing.T) {
	for _, c := range multiCases(t) {
		rows := int(c.frame.Records())
		if rows > 7 {
			continue // 3^rows tables
		}
		d := must[*Multistage](t)(NewMultistage(c.frame, c.stages))
		law := lawByExploring(t, d, rows, rowsOf(c.frame))
		// P5's bounds are not tight for clusters drawn whole.
		checkCharge(t, c.name, d, privacy.ReplaceOne, worstReplaced(law, rows), 20)
	}
	f := mustFrame(t, "stratum", "a 3", "b 2")
	d := must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{1, 1}))
	checkCharge(t, "stratified", d, privacy.ReplaceOne, worstReplaced(lawByExploring(t, d, 5, rowsOf(f)), 5), 1.1)
}

func TestNoTablesDoWorseThanTheChargeOfSRSWOR(t *testing.T) {
	for _, c := range [][2]int{{1, 4}, {2, 4}, {3, 5}} {
		size, rows := c[0], c[1]
		law, rest := noisetest.Explore(1e-7, func(choose func(uint64) uint64) int64 {
			drawn, _ := collect(t, ways["sequential"](insecurenoise.NewScript(choose), int64(size), int64(rows)), rows, nil, rows)
			return mask(drawn)
		})
		if rest > 0 {
			t.Fatalf("%g of the law was not explored", rest)
		}
		d := must[*SRSWOR](t)(NewSRSWOR(int64(size), int64(rows)))
		checkCharge(t, "srswor", d, privacy.ReplaceOne, worstReplaced(law, rows), 1.1)
	}
}

func TestNoTablesDoWorseThanTheChargeOfPoisson(t *testing.T) {
	for _, text := range []string{"1/10", "1/2", "9/10"} {
		// TestPoissonExhaustively and TestPoissonFit hold the sampler to this law.
		p := mustRate(t, text).Float()
		law := func(rows int) map[int64]float64 {
			out := map[int64]float64{}
			for m := range int64(1) << rows {
				q := 1.0
				for i := range rows {
					if m>>i&1 == 1 {
						q *= p
					} else {
						q *= 1 - p
					}
				}
				out[m] = q
			}
			return out
		}
		worst := make([]float64, len(atEps))
		with, without := law(4), law(3)
		for _, table := range tables(4) {
			a, b := released(with, table), released(without, table[:3])
			for e, eps := range atEps {
				worst[e] = max(worst[e], delta(a, b, eps), delta(b, a, eps))
			}
		}
		secret := must[*Poisson](t)(NewPoisson(mustRate(t, text), 0))
		checkCharge(t, "poisson, add-remove", secret, privacy.AddRemove, worst, 1.1)
		public := must[*Poisson](t)(NewPoisson(mustRate(t, text), 4))
		checkCharge(t, "poisson, replace-one", public, privacy.ReplaceOne, worstReplaced(with, 4), 1.3)
	}
}

// The trap of P5: the product rule is below the truth for clusters. If the
// falsifier did not find that, it would find nothing.
func TestTheFalsifierCatchesTheProductRule(t *testing.T) {
	f := mustFrame(t, "cluster", "a 3", "b 3")
	d := must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "cluster", Take: 1}, {Take: 2}}))
	worst := worstReplaced(lawByExploring(t, d, 6, rowsOf(f)), 6)
	product := privacy.WithoutReplacement{Take: 1, Of: 3, Event: privacy.DiscreteLaplace{Scale: 1 / ratio}}
	caught := false
	for i, eps := range atEps {
		a, err := privacy.DeltaAt(product, privacy.ReplaceOne, eps)
		if err != nil {
			t.Fatal(err)
		}
		caught = caught || worst[i] > a.Delta+1e-9
	}
	if !caught {
		t.Error("charging η = 1/2·2/3 as one draw is not caught")
	}
}
