package pld

import (
	"errors"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

func mustEpsilon(t *testing.T, m Mechanism, delta float64) Interval {
	t.Helper()
	iv, err := Epsilon(m, delta, Options{})
	if err != nil && !errors.Is(err, ErrWide) {
		t.Fatal(err)
	}
	if !(iv.Lower >= 0 && iv.Lower <= iv.Upper) {
		t.Fatalf("interval [%v, %v]", iv.Lower, iv.Upper)
	}
	return iv
}

// Where x makes a mechanism less private, the lower bound at one x may not pass the
// upper bound at a larger one.
func TestMonotone(t *testing.T) {
	steps := []float64{0.1, 0.13, 0.3, 1, 1.01, 2}
	for name, f := range map[string]func(x float64) Interval{
		"rate":  func(x float64) Interval { return mustEpsilon(t, Repeat(300, Poisson(x/4, Gaussian(2))), 1e-6) },
		"sigma": func(x float64) Interval { return mustEpsilon(t, Repeat(300, Poisson(0.05, Gaussian(1/x))), 1e-6) },
		"steps": func(x float64) Interval {
			return mustEpsilon(t, Repeat(int64(1000*x), Poisson(0.02, Laplace(1))), 1e-6)
		},
		"delta": func(x float64) Interval {
			return mustEpsilon(t, Repeat(300, Poisson(0.05, Gaussian(1))), math.Exp(-10*x))
		},
		"wor": func(x float64) Interval {
			return mustEpsilon(t, Repeat(50, WithoutReplacement(x/2, Laplace(1))), 1e-6)
		},
		"replace": func(x float64) Interval {
			return mustEpsilon(t, Repeat(50, PoissonReplace(x/2, Laplace(1), Laplace(0.5))), 1e-6)
		},
	} {
		var last Interval
		for _, x := range steps {
			iv := f(x)
			if last.Lower > iv.Upper {
				t.Errorf("%s: at %v [%v, %v] after [%v, %v]", name, x, iv.Lower, iv.Upper, last.Lower, last.Upper)
			}
			last = iv
		}
	}
}

// Known limits: rate 1 is no sampling, one run is the mechanism, the order of parts
// does not matter, a profile given as a function is what it describes.
func TestIdentities(t *testing.T) {
	profile := func(eps float64) float64 { return gaussianDelta(1, eps) }
	for _, c := range []struct {
		name string
		a, b Mechanism
	}{
		{"rate 1", Repeat(40, Poisson(1, Laplace(3))), Repeat(40, Laplace(3))},
		{"order", Compose(Poisson(0.1, Gaussian(1)), Laplace(2)), Compose(Laplace(2), Poisson(0.1, Gaussian(1)))},
		{"gaussians", Repeat(25, Gaussian(5)), Gaussian(1)},
		{"profile", Repeat(10, FromProfile(profile)), Gaussian(1 / math.Sqrt(10))},
		{"profile sampled", Repeat(10, Poisson(0.2, FromProfile(profile))), Repeat(10, Poisson(0.2, Gaussian(1)))},
		{"fine discrete gaussian", Repeat(10, DiscreteGaussian(3000, 1000)), Repeat(10, Gaussian(3))},
		{"finer discrete gaussian", Repeat(10, DiscreteGaussian(9000, 3000)), Repeat(10, Gaussian(3))},
		{"fine discrete laplace", Repeat(10, DiscreteLaplace(12000, 4000)), Repeat(10, Laplace(3))},
		{"replace at rate 1", PoissonReplace(1, Gaussian(2), Gaussian(1)), Gaussian(1)},
		{"replace near rate 1", Repeat(5, PoissonReplace(1-1e-9, Gaussian(2), Gaussian(1))), Repeat(5, Gaussian(1))},
		{"replace laplace near rate 1", Repeat(5, PoissonReplace(1-1e-9, Laplace(2), Laplace(1))), Repeat(5, Laplace(1))},
		{"mixture 1", Repeat(5, Mixture(1, Laplace(1))), Repeat(5, Laplace(1))},
		{"nested", Repeat(20, Poisson(0.1, Compose(Gaussian(2), Gaussian(2)))), Repeat(20, Poisson(0.1, Gaussian(math.Sqrt(2))))},
		{"asymmetric inner", Repeat(3, WithoutReplacement(0.999999999, Poisson(0.1, Gaussian(1)))), Repeat(3, Poisson(0.1, Gaussian(1)))},
		{"nested repeat", Repeat(20, Poisson(0.1, Repeat(4, Poisson(0.999999999, Gaussian(4))))), Repeat(20, Poisson(0.1, Gaussian(2)))},
	} {
		a, b := mustEpsilon(t, c.a, 1e-6), mustEpsilon(t, c.b, 1e-6)
		if slack := 1e-5*a.Upper + 1e-7; a.Lower > b.Upper+slack || b.Lower > a.Upper+slack || math.Abs(a.Upper-b.Upper) > 0.01*a.Upper {
			t.Errorf("%s: [%v, %v] and [%v, %v]", c.name, a.Lower, a.Upper, b.Lower, b.Upper)
		}
	}
}

// The two queries are each other's inverse.
func TestInverse(t *testing.T) {
	for _, m := range []Mechanism{
		Repeat(100, Poisson(0.02, Gaussian(1))), Repeat(20, Laplace(4)),
		Compose(Poisson(0.1, Laplace(1)), Gaussian(3)), Poisson(0.1, Compose(Laplace(1), Laplace(2))),
	} {
		for _, delta := range tier.Some([]float64{1e-9, 1e-3, 1e-30}, 3) {
			e := mustEpsilon(t, m, delta)
			d, err := Delta(m, e.Upper, Options{})
			if err != nil && !errors.Is(err, ErrWide) {
				t.Fatal(err)
			}
			if d.Lower > delta {
				t.Errorf("delta(%v) is at least %v, epsilon was charged for %v", e.Upper, d.Lower, delta)
			}
			if d, err = Delta(m, e.Lower*(1-1e-9)-1e-12, Options{}); err != nil && !errors.Is(err, ErrWide) {
				t.Fatal(err)
			}
			if e.Lower > 0 && d.Upper < delta {
				t.Errorf("delta(%v) is at most %v, epsilon(%v) was to be no less", e.Lower, d.Upper, delta)
			}
		}
	}
}

// The corners of the range: finite, sound, quick.
func TestCorners(t *testing.T) {
	for i, c := range []struct {
		m      Mechanism
		delta  float64
		atMost float64
	}{
		{Repeat(1e9, Poisson(1e-6, Gaussian(1))), 1e-9, 0.217},
		{Repeat(1e4, Poisson(0.01, Gaussian(1))), 1e-300, 110},
		{Repeat(1e9, Poisson(1e-12, Gaussian(1))), 1e-5, 1e-3},
		{Repeat(1e9, Laplace(1e9)), 1e-6, 1e-3},
		{Repeat(1e9, RandomizedResponse(2, 1e-9)), 1e-6, 1e-3},
		{Repeat(1e6, Approx(1e-12, 1e-300)), 1e-290, 1e-6},
		{Repeat(100, Approx(1e4, 0)), 1e-300, 1e6},
		{Repeat(1000, Gaussian(0.001)), 1e-6, 1e11},
	} {
		if testing.Short() && i%3 != 2 {
			continue
		}
		iv := mustEpsilon(t, c.m, c.delta)
		if !(iv.Upper <= c.atMost*(1+1e-9)) {
			n, _ := asNode(c.m)
			t.Errorf("%s: [%v, %v] above %v", n.key(), iv.Lower, iv.Upper, c.atMost)
		}
	}
}

func TestBadInput(t *testing.T) {
	deep := Mechanism(Laplace(1))
	for range 1000 {
		deep = Poisson(0.5, deep)
	}
	for name, m := range map[string]Mechanism{
		"nil": nil, "sigma 0": Gaussian(0), "sigma NaN": Gaussian(math.NaN()), "laplace": Laplace(-1),
		"rate 0": Poisson(0, Laplace(1)), "rate 2": Poisson(2, Laplace(1)), "wor": WithoutReplacement(-1, Laplace(1)),
		"mixture": Mixture(1.5, Laplace(1)), "k": RandomizedResponse(1, 1), "eps0": RandomizedResponse(2, math.Inf(1)),
		"approx": Approx(1, 2), "repeat": Repeat(-1, Laplace(1)), "inner": Repeat(3, Poisson(0.1, Compose(Laplace(0)))),
		"deep": deep, "profile": FromProfile(nil), "replace": PoissonReplace(0.1, Gaussian(1), Gaussian(0)),
		"wide": DiscreteGaussian(20000, 1), "far": DiscreteLaplace(1, 5000), "discrete": DiscreteGaussian(0, 1), "discrete laplace": DiscreteLaplace(math.NaN(), 1),
	} {
		if iv, err := Epsilon(m, 1e-6, Options{}); err == nil {
			t.Errorf("%s: no error but %v", name, iv)
		}
	}
	for _, delta := range []float64{-1, 1, math.NaN()} {
		if _, err := Epsilon(Laplace(1), delta, Options{}); err == nil {
			t.Errorf("delta %v was accepted", delta)
		}
	}
	if iv, err := Epsilon(Repeat(0, Laplace(1)), 0, Options{}); err != nil || iv.Upper != 0 {
		t.Errorf("nothing run: %v %v", iv, err)
	}
}

// ε + log q cancels where q is about e^−ε. The losses are of 60 digits.
func TestLossesOfTinyRates(t *testing.T) {
	for _, c := range []struct{ q, l, loss float64 }{
		{1e-17, 37, 0.1108178784822857689}, {1e-30, 35, 1.586013452313428603e-15}, {1e-30, 40, 2.353852668369923e-13}, {1e-307, 706, 0.3430011724897866968}, {0.1, 800, 797.6974149070059543},
	} {
		if got := poissonLoss(c.q, c.l); math.Abs(got-c.loss) > 1e-12*c.loss {
			t.Errorf("the loss %g at rate %g is %.17g, of %.17g", c.l, c.q, got, c.loss)
		}
	}
}
