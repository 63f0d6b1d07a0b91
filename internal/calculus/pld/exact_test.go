package pld

import (
	"errors"
	"math"
	"testing"
)

// atomList is an explicit pair: probabilities under P and Q.
type atomList struct{ p, q []float64 }

func (a atomList) delta(eps float64) float64 {
	s := 0.0
	for i := range a.p {
		s += math.Max(0, a.p[i]-math.Exp(eps)*a.q[i])
	}
	return s
}

func (a atomList) reverse() atomList { return atomList{a.q, a.p} }

func (a atomList) times(b atomList) atomList {
	var out atomList
	for i := range a.p {
		for j := range b.p {
			out.p, out.q = append(out.p, a.p[i]*b.p[j]), append(out.q, a.q[i]*b.q[j])
		}
	}
	return out
}

func (a atomList) power(n int) atomList {
	out := atomList{[]float64{1}, []float64{1}}
	for range n {
		out = out.times(a)
	}
	return out
}

func (a atomList) poisson(q float64) atomList {
	out := atomList{q: a.q}
	for i := range a.p {
		out.p = append(out.p, q*a.p[i]+(1-q)*a.q[i])
	}
	return out
}

func (a atomList) mixture(p float64) atomList {
	out := atomList{[]float64{1 - p}, []float64{1 - p}}
	for i := range a.p {
		out.p, out.q = append(out.p, p*a.p[i]), append(out.q, p*a.q[i])
	}
	return out
}

func response(k int, eps0 float64) atomList {
	e := math.Exp(eps0)
	n := e + float64(k-1)
	out := atomList{[]float64{e / n, 1 / n}, []float64{1 / n, e / n}}
	for range k - 2 {
		out.p, out.q = append(out.p, 1/n), append(out.q, 1/n)
	}
	return out
}

// laplaceList is the discrete Laplace mechanism cut at 300 steps.
func laplaceList(scale float64, shift int) atomList {
	var out atomList
	r := math.Exp(-1 / scale)
	for x := -300; x <= 300+shift; x++ {
		f := func(c int) float64 { return (1 - r) / (1 + r) * math.Pow(r, math.Abs(float64(x-c))) }
		out.p, out.q = append(out.p, f(shift)), append(out.q, f(0))
	}
	return out
}

// opposingLaplace is opposing for discrete Laplace noise, on -s..s: the likelihood
// ratios are constant beyond.
func opposingLaplace(q, scale float64, s int) atomList {
	r := math.Exp(-1 / scale)
	law := func(k, c int) float64 {
		p := math.Pow(r, math.Abs(float64(k-c)))
		if k == s || k == -s {
			return p / (1 + r)
		}
		return p * (1 - r) / (1 + r)
	}
	var out atomList
	for k := -s; k <= s; k++ {
		out.p, out.q = append(out.p, (1-q)*law(k, 0)+q*law(k, s)), append(out.q, (1-q)*law(k, 0)+q*law(k, -s))
	}
	return out
}

// gaussMass is the discrete Gaussian law on -reach..reach.
func gaussMass(sigma float64, reach int) []float64 {
	p, sum := make([]float64, 2*reach+1), 0.0
	for i := range p {
		x := float64(i-reach) / sigma
		p[i] = math.Exp(-x * x / 2)
		sum += p[i]
	}
	return scale(p, 1/sum)
}

// moved is a law moved by v, within a room of 4.
func moved(p []float64, v int) []float64 {
	out := make([]float64, len(p)+8)
	copy(out[4+v:], p)
	return out
}

// mixed is (1-q)·p + q·(p moved by v).
func mixed(q float64, p []float64, v int) []float64 {
	out, there := scale(moved(p, 0), 1-q), moved(p, v)
	for i := range out {
		out[i] += q * there[i]
	}
	return out
}

// opposing is the pair of P7: a unit that adds s against one that takes s away.
func opposing(q float64, p []float64, s int) atomList {
	return atomList{mixed(q, p, s), mixed(q, p, -s)}
}

// cellPair is a unit that moves from one cell to another.
func cellPair(q float64, p []float64) atomList {
	in := atomList{mixed(q, p, 1), moved(p, 0)}
	return in.times(in.reverse())
}

// Every mechanism here is enumerated outcome by outcome, both directions.
func TestEnumerated(t *testing.T) {
	rr2, rr5 := response(2, 0.7), response(5, 1.3)
	dl := laplaceList(1.7, 3)
	cases := []struct {
		name  string
		m     Mechanism
		exact atomList
	}{
		{"rr^6", Repeat(6, RandomizedResponse(2, 0.7)), rr2.power(6)},
		{"rr5^5", Repeat(5, RandomizedResponse(5, 1.3)), rr5.power(5)},
		{"rr2^3 rr5^2", Compose(Repeat(3, RandomizedResponse(2, 0.7)), Repeat(2, RandomizedResponse(5, 1.3))), rr2.power(3).times(rr5.power(2))},
		{"poisson(rr)^6", Repeat(6, Poisson(0.3, RandomizedResponse(2, 0.7))), rr2.poisson(0.3).power(6)},
		{"poisson(rr5)^4", Repeat(4, Poisson(0.2, RandomizedResponse(5, 1.3))), rr5.poisson(0.2).power(4)},
		{"poisson(rr2 rr5)", Poisson(0.1, Compose(RandomizedResponse(2, 0.7), RandomizedResponse(5, 1.3))), rr2.times(rr5).poisson(0.1)},
		{"poisson(rr2^2)^3", Repeat(3, Poisson(0.25, Repeat(2, RandomizedResponse(2, 0.7)))), rr2.power(2).poisson(0.25).power(3)},
		{"mixture(poisson(rr))^5", Repeat(5, Mixture(0.4, Poisson(0.3, RandomizedResponse(2, 0.7)))), rr2.poisson(0.3).mixture(0.4).power(5)},
		{"discrete laplace", DiscreteLaplace(1.7, 3), dl},
		{"discrete laplace^2", Repeat(2, DiscreteLaplace(1.7, 3)), dl.times(dl)},
		{"poisson(discrete laplace)", Poisson(0.2, DiscreteLaplace(1.7, 3)), dl.poisson(0.2)},
		{"opposing discrete laplace", PoissonReplace(0.3, DiscreteLaplace(1.7, 2), DiscreteLaplace(1.7, 4)), opposingLaplace(0.3, 1.7, 2)},
		{"opposing discrete laplace^4", Repeat(4, PoissonReplace(0.3, DiscreteLaplace(1.7, 2), DiscreteLaplace(1.7, 4))), opposingLaplace(0.3, 1.7, 2).power(4)},
		{"opposing discrete gaussian^3", Repeat(3, PoissonReplace(0.1, DiscreteGaussian(0.8, 1), DiscreteGaussian(0.8, 2))), opposing(0.1, gaussMass(0.8, 7), 1).power(3)},
		{"two cells", Compose(Poisson(0.2, DiscreteGaussian(0.8, 1)), Reverse(Poisson(0.2, DiscreteGaussian(0.8, 1)))), cellPair(0.2, gaussMass(0.8, 7))},
		{"two cells^2", Repeat(2, Compose(Poisson(0.2, DiscreteGaussian(0.6, 1)), Reverse(Poisson(0.2, DiscreteGaussian(0.6, 1))))), cellPair(0.2, gaussMass(0.6, 5)).power(2)},
		{"approx^4", Repeat(4, Approx(0.7, 0.01)), atomList{append([]float64{0.01, 0}, scale(rr2.p, 0.99)...), append([]float64{0, 0.01}, scale(rr2.q, 0.99)...)}.power(4)},
	}
	worst := 0.0
	for _, c := range cases {
		all := []float64{-0.5, 0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.4, 2, 3, 5}
		if testing.Short() {
			all = []float64{0, 0.5, 2}
		}
		for _, eps := range all {
			truth := math.Max(c.exact.delta(eps), c.exact.reverse().delta(eps))
			iv, err := Delta(c.m, eps, Options{RelTol: 1e-3, AbsTol: 1e-12})
			if err != nil && !errors.Is(err, ErrWide) {
				t.Fatalf("%s at %v: %v", c.name, eps, err)
			}
			if iv.Upper < truth*(1-1e-12)-1e-15 || iv.Lower > truth*(1+1e-12)+1e-15 {
				t.Errorf("%s: delta(%v) = %v outside [%v, %v]", c.name, eps, truth, iv.Lower, iv.Upper)
			}
			worst = math.Max(worst, (iv.Upper-iv.Lower)/(truth+1e-9))
			if iv.Upper-iv.Lower > 0.02*truth+1e-6 {
				t.Errorf("%s: delta(%v): [%v, %v] is wide", c.name, eps, iv.Lower, iv.Upper)
			}
			if truth > 1e-6 && truth < 0.4 && eps > 0 {
				e, err := Epsilon(c.m, truth, Options{})
				if err != nil {
					t.Errorf("%s: epsilon(%v): %v", c.name, truth, err)
				}
				if e.Upper < eps*(1-1e-9) || e.Lower > eps*(1+1e-9) {
					t.Errorf("%s: epsilon(%v) = %v outside [%v, %v]", c.name, truth, eps, e.Lower, e.Upper)
				}
			}
		}
	}
	t.Logf("%d mechanisms, widest relative interval %.2g", len(cases), worst)
}

func scale(x []float64, c float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = c * v
	}
	return out
}

// P4: one draw at rate 0.1, two releases of eps = 2: the truth is
// log(1+0.1(e^4-1)) = 1.85, far above twice the amplified single release.
func TestSameDraw(t *testing.T) {
	iv, err := Epsilon(Poisson(0.1, Compose(Approx(2, 0), Approx(2, 0))), 0, Options{})
	truth := math.Log1p(0.1 * math.Expm1(4))
	if err != nil || iv.Upper < truth*(1-1e-12) || iv.Upper > truth+1e-6 {
		t.Errorf("same draw: [%v, %v] %v, truth %v", iv.Lower, iv.Upper, err, truth)
	}
	apart, err := Epsilon(Repeat(2, Poisson(0.1, Approx(2, 0))), 0, Options{})
	if want := 2 * math.Log1p(0.1*math.Expm1(2)); err != nil || math.Abs(apart.Upper-want) > 1e-6 {
		t.Errorf("two draws: %v %v, truth %v", apart, err, want)
	}
}

// The trap of P3, enumerated: N = 4 values in {-1, 0, 1}, n = 2 drawn, their sum plus
// discrete Laplace noise of ratio e^-0.7, over all neighbouring populations.
func TestWithoutReplacementEnumerated(t *testing.T) {
	const ratio = 0.7
	law := func(pop [4]int) []float64 {
		out := make([]float64, 121)
		r := math.Exp(-ratio)
		for i := range 4 {
			for j := range i {
				for x := range out {
					out[x] += (1 - r) / (1 + r) * math.Pow(r, math.Abs(float64(x-60-pop[i]-pop[j]))) / 6
				}
			}
		}
		return out
	}
	for _, eps := range []float64{0, 0.1, 0.3, 0.6, 0.9} {
		worst, near := 0.0, 0.0
		var pop [4]int
		for code := range 81 {
			for i, c := 0, code; i < 4; i, c = i+1, c/3 {
				pop[i] = c%3 - 1
			}
			a := law(pop)
			for v := -1; v <= 1; v++ {
				other := pop
				other[0] = v
				d := atomList{a, law(other)}.delta(eps)
				worst = math.Max(worst, d)
				if pop[0] >= 0 && v >= 0 {
					near = math.Max(near, d)
				}
			}
		}
		// A replaced value moves the sum by up to 2: the full domain.
		iv, err := Delta(WithoutReplacement(0.5, DiscreteLaplace(1/ratio, 2)), eps, Options{})
		t.Logf("eps %v: enumerated %.6f, charged %.6f (%v)", eps, worst, iv.Upper, err)
		if iv.Upper < worst-1e-12 || iv.Upper > worst*(1+1e-6)+1e-9 {
			t.Errorf("eps %v: charged %v, enumerated %v", eps, iv.Upper, worst)
		}
		// Neighbours that differ in 0 against 1 only: the pair (0, 1) is not enough.
		if eps == 0.3 {
			pair, err := Delta(WithoutReplacement(0.5, DiscreteLaplace(1/ratio, 1)), eps, Options{})
			t.Logf("0 against 1: enumerated %.4f, the pair (0, 1) would charge %.4f (%v)", near, pair.Upper, err)
			if math.Abs(near-0.0813) > 5e-5 || pair.Upper >= near {
				t.Errorf("0 against 1: enumerated %v (0.0813), the pair (0, 1) says %v", near, pair.Upper)
			}
		}
	}
}
