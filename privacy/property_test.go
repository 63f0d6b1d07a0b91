package privacy

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// expressions that both Rényi and distributions support.
func crossExpressions() []Event {
	return []Event{
		Gaussian{Sigma: 2}, Laplace{Scale: 1}, DiscreteLaplace{Scale: 2}, DiscreteLaplace{Scale: 3000, Sensitivity: Sensitivity{AddRemove: 1000}},
		DiscreteGaussian{Sigma: 30, Sensitivity: Sensitivity{AddRemove: 10}}, Pure{.7},
		Repeat{50, Laplace{Scale: 10}}, Repeat{200, Pure{.05}}, Repeat{30, DiscreteLaplace{Scale: 8}},
		Compose{[]Event{Gaussian{Sigma: 3}, Laplace{Scale: 2}, Pure{.1}}},
		Repeat{500, Poisson{.02, Gaussian{Sigma: 1}}}, Repeat{100, Poisson{.1, Laplace{Scale: 1}}}, Repeat{100, Poisson{.05, Pure{1}}},
		Repeat{100, Poisson{.05, Compose{[]Event{Gaussian{Sigma: 2}, Laplace{Scale: 2}}}}},
		Repeat{100, Poisson{.05, DiscreteGaussian{Sigma: 2000, Sensitivity: Sensitivity{AddRemove: 1000}, Coordinates: 3}}},
		Repeat{100, WithoutReplacement{10, 500, Gaussian{Sigma: 2}}}, Repeat{50, WithoutReplacement{10, 100, Laplace{Scale: 2}}},
		Repeat{20, Multistage{[]Stage{{2, 10, 0}, {5, 50, 0}}, Gaussian{Sigma: 2}}},
		Compose{[]Event{Repeat{10, Approx{.1, 1e-9}}, Gaussian{Sigma: 4}}},
		Repeat{30, RandomizedResponse{4, .3}},
	}
}

// Rényi against distributions, under each relation: no method's bound lies below a lower bound that another method certifies, and
// distributions are not looser than Rényi by more than their own tolerance.
func TestRenyiAgainstDistributions(t *testing.T) {
	both := map[Relation]int{}
	for _, e := range crossExpressions() {
		for _, rel := range []Relation{AddRemove, ReplaceOne} {
			a, err := EpsilonAt(e, rel, 1e-6)
			if err != nil {
				continue // refused under this relation
			}
			r, okR := a.Methods["rdp"]
			p, okP := a.Methods["pld"]
			for m, b := range a.Methods {
				if b.Epsilon < a.Lower*(1-1e-9) {
					t.Errorf("%#v %s: %s charges %g, the truth is at least %g", e, rel, m, b.Epsilon, a.Lower)
				}
			}
			if _, wor := e.(Repeat); wor && okP && rel == ReplaceOne && e.(Repeat).Event.kind() == "without_replacement" && a.Lower < p.Epsilon/2 {
				t.Errorf("%#v: lower bound %g, charged %g", e, a.Lower, p.Epsilon)
			}
			if !okR || !okP {
				continue
			}
			both[rel]++
			if p.Epsilon > r.Epsilon*1.011+1e-4 {
				t.Errorf("%#v %s: distributions %g, Rényi %g", e, rel, p.Epsilon, r.Epsilon)
			}
			t.Logf("%-11s lower %9.5f pld %9.5f rdp %9.5f basic %9.5g  %.90v", rel, a.Lower, p.Epsilon, r.Epsilon, a.Methods["basic"].Epsilon, e)
		}
	}
	if both[AddRemove] < 14 || both[ReplaceOne] < 17 {
		t.Errorf("compared only %v expressions", both)
	}
}

// The charge moves the right way with every parameter.
func TestMonotone(t *testing.T) {
	base := Repeat{100, Poisson{.02, Compose{[]Event{Gaussian{Sigma: 2}, Laplace{Scale: 5}}}}}
	staged := Repeat{10, Multistage{[]Stage{{2, 10, 0}, {5, 50, 0}}, Laplace{Scale: 3}}}
	fixed := Repeat{10, WithoutReplacement{20, 100, Gaussian{Sigma: 3}}}
	type step struct {
		name string
		rel  Relation
		make func(x float64) Event
		xs   []float64
	}
	steps := []step{
		{"sigma", AddRemove, func(x float64) Event { return Gaussian{Sigma: x} }, []float64{8, 4, 2, 1, .5}},
		{"scale", ReplaceOne, func(x float64) Event { return Repeat{3, Laplace{Scale: x}} }, []float64{8, 4, 2, 1, .5}},
		{"rate", AddRemove, func(x float64) Event { return Repeat{base.N, Poisson{x, base.Event.(Poisson).Event}} }, []float64{1e-6, .001, .01, .1, .9, 1}},
		{"rate", ReplaceOne, func(x float64) Event { return Repeat{base.N, Poisson{x, base.Event.(Poisson).Event}} }, []float64{1e-6, .001, .01, .1, .9, 1}},
		{"n", AddRemove, func(x float64) Event { return Repeat{int64(x), base.Event} }, []float64{1, 2, 5, 30, 200, 5000}},
		{"n", ReplaceOne, func(x float64) Event { return Repeat{int64(x), fixed.Event} }, []float64{1, 2, 5, 30, 200}},
		{"take", ReplaceOne, func(x float64) Event { return WithoutReplacement{int64(x), 1000, Gaussian{Sigma: 2}} }, []float64{1, 3, 10, 100, 500, 1000}},
		{"draws", ReplaceOne, func(x float64) Event { return WithReplacement{int64(x), 1000, Gaussian{Sigma: 2}} }, []float64{1, 3, 10, 100, 500, 5000}},
		{"stages", ReplaceOne, func(x float64) Event {
			return Repeat{10, Multistage{[]Stage{{int64(x), 10, 0}, {5, 50, 0}}, staged.Event.(Multistage).Event}}
		}, []float64{1, 2, 5, 10}},
		{"coordinates", ReplaceOne, func(x float64) Event {
			return DiscreteGaussian{Sigma: 40, Sensitivity: Sensitivity{AddRemove: 10}, Coordinates: int64(x)}
		}, []float64{1, 5, 100, 1e6}},
		{"local", ReplaceOne, func(x float64) Event { return Shuffled{5000, Pure{x}} }, []float64{.1, .5, 1, 2, 4}},
		{"users", ReplaceOne, func(x float64) Event { return Shuffled{int64(x), Pure{1}} }, []float64{1e6, 1e5, 1e4, 1e3}},
	}
	for _, s := range tier.Some(steps, 8) {
		for _, delta := range []float64{1e-7} {
			last := Answer{}
			for _, x := range s.xs {
				a, err := EpsilonAt(s.make(x), s.rel, delta)
				if err != nil {
					t.Fatalf("%s %g: %v", s.name, x, err)
				}
				// Each charge is certified within 1 % or 1e-4.
				if a.Epsilon < last.Epsilon*.99-1e-4 {
					t.Errorf("%s %s at %g: %g after %g", s.name, s.rel, x, a.Epsilon, last.Epsilon)
				}
				for m, b := range a.Methods {
					if was, ok := last.Methods[m]; ok && m != "pld" && b.Epsilon < was.Epsilon*(1-1e-6)-1e-12 {
						t.Errorf("%s %s at %g: %s says %g after %g", s.name, s.rel, x, m, b.Epsilon, was.Epsilon)
					}
				}
				last = a
			}
		}
	}
	// A smaller delta costs more, a larger epsilon leaves less.
	for _, e := range tier.Some([]Event{staged, base, fixed}, 3) {
		lastE, lastD := math.Inf(1), 1.0
		for _, d := range []float64{1e-12, 1e-9, 1e-6, 1e-3, .1} {
			a, err := EpsilonAt(e, ReplaceOne, d)
			if err != nil || a.Epsilon > lastE*1.01+1e-4 {
				t.Errorf("%#v: epsilon %g at delta %g after %g (%v)", e, a.Epsilon, d, lastE, err)
			}
			lastE = a.Epsilon
		}
		for _, x := range []float64{.01, .1, .5, 1, 3} {
			a, err := DeltaAt(e, ReplaceOne, x)
			if err != nil || a.Delta > lastD*1.02 {
				t.Errorf("%#v: delta %g at epsilon %g after %g (%v)", e, a.Delta, x, lastD, err)
			}
			lastD = a.Delta
		}
	}
}

// The inverse of a draw meets its own forward: spending the budget of the sample never costs the population more than the target.
func TestSampleBudget(t *testing.T) {
	for _, s := range []struct {
		s   Sampling
		rel Relation
	}{
		{Poisson{Rate: .1}, AddRemove}, {Poisson{Rate: .1}, ReplaceOne}, {WithoutReplacement{Take: 10, Of: 100}, ReplaceOne},
		{WithoutReplacement{Take: 10, Of: 100}, AddRemove}, {WithReplacement{Take: 10, Of: 100}, ReplaceOne}, {WithReplacement{Take: 300, Of: 100}, ReplaceOne},
		{Multistage{Stages: []Stage{{2, 10, 0}, {5, 50, 0}}}, ReplaceOne}, {Multistage{Stages: []Stage{{2, 10, 0}, {1, 50, 0}}}, ReplaceOne},
		{Multistage{Stages: []Stage{{20, 57, 0}, {3, 5, 0}, {2, 9, 0}}}, ReplaceOne},
	} {
		for _, target := range []Point{{1, 0}, {1, 1e-6}, {.01, 1e-9}, {8, 1e-3}, {1e-9, 0}} {
			b, err := SampleBudget(s.s, s.rel, target)
			if err != nil {
				t.Fatal(err)
			}
			if target.Delta == 0 && b.Delta != 0 || b.Epsilon <= 0 || target.Delta > 0 && b.Delta <= 0 {
				t.Errorf("%#v %v: %v on the sample", s.s, target, b)
			}
			a, err := EpsilonWith(s.s.With(Approx{b.Epsilon, b.Delta}), s.rel, target.Delta, Options{Methods: []string{"basic"}})
			if err != nil || a.Epsilon > target.Epsilon {
				t.Errorf("%#v %v: %v on the sample costs %.17g (%v)", s.s, target, b, a.Epsilon, err)
			}
			if target.Delta > 0 { // a mechanism with half the delta must not lose its bound
				a, err := EpsilonWith(s.s.With(Approx{b.Epsilon, b.Delta / 2}), s.rel, target.Delta, Options{Methods: []string{"basic"}})
				if err != nil || a.Epsilon > target.Epsilon {
					t.Errorf("%#v %v: half the delta costs %g (%v)", s.s, target, a.Epsilon, err)
				}
			}
			f, err := Efficiency(s.s, s.rel, target)
			if err != nil || !(f > 0 && f <= 1) {
				t.Errorf("%#v %v: efficiency %g (%v)", s.s, target, f, err)
			}
		}
	}
}
