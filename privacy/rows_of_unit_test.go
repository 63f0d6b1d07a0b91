package privacy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// lattice is the law of a whole number, far enough out.
const reachOfUnit = 60

type wholeLaw [2*reachOfUnit + 1]float64

// noisyLaw adds the noise of an event to a random whole number.
func noisyLaw(noise Event, at map[int]float64) (out wholeLaw) {
	weight := func(m float64) float64 {
		switch e := noise.(type) {
		case DiscreteLaplace:
			return math.Exp(-math.Abs(m) / e.Scale)
		case DiscreteGaussian:
			return math.Exp(-m * m / 2 / e.Sigma / e.Sigma)
		}
		panic("no noise")
	}
	total := 0.0
	for m := -4 * reachOfUnit; m <= 4*reachOfUnit; m++ {
		total += weight(float64(m))
	}
	for v, p := range at {
		for i := range out {
			out[i] += p * weight(float64(i-reachOfUnit-v)) / total
		}
	}
	return out
}

// told is δ(ε) of two laws, in both directions.
func (p wholeLaw) told(q wholeLaw, eps float64) float64 {
	a, b, e := 0.0, 0.0, math.Exp(eps)
	for i := range p {
		a += math.Max(0, p[i]-e*q[i])
		b += math.Max(0, q[i]-e*p[i])
	}
	return math.Max(a, b)
}

// drawnSums are the sums of a sample: of rows on their own coins, or of n of all rows.
// withUnits are the sums where a unit was drawn with a chance before its rows were.
func withUnits(units float64, with, without map[int]float64) map[int]float64 {
	out := map[int]float64{}
	for s, p := range with {
		out[s] += units * p
	}
	for s, p := range without {
		out[s] += (1 - units) * p
	}
	return out
}

func drawnSums(rows []int, rate float64, n int) map[int]float64 {
	out := map[int]float64{}
	if n == 0 {
		out[0] = 1
		for _, v := range rows {
			next := map[int]float64{}
			for s, p := range out {
				next[s] += p * (1 - rate)
				next[s+v] += p * rate
			}
			out = next
		}
		return out
	}
	sets := combin.Combinations(len(rows), n)
	for _, set := range sets {
		s := 0
		for _, i := range set {
			s += rows[i]
		}
		out[s] += 1 / float64(len(sets))
	}
	return out
}

// tuples are all lists of n values.
func tuples(n int, values ...int) (out [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, t := range tuples(n-1, values...) {
		for _, v := range values {
			out = append(out, append(slices.Clone(t), v))
		}
	}
	return out
}

// No two populations that differ in the rows of one unit are told apart better than is charged, and a unit whose rows are
// all as large as they may be attains it where each row is drawn on its own.
func TestRowsOfUnitHolds(t *testing.T) {
	for _, noise := range []Event{
		DiscreteLaplace{Scale: 1.5, Sensitivity: Sensitivity{1, 2}}, DiscreteGaussian{Sigma: 1.2, Sensitivity: Sensitivity{1, 2}},
	} {
		for _, eps := range tier.Some([]float64{0.4, 0, 0.1, 1, 2}, 5) {
			for _, rate := range []float64{0.1, 0.5, 1} {
				for m := 1; m <= 3; m++ {
					bound := mustDelta(t, RowsOfUnit{int64(m), 0, Poisson{rate, noise}}, AddRemove, eps).Delta
					half := mustDelta(t, RowsOfUnit{int64(m), 0.5, Poisson{rate, noise}}, AddRemove, eps).Delta
					worst, worstHalf := 0.0, 0.0
					for n := 0; n <= m; n++ {
						for _, unit := range tuples(n, -1, 0, 1) {
							for _, others := range [][]int{nil, {1, -1}} {
								with, without := drawnSums(append(slices.Clone(others), unit...), rate, 0), drawnSums(others, rate, 0)
								q := noisyLaw(noise, without)
								worst = math.Max(worst, noisyLaw(noise, with).told(q, eps))
								worstHalf = math.Max(worstHalf, noisyLaw(noise, withUnits(.5, with, without)).told(q, eps))
							}
						}
					}
					checkUnit(t, fmt.Sprintf("%v, ε %g, rate %g, %d rows", noise, eps, rate, m), worst, bound, isLaplace(noise))
					checkUnit(t, fmt.Sprintf("%v, ε %g, half of the units, rate %g, %d rows", noise, eps, rate, m), worstHalf, half, isLaplace(noise))
				}
			}
			for _, n := range []int{1, 2, 4} {
				const all = 5
				for m := 1; m <= 2; m++ {
					bound := mustDelta(t, RowsOfUnit{int64(m), 0, WithoutReplacement{int64(n), all, noise}}, ReplaceOne, eps).Delta
					worst := 0.0
					for _, others := range tuples(all-m, -1, 1) {
						for _, a := range tuples(m, -1, 1) {
							for _, b := range tuples(m, -1, 1) {
								p := noisyLaw(noise, drawnSums(append(slices.Clone(others), a...), 0, n))
								worst = math.Max(worst, p.told(noisyLaw(noise, drawnSums(append(slices.Clone(others), b...), 0, n)), eps))
							}
						}
					}
					checkUnit(t, fmt.Sprintf("%v, ε %g, %d of %d, %d rows", noise, eps, n, all, m), worst, bound, false)
				}
			}
		}
	}
}

func isLaplace(e Event) bool { _, ok := e.(DiscreteLaplace); return ok }

func checkUnit(t *testing.T, what string, truth, bound float64, attained bool) {
	t.Helper()
	if truth > bound*(1+1e-9)+1e-13 {
		t.Errorf("%s: told apart at δ = %.9g, charged %.9g", what, truth, bound)
	}
	if attained && bound > truth*1.02+1e-9 {
		t.Errorf("%s: charged %.9g, the truth is %.9g", what, bound, truth)
	}
}

// Continuous Gaussian noise has the profile of the mixture of its shifts.
func TestRowsOfUnitGaussian(t *testing.T) {
	phi := distuv.UnitNormal
	for _, c := range []struct {
		m           int64
		rate, sigma float64
	}{{1, .1, 1}, {4, .1, 2}, {10, .01, 1}, {10, .5, 8}, {100, .02, 5}} {
		chance := make([]float64, c.m+1)
		for j := range chance {
			chance[j] = distuv.Binomial{N: float64(c.m), P: c.rate}.Prob(float64(j))
		}
		above := func(t float64) (p float64) {
			for j, w := range chance {
				p += w * phi.Survival((t-float64(j))/c.sigma)
			}
			return p
		}
		ratio := func(t float64) (l float64) {
			for j, w := range chance {
				l += w * math.Exp((2*t*float64(j)-float64(j*j))/(2*c.sigma*c.sigma))
			}
			return l
		}
		for _, eps := range []float64{0.01, 0.3, 1, 3} {
			lo, hi := -100*c.sigma, 100*c.sigma
			for range 200 {
				if mid := (lo + hi) / 2; ratio(mid) > math.Exp(eps) {
					hi = mid
				} else {
					lo = mid
				}
			}
			truth := above(lo) - math.Exp(eps)*phi.Survival(lo/c.sigma)
			if truth < 1e-12 {
				continue
			}
			bound := mustDelta(t, RowsOfUnit{c.m, 0, Poisson{c.rate, Gaussian{Sigma: c.sigma}}}, AddRemove, eps).Delta
			if bound < truth*(1-1e-7) || bound > truth*(1+1e-6) {
				t.Errorf("%+v: δ(%g) is %.12g, charged %.12g", c, eps, truth, bound)
			}
			group, err := DeltaAt(Poisson{1 - math.Pow(1-c.rate, float64(c.m)), Gaussian{Sigma: c.sigma / float64(c.m)}}, AddRemove, eps)
			if err != nil || bound > group.Delta*(1+1e-9) {
				t.Errorf("%+v: %g charged, all rows at once cost %g (%v)", c, bound, group.Delta, err)
			}
		}
	}
}

// One row is one row, a draw of all is the group, and what cannot be proven is refused.
func TestRowsOfUnitEdges(t *testing.T) {
	for _, inner := range []Event{Pure{1}, Gaussian{Sigma: 2}, Laplace{Scale: 1}, Approx{.5, 1e-3}, Compose{[]Event{Pure{.5}, Gaussian{Sigma: 3}}}} {
		for _, eps := range []float64{.05, .5} {
			for rel, draw := range map[Relation]Sampling{AddRemove: Poisson{.2, inner}, ReplaceOne: WithoutReplacement{20, 100, inner}} {
				one, row := mustDelta(t, RowsOfUnit{1, 0, draw}, rel, eps).Delta, mustDelta(t, draw, rel, eps).Delta
				if one > row*(1+1e-6)+1e-10 || one < row*(1-1e-6) && isPlain(inner) {
					t.Errorf("%v of one row costs %g, the draw %g", draw, one, row)
				}
				four := mustDelta(t, RowsOfUnit{4, 0, draw}, rel, eps).Delta
				if four < one {
					t.Errorf("%v of four rows costs %g, of one %g", draw, four, one)
				}
			}
		}
	}
	if a := mustEpsilon(t, RowsOfUnit{5, 0, Poisson{.1, Pure{1}}}, AddRemove, 0).Epsilon; math.Abs(a-5*math.Log1p(.1*math.Expm1(1))) > 1e-9 {
		t.Errorf("five rows with ε = 1 at 10 %% cost %g", a)
	}
	// 2 of 4 rows, both of a unit of two: P2 of {0, 1, 2} rows is 1/6, 4/6, 1/6.
	if a := mustEpsilon(t, RowsOfUnit{2, 0, WithoutReplacement{2, 4, Pure{.1}}}, ReplaceOne, 0).Epsilon; a > .2 || a < .09 {
		t.Errorf("two rows of a unit of two cost %g", a)
	}
	for _, c := range []struct {
		e   Event
		rel Relation
	}{
		{RowsOfUnit{2, 0, Poisson{.1, Pure{1}}}, ReplaceOne}, {RowsOfUnit{2, 0, WithoutReplacement{2, 4, Pure{1}}}, AddRemove},
		{Poisson{.5, RowsOfUnit{2, 0, Poisson{.1, Pure{1}}}}, AddRemove}, {WithoutReplacement{2, 4, RowsOfUnit{2, 0, WithoutReplacement{1, 2, Pure{1}}}}, ReplaceOne},
		{RowsOfUnit{2, 0, Poisson{.1, RowsOfUnit{2, 0, Poisson{.1, Pure{1}}}}}, AddRemove},
		{Poisson{.5, Compose{[]Event{Pure{1}, RowsOfUnit{2, 0, Poisson{.1, Pure{1}}}}}}, ReplaceOne},
	} {
		if a, err := EpsilonAt(c.e, c.rel, 1e-6); err == nil {
			t.Errorf("%v under %v costs %g", c.e, c.rel, a.Epsilon)
		}
	}
	for _, e := range []Event{RowsOfUnit{2, 0, Pure{1}}, RowsOfUnit{0, 0, Poisson{.1, Pure{1}}}, RowsOfUnit{5, 0, WithoutReplacement{2, 4, Pure{1}}}, RowsOfUnit{2, 0, nil}, RowsOfUnit{2, .5, WithoutReplacement{2, 4, Pure{1}}}, RowsOfUnit{2, 2, Poisson{.1, Pure{1}}}} {
		if Validate(e) == nil {
			t.Errorf("%#v is valid", e)
		}
	}
}

func isPlain(e Event) bool {
	switch e.(type) {
	case Gaussian, Pure:
		return true
	}
	return false
}

// Many draws compose as distributions: better than one by one, and never below the same draws of single rows.
func TestRowsOfUnitComposes(t *testing.T) {
	step := Poisson{.01, Gaussian{Sigma: 4}}
	all := mustEpsilon(t, Repeat{100, RowsOfUnit{5, 0, step}}, AddRemove, 1e-6)
	rows := mustEpsilon(t, Repeat{100, step}, AddRemove, 1e-6)
	group := mustEpsilon(t, Repeat{100, Poisson{1 - math.Pow(.99, 5), Gaussian{Sigma: .8}}}, AddRemove, 1e-6)
	t.Log(all.Epsilon, all.Method, rows.Epsilon, group.Epsilon)
	if all.Method != "pld" || all.Epsilon < rows.Epsilon || all.Epsilon > group.Epsilon/2 {
		t.Errorf("five rows a unit %g by %s, one row %g, all five at once %g", all.Epsilon, all.Method, rows.Epsilon, group.Epsilon)
	}
}

// Bounds with the mistakes that are near at hand are caught by the same enumeration.
func TestBrokenRowsOfUnitAreCaught(t *testing.T) {
	noise := DiscreteLaplace{Scale: 1.5, Sensitivity: Sensitivity{1, 2}}
	const rate, m, eps = 0.5, 3, 0.4
	truth := noisyLaw(noise, drawnSums([]int{1, 1, 1}, rate, 0)).told(noisyLaw(noise, map[int]float64{0: 1}), eps)
	for name, broken := range map[string]Event{
		"the rate of a row": Poisson{rate, noise},
		"the chance that any row is drawn, moved by one row": Poisson{1 - math.Pow(1-rate, m), noise},
		"as many rows as are drawn on average":               Poisson{rate, DiscreteLaplace{Scale: 1.5 / 2, Sensitivity: Sensitivity{1, 2}}},
	} {
		if d := mustDelta(t, broken, AddRemove, eps).Delta; d >= truth {
			t.Errorf("%s is not caught: it charges %g, the truth is %g", name, d, truth)
		}
	}
	if d := mustDelta(t, RowsOfUnit{m, 0, Poisson{rate, noise}}, AddRemove, eps).Delta; d < truth*(1-1e-9) {
		t.Errorf("charged %g, the truth is %g", d, truth)
	}
}

func mustDelta(t *testing.T, e Event, rel Relation, eps float64) Answer {
	t.Helper()
	a, err := DeltaAt(e, rel, eps)
	if err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	return a
}

// What a job spends on a collected table is pure, and there rows that were drawn one by one cost
// as many times what one of them costs: log E e^{εJ} = m·log(1 + q(e^ε − 1)). So a job needs no
// word for them (docs/sampling.md). Without replacement they cost nearly as much.
func TestPureRowsOfUnitCostEachRow(t *testing.T) {
	answer := func(e Event, rel Relation) float64 {
		a, err := EpsilonAt(e, rel, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Epsilon
	}
	for _, eps := range []float64{0.1, 1, 3} {
		for _, m := range []int64{1, 2, 5, 20} {
			one, all := Poisson{Rate: 0.1, Event: Pure{Eps: eps}}, float64(m)
			unit := answer(RowsOfUnit{Rows: m, Event: one}, AddRemove)
			if want := all * answer(one, AddRemove); math.Abs(unit/want-1) > 1e-9 {
				t.Errorf("ε %v, %d rows: %v, want %v", eps, m, unit, want)
			}
			fixed := WithoutReplacement{Take: 1000, Of: 10_000, Event: Pure{Eps: eps}}
			unit = answer(RowsOfUnit{Rows: m, Event: fixed}, ReplaceOne)
			if want := all * answer(fixed, ReplaceOne); unit > want*(1+1e-9) || unit < 0.99*want {
				t.Errorf("ε %v, %d rows without replacement: %v, at most %v", eps, m, unit, want)
			}
		}
	}
}
