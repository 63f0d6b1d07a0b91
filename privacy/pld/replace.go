package pld

import (
	"fmt"
	"math"
)

// The pairs of this file are those of Poisson sampling under replace-one of a
// symmetric additive mechanism: (1-q)M(0)+qM(+1) against (1-q)M(0)+qM(-1) (P7).

// replaceGaussian has the losses log((A+c·t)/(A+c/t)), t = e^(mu·x), A = 1-q,
// c = q·e^(-mu²/2), growing in x (x in units of sigma).
type replaceGaussian struct{ q, mu float64 }

// PoissonReplaceGaussian is the Poisson-sampled Gaussian under replace-one.
// noiseMultiplierAddRemove is the standard deviation over the norm of one record:
// at rate 1 a replaced record moves the sum by 2.
//
// # Contract
//
// Replace-one with a public number of records; rate in (0, 1].
func PoissonReplaceGaussian(rate, noiseMultiplierAddRemove float64) Mechanism {
	err := checkRate(rate)
	if err == nil {
		err = check(noiseMultiplierAddRemove >= 1e-2 && 1/noiseMultiplierAddRemove > 1e-150,
			"poisson gaussian under replace-one: noise multiplier must be at least 0.01 and be finite (%v)", noiseMultiplierAddRemove)
	}
	if rate == 1 {
		return Gaussian(noiseMultiplierAddRemove / 2)
	}
	return leaf{&replaceGaussian{rate, 1 / noiseMultiplierAddRemove}, err}
}

func checkRate(q float64) error {
	return check(q > 0 && q <= 1, "sampling rate must lie in (0, 1] (%v)", q)
}

// place is the x with loss l, from the quadratic c·t² - A(e^l-1)t - c·e^l = 0: with
// t = u·e^(l/2) it is u = e^asinh(A·sinh(l/2)/c).
func (g *replaceGaussian) place(l float64) float64 {
	if l < 0 {
		return -g.place(-l)
	}
	arg := math.Log1p(-g.q) - g.logC() + l/2 + math.Log(-math.Expm1(-l)/2)
	if arg > 20 {
		return (l/2 + arg + math.Ln2) / g.mu
	}
	return (l/2 + math.Asinh(math.Exp(arg))) / g.mu
}

func (g *replaceGaussian) logC() float64 { return math.Log(g.q) - g.mu*g.mu/2 }

func (g *replaceGaussian) ends() (lo, hi, pLo, pHi float64) {
	return math.Inf(-1), math.Inf(1), 0, 0
}

func (g *replaceGaussian) tails(x float64) (p, q float64) {
	base := (1 - g.q) * upperTail(x)
	return base + g.q*upperTail(x-g.mu), base + g.q*upperTail(x+g.mu)
}

func (g *replaceGaussian) above(l float64) (p, q float64) { return g.tails(g.place(l)) }

func (g *replaceGaussian) cell(a, b float64) (p, surplus float64) {
	xa := g.place(a)
	return g.integrate(xa, g.place(b)-xa)
}

// integrate returns P and P - e^l·Q over [xa, xa+w], l the loss of xa.
func (g *replaceGaussian) integrate(xa, w float64) (p, surplus float64) {
	odds := math.Log1p(-g.q) - g.logC()
	below := 1 / (1 + math.Exp(odds+g.mu*xa))
	return panels(xa, w, 1+g.mu, 40+g.mu, func(x, t float64) (float64, float64) {
		f := (1-g.q)*density(x) + g.q*density(x-g.mu)
		// 1 - e^(l-L(x)) = 1 - (1-u)(1-v), where 1-u = P(xa)/P(x) and 1-v = Q(x)/Q(xa)
		// relative to the centre: nothing cancels.
		e := -math.Expm1(-g.mu * t)
		u, v := e/(1+math.Exp(odds-g.mu*x)), e*below
		return f, f * (u + v*(1-u))
	})
}

func (g *replaceGaussian) reach(tail float64) float64 {
	x := quantile(tail/2) + g.mu
	A, lc := 1-g.q, g.logC()
	return logAdd(math.Log(A), lc+g.mu*x) - logAdd(math.Log(A), lc-g.mu*x)
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}

func (g *replaceGaussian) profile(eps float64) (float64, bool) {
	if eps < 0 {
		v, ok := g.profile(-eps)
		return -math.Expm1(eps) + math.Exp(eps)*v, ok
	}
	x := g.place(eps)
	_, s := g.integrate(x, math.Max(0, 40+g.mu-x))
	return s, true
}

func (g *replaceGaussian) measure(r request) (measure, error) {
	hi := g.reach(r.tail)
	return discretise(g, -math.Min(hi, deepest), hi, r)
}

func (g *replaceGaussian) gaps() []gap { return nil }

func (g *replaceGaussian) offset() float64 { return g.mu * g.mu }

func (g *replaceGaussian) key() string { return fmt.Sprintf("replace gaussian(%x,%x)", g.q, g.mu) }
