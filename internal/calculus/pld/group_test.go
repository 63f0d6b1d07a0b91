package pld

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// families makes mechanisms from parameters that grow with the loss of privacy.
var families = map[string]func(x, y float64) Mechanism{
	"gaussian":            func(x, _ float64) Mechanism { return Gaussian(1 / x) },
	"laplace":             func(x, _ float64) Mechanism { return Laplace(1 / x) },
	"discrete laplace":    func(x, _ float64) Mechanism { return DiscreteLaplace(3/x, 3) },
	"randomized response": func(x, _ float64) Mechanism { return RandomizedResponse(4, x) },
	"approx":              func(x, y float64) Mechanism { return Approx(x, y/100) },
	"replace gaussian":    func(x, y float64) Mechanism { return PoissonReplace(y, Gaussian(1/x), Gaussian(0.5/x)) },
	"replace laplace":     func(x, y float64) Mechanism { return PoissonReplace(y, Laplace(1/x), Laplace(0.5/x)) },
	"poisson":             func(x, y float64) Mechanism { return Poisson(y, Laplace(1/x)) },
	"without":             func(x, y float64) Mechanism { return WithoutReplacement(y, Gaussian(1/x)) },
	"mixture":             func(x, y float64) Mechanism { return Mixture(y, WithoutReplacement(0.3, Laplace(1/x))) },
	"draw of several":     func(x, y float64) Mechanism { return Poisson(y, Compose(Laplace(1/x), RandomizedResponse(3, y))) },
}

func TestLargerParametersDominate(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for name, f := range families {
		for range tier.Of(2, 8) {
			x, y := 0.1+2*r.Float64(), 0.05+0.4*r.Float64()
			x2, y2 := x*(1+r.Float64()), y*(1+r.Float64())
			small, err := asNode(f(x, y))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := shapeOf(small); !ok {
				t.Fatalf("%s: no family", name)
			}
			for _, eps := range []float64{-2, -0.5, 0, 0.1, 0.7, 2} {
				a, err1 := Delta(f(x, y), eps, Options{})
				b, err2 := Delta(f(x2, y2), eps, Options{})
				if err1 != nil && !errors.Is(err1, ErrWide) || err2 != nil && !errors.Is(err2, ErrWide) {
					t.Fatal(name, err1, err2)
				}
				if a.Lower > b.Upper+1e-12 {
					t.Errorf("%s: delta(%v) at (%v, %v) is at least %v, at (%v, %v) at most %v", name, eps, x, y, a.Lower, x2, y2, b.Upper)
				}
			}
		}
	}
}

// A shape rebuilds the node that it came from.
func TestShapesRebuild(t *testing.T) {
	for name, f := range families {
		n, err := asNode(f(0.7, 0.2))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := shapeOf(n)
		if got := s.build(s.at).key(); got != n.key() {
			t.Errorf("%s: %s came back as %s", name, n.key(), got)
		}
	}
}

// The joined composition against the same one composed part by part.
func TestJoinedBracketHoldsTheTruth(t *testing.T) {
	tier.Full(t, "TestLargerParametersDominate")
	for name, f := range map[string]func(u float64) Mechanism{
		"laplace":          func(u float64) Mechanism { return Laplace(4 + 3*u) },
		"poisson laplace":  func(u float64) Mechanism { return Poisson(0.05+0.1*u*u, Laplace(1+u)) },
		"poisson gaussian": func(u float64) Mechanism { return Poisson(0.05, Gaussian(1+u)) },
	} {
		var parts []Mechanism
		for i := range 130 {
			parts = append(parts, f(float64(i)/130))
		}
		m := Compose(parts...)
		c := m.(composition)
		o, _ := Options{}.filled()
		const limit = 96
		above, below, err := join(c, limit)
		if err != nil || len(above.terms) > limit || len(below.terms) > limit || above.steps() != c.steps() || below.steps() != c.steps() {
			t.Fatal(name, len(above.terms), len(below.terms), err)
		}
		truth, err := (&question{c: c, below: c, o: o, epsilon: true, at: 1e-6, space: &workspace{}}).answer()
		if err != nil {
			t.Fatal(name, err)
		}
		iv, err := (&question{c: above, below: below, o: o, epsilon: true, at: 1e-6, space: &workspace{}}).answer()
		if err != nil && !errors.Is(err, ErrWide) {
			t.Fatal(name, err)
		}
		if iv.Upper < truth.Lower || iv.Lower > truth.Upper || iv.Upper > truth.Upper*1.05 || iv.Lower < truth.Lower*0.95 {
			t.Errorf("%s: joined %v, part by part %v", name, iv, truth)
		}
	}
}

func TestTooManyUnknownsAreRefused(t *testing.T) {
	var parts []Mechanism
	for i := range maxApart + 1 {
		parts = append(parts, DiscreteGaussian(5+float64(i)/100, 1))
	}
	if _, err := Epsilon(Compose(parts...), 1e-6, Options{}); !errors.Is(err, ErrNotCertified) {
		t.Fatal(err)
	}
}

// A nest of draws with several releases each works through no more than is allowed.
func TestWorkIsBounded(t *testing.T) {
	tier.Full(t, "TestCorners")
	m := Gaussian(1)
	for range 20 {
		m = Poisson(0.9, Compose(m, Laplace(5)))
	}
	n, err := asNode(m)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := Options{}.filled()
	c := composition{[]term{{n, 1}}}
	q := &question{c: c, below: c, o: o, epsilon: true, at: 1e-6, space: &workspace{}}
	iv, err := q.answer()
	if err != nil && !errors.Is(err, ErrWide) && !errors.Is(err, ErrNotCertified) {
		t.Fatal(err)
	}
	if q.work > 2*maxWork {
		t.Errorf("%v of %v worked through", q.work, float64(maxWork))
	}
	if err == nil && (math.IsNaN(iv.Upper) || iv.Lower > iv.Upper) {
		t.Error(iv)
	}
}
