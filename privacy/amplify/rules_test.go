package amplify

import (
	"math"
	"testing"
)

var (
	rates    = []float64{1e-12, 1e-9, 1e-4, .01, .1, .3, .5, .9, .999999, 1}
	epsilons = []float64{1e-12, 1e-9, 1e-4, .01, .1, .5, 1, 2, 5, 20, 100, 600, 699, 701, 1000, 1e4}
	deltas   = []float64{1e-300, 1e-100, 1e-12, 1e-6, .01, .5}
	designs  = []Design{
		{{1, 2, 0}}, {{3, 10, 0}}, {{1, 2, 0}, {2, 3, 0}}, {{2, 2, 0}, {1, 5, 0}}, {{5, 100, 0}, {4, 50, 0}, {2, 8, 0}},
		{{1, 10, 0}, {1, 2, 3}}, {{1, 1e9, 0}, {1e6, 1e7, 0}}, {{10, 20, 0}, {7, 7, 0}},
	}
)

// Inverses never overspend, by not even a unit in the last place, and waste nothing that matters.
func TestInverses(t *testing.T) {
	for _, q := range rates {
		for _, e := range epsilons {
			x := SampleEpsilon(q, e)
			if back := Epsilon(q, x); back > e || back < e*(1-1e-13) {
				t.Errorf("epsilon %g at rate %g: %g on the sample gives %.17g back", e, q, x, back)
			}
			if x < e {
				t.Errorf("epsilon %g at rate %g: only %g on the sample", e, q, x)
			}
		}
		for _, d := range deltas {
			x := SampleDelta(q, d)
			if back := Delta(q, x); back > d || x < 1 && back < d*(1-1e-13)-1e-320 {
				t.Errorf("delta %g at rate %g: %g on the sample gives %g back", d, q, x, back)
			}
		}
	}
	for _, d := range designs {
		for _, e := range epsilons {
			for _, both := range []bool{false, true} {
				x := d.SamplePure(e, both)
				if back := d.Pure(x, both); back > e || back < e*(1-1e-9) {
					t.Errorf("%v: epsilon %g: %g on the sample gives %.17g back", d, e, x, back)
				}
			}
		}
	}
	for _, p := range rates {
		for _, e := range epsilons {
			x := PoissonPoissonSample(p, .3, 7, e)
			if back := PoissonPoisson(p, .3, 7, x); back > e || back < e*(1-1e-9) {
				t.Errorf("two-stage poisson %g: epsilon %g: %g on the sample gives %.17g back", p, e, x, back)
			}
		}
	}
}

// Every guarantee is finite and grows with every parameter that makes things worse.
func TestMonotoneAndFinite(t *testing.T) {
	rules := map[string]func(q, e float64) float64{
		"Epsilon":            Epsilon,
		"PoissonPoisson":     func(q, e float64) float64 { return PoissonPoisson(q, .4, 5, e) },
		"PoissonPoisson q":   func(q, e float64) float64 { return PoissonPoisson(.4, q, 5, e) },
		"PoissonReplacePure": func(q, e float64) float64 { return PoissonReplacePure(q, e, 1.7*e) },
	}
	for name, f := range rules {
		for i, q := range rates {
			for j, e := range epsilons {
				v := f(q, e)
				if !(v >= 0) || math.IsInf(v, 0) || v > 1.7*e*(1+1e-12) {
					t.Errorf("%s(%g, %g) = %g", name, q, e, v)
				}
				if j > 0 && v < f(q, epsilons[j-1])*(1-1e-14) {
					t.Errorf("%s(%g, %g) falls with epsilon", name, q, e)
				}
				if i > 0 && v < f(rates[i-1], e)*(1-1e-14) {
					t.Errorf("%s(%g, %g) falls with the rate", name, q, e)
				}
			}
		}
	}
	for _, d := range designs {
		for i, e := range epsilons {
			for name, f := range map[string]func(float64) float64{"group": d.GroupForm, "recursion": d.Recursion, "conditioned": d.Conditioned, "published": d.PublishedEpsilon} {
				v := f(e)
				if !(v >= 0) || math.IsNaN(v) || i > 0 && v < f(epsilons[i-1])*(1-1e-14) {
					t.Errorf("%v %s(%g) = %g", d, name, e, v)
				}
			}
			if r, c := d.Recursion(e), d.Conditioned(e); r > c*(1+1e-14) {
				t.Errorf("%v: recursion %g is above conditioning %g", d, r, c)
			}
			if p := d.PublishedEpsilon(e); p > d.Pure(e, true)*(1+1e-13) {
				t.Errorf("%v: the published %g is above what is proven, %g", d, p, d.Pure(e, true))
			}
		}
	}
}

// Small rates and epsilons keep their digits: ε' → q·ε, and the efficiency never exceeds 1 (the trap of P18).
func TestSmallNumbers(t *testing.T) {
	for _, q := range rates {
		for e := 1e-12; e < 1e-7; e *= 10 {
			near(t, "q·ε", Epsilon(q, e)/(q*e), 1, 1e-6)
		}
		for _, e := range epsilons {
			if f := Efficiency(q, e); !(f > 0 && f <= 1) {
				t.Errorf("efficiency at rate %g, epsilon %g: %g", q, e, f)
			}
		}
	}
	for _, c := range []float64{1e-9, .01, 1, 10, 1e6} {
		for _, q := range []float64{1e-9, 1e-4, .01, .3, .9} {
			if f, b := Efficiency(q, c*q), EfficiencyBound(c); f < b*(1-1e-12) {
				t.Errorf("efficiency %g at epsilon = %g·%g is below log(1+c)/c = %g", f, c, q, b)
			}
		}
	}
}

// The sum over how often a record was drawn, against the sum term by term.
func TestWithReplacementSum(t *testing.T) {
	for _, c := range []struct{ n, of int64 }{{1, 2}, {3, 4}, {20, 7}, {100, 1000}, {50, 3}} {
		for _, e0 := range []float64{.1, 1, 3} {
			for _, eps := range []float64{0, .3, 1, 4} {
				group := func(k int64) float64 { return PureDelta(GroupEpsilon(float64(k), e0), eps) }
				var want float64
				choose := 1.0
				for k := int64(1); k <= c.n; k++ {
					choose *= float64(c.n-k+1) / float64(k)
					want += choose * math.Pow(1/float64(c.of), float64(k)) * math.Pow(1-1/float64(c.of), float64(c.n-k)) * group(k)
				}
				got := WithReplacementDelta(c.n, c.of, eps, group)
				if got < want || got > want*(1+1e-6) {
					t.Errorf("%+v ε0=%g at %g: %.12g, want %.12g", c, e0, eps, got, want)
				}
			}
		}
	}
	if d := WithReplacementDelta(1e12, 10, 1, func(int64) float64 { return .5 }); d != 1 {
		t.Errorf("a record drawn for certain: delta %g", d)
	}
}

// Out-of-range arguments give the sound answer, never a panic or a silent zero.
func TestNonsense(t *testing.T) {
	nan := math.NaN()
	for _, x := range []float64{Epsilon(0, 1), Epsilon(2, 1), Epsilon(nan, 1), Epsilon(.5, nan), Epsilon(.5, -1), GroupEpsilon(0, 1), Design{}.Recursion(1), Design{{3, 2, 0}}.GroupForm(1), PoissonPoisson(.5, .5, 0, 1)} {
		if !math.IsInf(x, 1) {
			t.Errorf("got %g, want no guarantee", x)
		}
	}
	for _, x := range []float64{Delta(0, .1), Delta(.5, nan), PoissonReplaceDelta(.5, nan, .1, .1), PureDelta(nan, 1), ApproxDelta(1, 2, 1), Design{}.ConditionedDelta(.1), WithReplacementDelta(0, 1, 1, nil)} {
		if x != 1 {
			t.Errorf("got %g, want 1", x)
		}
	}
	for _, x := range []float64{SampleEpsilon(0, 1), SampleEpsilon(.5, nan), SampleDelta(2, .1), Design{}.SamplePure(1, true), Efficiency(.5, 0)} {
		if x != 0 {
			t.Errorf("got %g, want nothing to spend", x)
		}
	}
}
