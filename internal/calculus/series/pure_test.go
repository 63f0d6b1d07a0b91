package series

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// scale is that of the Laplace noise of the enumerations.
const scale = 1.5

// told returns by how much the chance of an output may grow or fall, in units of 1/scale, where what is measured differs
// by d: it tries all outputs.
func told(d float64) float64 {
	if d != math.Trunc(d) {
		return math.Inf(1)
	}
	most := 0.0
	for y := -40.0; y <= 40; y++ {
		p, q := math.Exp(-math.Abs(y-d)/scale), math.Exp(-math.Abs(y)/scale)
		most = max(most, math.Abs(math.Log(p/q)))
	}
	return most * scale
}

// attackPure returns the smallest charge in ε that is true for a matrix in a world, as attack does for ρ.
func attackPure(c [][]float64, w world, draws ...int) float64 {
	var from func(seen [][]int) float64
	from = func(seen [][]int) float64 {
		run := len(seen)
		if run == len(c) {
			return 0
		}
		most := 0.0
		for _, v := range w(seen) {
			d, times := 0.0, 1.0
			for s, x := range v {
				d += c[run][s] * float64(x)
			}
			if draws != nil {
				times = float64(draws[run])
			}
			most = max(most, times*told(d)+from(append(slices.Clone(seen), v)))
		}
		return most
	}
	return from(nil)
}

func TestPureChargeHoldsAgainstEveryAdversary(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 11))
	for range 25 {
		m := tiny(r)
		for _, c := range []struct {
			name  string
			world world
			units Units
			tight bool
		}{
			{"one period", frozen(1), Units{AtMost: 1}, true},
			{"two periods", frozen(2), Units{AtMost: 2}, false},
			{"a life", frozen(3), Units{AtMost: 3}, false},
			{"one period, revised", revised(1), Units{AtMost: 1, Revised: true}, true},
			{"two periods, revised", revised(2), Units{AtMost: 2, Revised: true}, true},
			{"one period that moves", moving(1), Units{AtMost: 2}, false},
			{"a cap drawn anew", redrawn, Units{AtMost: 3, Revised: true}, false},
		} {
			truth, charge := attackPure(real(m), c.world), float64(m.Pure(c.units))
			if truth > charge*(1+1e-9) || c.tight && truth < charge*(1-1e-9) {
				t.Fatalf("%v, %s: charged %v, true %v", m, c.name, charge, truth)
			}
		}
		for s := range 3 {
			here := func(seen [][]int) [][]int {
				return only(revised(1)(seen), func(v []int) bool { return count(v, nonzero) == 0 || len(v) > s && v[s] != 0 })
			}
			if truth, charge := attackPure(real(m), here), float64(m.PureColumn(s)); math.Abs(truth-charge) > 1e-9*charge {
				t.Fatalf("%v, slice %d: charged %v, true %v", m, s, charge, truth)
			}
		}
	}
	// Periods of a unit that are apart.
	m := matrix(t, []int64{5}, []int64{0, 4}, []int64{0, 0, 3}, []int64{0, 0, 0, 2})
	if near, far := m.Pure(Units{AtMost: 2}), m.Pure(Units{AtMost: 2, Apart: 2}); near != 9 || far != 8 {
		t.Errorf("two periods: %d side by side, %d apart", near, far)
	}
}

// Each of these twins breaks the rule, and the adversary finds it out.
func TestBrokenPureTwinsAreCaught(t *testing.T) {
	steps := matrix(t, []int64{2}, []int64{1, 1}, []int64{1, 1, 1})
	for _, c := range []struct {
		name           string
		claimed, truth float64
	}{
		{"the mean of the columns", float64(steps.PureColumn(0)+steps.PureColumn(1)+steps.PureColumn(2)) / 3, attackPure(real(steps), frozen(1))},
		{"the norm that Gaussian noise asks for", math.Sqrt(float64(steps.Charge(single))), attackPure(real(steps), frozen(1))},
		{"a matrix that is not whole", 2, attackPure([][]float64{{1}, {0.5, 1}, {0, 0, 1}}, frozen(1))},
		{"a step that is drawn twice", float64(steps.Pure(single)), attackPure(real(steps), frozen(1), 2, 1, 1)},
		{"a unit that moves", float64(Independent(3).Pure(single)), attackPure(real(Independent(3)), moving(1))},
		{"periods that are not added up", float64(steps.Pure(single)), attackPure(real(steps), frozen(2))},
	} {
		if c.truth <= c.claimed*(1+1e-9) {
			t.Errorf("%s: claimed %v, and the adversary reaches no more than %v", c.name, c.claimed, c.truth)
		}
	}
}

// With ε alone and up to 36 periods running totals gain nothing from other noise than independent noise, and the plan takes
// it. Over more periods sums of blocks gain. The references are root mean squares times ε, for independent noise.
func TestPurePlans(t *testing.T) {
	for _, c := range []struct {
		periods     int
		independent float64
		name        string
		atMost      float64
	}{
		{12, 3.61, Alone, 3.61}, {24, 5.00, Alone, 5.00}, {36, 6.08, Alone, 6.08}, {60, 7.81, Blocks, 7.38}, {120, 11.00, Blocks, 8.98}, {240, 15.52, Blocks, 10.80},
	} {
		q := Question{Periods: c.periods, Rows: ToDate("running", Range{0, c.periods}), Goal: RMS, Units: single, Pure: true}
		p := find(t, q)
		got := 0.0
		for _, e := range p.Errors {
			got += 2 * e * e / float64(len(p.Errors))
		}
		got = math.Sqrt(got)
		t.Logf("%d: %s, %.2f", c.periods, p.Name, got)
		if alone := math.Sqrt2 * p.candidate(Alone).RMS; math.Abs(alone-c.independent) > 0.006 {
			t.Errorf("%d periods: independent noise has %v, want %v", c.periods, alone, c.independent)
		}
		if p.Name != c.name || got > c.atMost+0.006 {
			t.Errorf("%d periods: %s, %v", c.periods, p.Name, got)
		}
	}
	// A year that is measured by itself has half the noise of twelve months, at twice the price for a month.
	year := Sums12(36)
	if p := find(t, Question{Periods: 36, Rows: year, Goal: RMS, Units: single, Pure: true}); p.Name != Blocks || math.Abs(p.Errors[0]-2) > 1e-9 {
		t.Errorf("years: %s, %v", p.Name, p.Errors[0])
	}
	if anew := (&Question{Periods: 36, Rows: ToDate("running", Range{0, 36}), Units: single, Pure: true}).Anew(); anew != 36 {
		t.Errorf("every running total anew: %v", anew)
	}
}

// Sums12 are the years of so many months.
func Sums12(months int) []Row { return Sums("year", parts(months, 12)...) }

// Half is exact for one Laplace variable, tends to the normal one for many, and lies between for a few.
func TestHalfOfLaplaceNoise(t *testing.T) {
	of := func(factors ...int64) Estimate {
		e := Estimate{Over: big.NewInt(2)}
		for _, f := range factors {
			e.Factors = append(e.Factors, big.NewInt(f))
		}
		return e
	}
	for _, level := range []float64{50, 90, 95, 99} {
		if got, want := of(2).Half(level), -math.Log(1-level/100)/math.Sqrt2; math.Abs(got-want) > 1e-3*want {
			t.Errorf("one variable, %v %%: %v, want %v", level, got, want)
		}
	}
	many := of(slices.Repeat([]int64{2}, 400)...)
	if got := many.Half(95) / 20; math.Abs(got-1.96) > 3e-3 {
		t.Errorf("400 variables: %v", got)
	}
	// Two variables of scale b: P(|X| > x) = (1 + x/2b)·e^{−x/b}.
	x := of(2, -2).Half(95) * math.Sqrt2
	if beyond := (1 + x/2) * math.Exp(-x); math.Abs(beyond-0.05) > 1e-4 {
		t.Errorf("two variables: %v are beyond", beyond)
	}
	if s := of(2, 6).Step(); s != 1 {
		t.Errorf("step %v", s)
	}
}
