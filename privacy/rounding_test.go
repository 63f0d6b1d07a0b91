package privacy

import (
	"errors"
	"math"
	"math/big"
	"testing"
)

// Profiles where terms cancel or leave the range of float64, at points where earlier
// forms were below the truth: the figures are from 2,600 bits, rounded down.
func TestRoundingIsUpwards(t *testing.T) {
	for _, c := range []struct{ scale, s, eps, truth float64 }{
		{0x1.d7774p+20, 0x1.5c5dfbcp+26, 0x1.7a5162f8109f9p+05, 0x1.133d0b90c9ab7p-31},
		{0x1.bdfb7ae4p+30, 0x1.4a9068d1913e6p+51, 0x1.7b7f266cf8f13p+20, 0x1.08dc55b8a1d12p-15},
		{0x1.31a9e975d902bp-21, 0x1.198e3862e3b8cp+51, 0x1.d79e26008ada3p+71, 1}, // the last point before the end
	} {
		if d := discreteLaplaceProfile(c.scale, c.s).delta(c.eps); !(d >= c.truth && d <= c.truth*(1+1e-9)) {
			t.Errorf("discrete laplace, scale %g, shift %g, ε %g: %.17g, the truth is %.17g", c.scale, c.s, c.eps, d, c.truth)
		}
	}
	for _, c := range []struct{ mu, eps, truth, most float64 }{
		{0x1.3423b0b530f81p+19, 0x1.72eccb3fff6abp+37, 0x1.5eb648b938bdcp-385, 1 + 1e-9},
		{0x1.28caeca53fe9cp+19, 0x1.581e23d668273p+37, 0x1.7336c753f7f74p-591, 1 + 1e-9},
		{0x1.8f72e12f0b96p-19, 0x1.d99817ff90309p-14, 0x2dp-1074, math.Inf(1)},
		{0x1.176d308b0fecap-673, 0x1.cc394671dfaa2p-669, 5e-324, math.Inf(1)}, // 2.5e-357
	} {
		if d := gaussianDelta(c.mu, c.eps); !(d >= c.truth && d <= c.truth*c.most) {
			t.Errorf("gaussian, μ %g, ε %g: %.17g, the truth is %.17g", c.mu, c.eps, d, c.truth)
		}
	}
}

// Where δ is below the smallest normal number, math.Log is off by up to 36 on amd64: such
// a δ is charged as 0, or refused. It was once charged an ε of 38.04, of 38.87 in truth.
func TestSubnormalDelta(t *testing.T) {
	noise := Gaussian{Sigma: 1, Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 2}}
	for _, e := range []Event{noise, Repeat{N: 1000, Event: Poisson{Rate: 0.01, Event: noise}}} {
		if a, err := EpsilonAt(e, AddRemove, 5e-324); err == nil {
			t.Errorf("%#v: ε %g at δ %g", e, a.Epsilon, a.Delta)
		}
	}
	if a, err := EpsilonAt(Pure{Eps: 2}, AddRemove, 5e-324); err != nil || a.Epsilon != 2 || a.Delta != 0 {
		t.Errorf("pure: %+v, %v", a, err)
	}
	if _, err := EpsilonAt(Poisson{Rate: 5e-324, Event: Pure{Eps: 2}}, AddRemove, 0); err == nil {
		t.Error("a subnormal rate is accepted")
	}
}

// A rate or a shift whose square underflows still moves the total variation distance,
// and a probability that underflows is not 0: a Rényi curve, and a distribution, once
// said that nothing had happened.
func TestUnderflowIsNotNothing(t *testing.T) {
	one := Sensitivity{AddRemove: 1}
	for _, c := range []struct {
		e     Event
		eps   float64
		least float64
	}{
		{Poisson{Rate: 1e-300, Event: Gaussian{Sigma: 1, Sensitivity: one}}, 0, 3.8e-301}, // rate·(2Φ(½) − 1)
		{Poisson{Rate: 1e-170, Event: Laplace{Scale: 1, Sensitivity: one}}, 0, 3.9e-171},  // rate·(1 − e^{−½})
		{Gaussian{Sigma: 1e170, Sensitivity: one}, 0, 3.9e-171},
		{Gaussian{Sigma: 1.619, Sensitivity: one}, 25.4, 5e-324}, // 1.8e-366 or so in truth
	} {
		a, err := DeltaAt(c.e, AddRemove, c.eps)
		if err != nil {
			t.Fatal(err)
		}
		for m, b := range a.Methods {
			if !(b.Delta >= c.least) {
				t.Errorf("%#v, method %s: δ %g at ε %g, at least %g in truth", c.e, m, b.Delta, c.eps, c.least)
			}
		}
	}
}

// The loss of many answers that are hardly randomized lies next to its end, where what
// the conversion subtracts is a hair: the figure is from 2,400 bits.
func TestConversionNextToTheEnd(t *testing.T) {
	e := Repeat{N: 5, Event: RandomizedResponse{K: 146, Eps0: 0x1.110c1ffcf4c32p-10}}
	a, err := EpsilonAt(e, ReplaceOne, 0x1.79ca10c924223p-67)
	if err != nil {
		t.Fatal(err)
	}
	for m, b := range a.Methods {
		if !(b.Epsilon > 0x1.554f25268f8eap-08) {
			t.Errorf("method %s: ε %x, at which δ is 5e-8 of itself above 1e-20", m, b.Epsilon)
		}
	}
}

// A draw at rate 1, a group and a unit of one row cost what is inside them, so the runs of
// repeats around and inside them multiply. Their product once overflowed: 2^64 runs cost
// nothing.
func TestRunsDoNotOverflow(t *testing.T) {
	many := Repeat{N: 1 << 32, Event: Pure{Eps: 1}}
	for _, inner := range []Event{
		Poisson{Rate: 1, Event: many}, ByGroup{Event: many}, RowsOfUnit{Rows: 1, Event: Poisson{Rate: 1, Event: many}},
	} {
		for _, rel := range []Relation{AddRemove, ReplaceOne} {
			a, err := EpsilonAt(Repeat{N: 1 << 32, Event: inner}, rel, 1e-6)
			var wrong *Error
			if !errors.As(err, &wrong) {
				t.Errorf("2^64 runs of %s under %s cost (%g, %v)", inner.kind(), rel, a.Epsilon, err)
			}
		}
	}
}

// log(1 + q(e^ε − 1)) where q is about e^−ε: ε + log q cancels. A Rényi curve once said 0,
// also for many runs. The figures are q(e^ε − 1) or its logarithm, rounded down.
func TestTinyRatesOfLargeEpsilons(t *testing.T) {
	for _, c := range []struct{ q, eps, truth float64 }{
		{1e-17, 31, 2.9044631303815931e-4}, {1e-30, 35, 1.5860134523134286e-15}, {1e-30, 40, 2.353852668369923e-13},
	} {
		for _, delta := range []float64{0, 1e-300} {
			a, err := EpsilonAt(Poisson{Rate: c.q, Event: Pure{Eps: c.eps}}, AddRemove, delta)
			if err != nil || !(a.Epsilon >= c.truth && a.Epsilon <= c.truth*(1+1e-9)) {
				t.Errorf("pure %g at rate %g, δ %g: ε %.17g by %s, the truth is %.17g (%v)", c.eps, c.q, delta, a.Epsilon, a.Method, c.truth, err)
			}
		}
	}
	many := Repeat{N: 1e12, Event: Poisson{Rate: 1e-30, Event: Pure{Eps: 40}}}
	for method, least := range map[string]float64{"basic": 0.2353852668, "rdp": 0.2353852668} {
		a, err := EpsilonWith(many, AddRemove, 0, Options{Methods: []string{method}})
		if err != nil || !(a.Epsilon >= least) {
			t.Errorf("%s charges 10^12 runs %g, the truth is %g (%v)", method, a.Epsilon, least, err)
		}
	}
}

// Three units move a shift of 2^52 − 1 steps by a number that is no float64.
func TestGroupOfLongShifts(t *testing.T) {
	p, u := DiscreteLaplace{Scale: 1, Sensitivity: Sensitivity{AddRemove: 1<<52 - 1}}.basic(AddRemove, "", 3)
	if truth := big.NewRat(3*(1<<52-1), 1); u != nil || new(big.Rat).SetFloat64(p.pure).Cmp(truth) < 0 {
		t.Errorf("three units cost %.0f, less than %s (%v)", p.pure, truth.FloatString(0), u)
	}
}

// The chances that j rows of a unit are drawn bound the true ones from above, and their sum
// from below, for the largest unit too.
func TestChancesOfRowsAreUpwards(t *testing.T) {
	for _, q := range []float64{1e-3, 0.5, 0.9, 0.999} {
		m := drawnRows{rows: make([]profile, maxRowsOfUnit+1)}
		m.binomial(maxRowsOfUnit, q)
		exact := func(x float64) *big.Float { return new(big.Float).SetPrec(4000).SetFloat64(x) }
		rest := exact(1)
		rest.Sub(rest, exact(q))
		p, some := exact(1), exact(0)
		for range maxRowsOfUnit {
			p.Mul(p, rest)
		}
		for j := 1; j <= maxRowsOfUnit; j++ {
			p.Mul(p, exact(float64(maxRowsOfUnit-j+1))).Quo(p, exact(float64(j))).Mul(p, exact(q)).Quo(p, rest)
			some.Add(some, p)
			if truth, _ := p.Float64(); truth > 1e-300 && p.Cmp(exact(m.chance[j])) > 0 {
				t.Fatalf("rate %g: %d rows are drawn with probability %.17g, and %.17g is counted", q, j, truth, m.chance[j])
			}
		}
		if some.Cmp(exact(m.some*(1-roundedChance))) < 0 {
			t.Errorf("rate %g: fewer rows are drawn than are counted", q)
		}
	}
}
