package pld

import (
	"testing"
)

// within returns the factor by which the bound of a curve may be above that of a point alone.
func within(delta float64) float64 {
	if delta < faint {
		return 1.1
	}
	return 1.01
}

// A curve that is read off few laws is nowhere below the truth, and close to what each point alone is bounded by.
func TestLaws(t *testing.T) {
	unlike := func(n int, of func(i int) Mechanism) Mechanism {
		var parts []Mechanism
		for i := range n {
			parts = append(parts, of(i))
		}
		return Compose(parts...)
	}
	for name, c := range map[string]struct {
		m     Mechanism
		right float64
	}{
		"ten unlike":           {unlike(10, func(i int) Mechanism { return Laplace(8 + 0.1*float64(i)) }), 1.5},
		"forty unlike":         {unlike(40, func(i int) Mechanism { return Laplace(30 + float64(i)) }), 1.5},
		"eight and a gaussian": {Compose(Repeat(8, Laplace(12)), Gaussian(10)), 1.9},
		"poisson, many":        {Repeat(1000, Poisson(0.01, Gaussian(1))), 3},
		"poisson, once":        {Poisson(0.1, Compose(Laplace(4), Laplace(5), Gaussian(3))), 0.4},
		"without replacement":  {Compose(WithoutReplacement(0.1, Laplace(2)), WithoutReplacement(0.2, Laplace(3))), 0.3},
		"discrete":             {Compose(Repeat(5, DiscreteLaplace(3, 1)), Repeat(2, DiscreteGaussian(2, 1))), 3},
		"with a point":         {Compose(Approx(0.5, 1e-7), Repeat(3, Laplace(5))), 1.4},
	} {
		laws := &Laws{}
		for i := 8; i >= 0; i-- {
			eps := c.right * float64(i) / 8
			got, err := Delta(c.m, eps, Options{UpperOnly: true, Laws: laws})
			if err != nil {
				t.Fatal(name, eps, err)
			}
			alone, err := Delta(c.m, eps, Options{})
			if err != nil {
				t.Fatal(name, eps, err)
			}
			if !(got.Upper >= alone.Lower) || got.Upper > alone.Upper*within(alone.Upper)+enough {
				t.Errorf("%s, ε %g: %g, and alone between %g and %g", name, eps, got.Upper, alone.Lower, alone.Upper)
			}
		}
		for key, k := range laws.known {
			for _, s := range k.sides {
				t.Log(name, len(key), len(s.laws), s.h)
				if len(s.laws) > 4 {
					t.Errorf("%s: %d laws for 9 points", name, len(s.laws))
				}
			}
		}
	}
}
