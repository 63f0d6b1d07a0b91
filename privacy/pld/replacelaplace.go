package pld

import (
	"fmt"
	"math"
)

// replaceLaplace: with A = 1-q, for x in [0, 1] the loss is
// log((A+q·e^((2x-1)/b))/(A+q·e^(-1/b))), odd in x, constant beyond.
type replaceLaplace struct{ q, b float64 }

// PoissonReplaceLaplace is the Poisson-sampled Laplace mechanism under
// replace-one. bAddRemove is the scale over the magnitude of one record.
//
// # Contract
//
// Replace-one with a public number of records; rate in (0, 1].
func PoissonReplaceLaplace(rate, bAddRemove float64) Mechanism {
	err := checkRate(rate)
	if err == nil {
		err = check(bAddRemove > 0 && 1/bAddRemove < 1e15 && bAddRemove < 1e300,
			"poisson laplace under replace-one: scale must be positive and finite (%v)", bAddRemove)
	}
	if rate == 1 {
		return Laplace(bAddRemove / 2)
	}
	return leaf{&replaceLaplace{rate, bAddRemove}, err}
}

func (p *replaceLaplace) top() float64 { return poissonLoss(p.q, 1/p.b) - poissonLoss(p.q, -1/p.b) }

func (p *replaceLaplace) ends() (lo, hi, pLo, pHi float64) {
	hi = p.top()
	pHi = ((1-p.q)*math.Exp(-1/p.b) + p.q) / 2
	return -hi, hi, pHi * math.Exp(-hi), pHi
}

// place is the x in [0, 1] with loss l ≥ 0.
func (p *replaceLaplace) place(l float64) float64 {
	// A+q·e^z = e^l·(A+q·e^(-1/b)), z = (2x-1)/b.
	z := poissonLossInverse(p.q, l+poissonLoss(p.q, -1/p.b))
	return math.Max(0, math.Min(1, (1+p.b*z)/2))
}

func (p *replaceLaplace) above(l float64) (mass, other float64) {
	top := p.top()
	switch {
	case l >= top:
		return 0, 0
	case l < -top:
		return 1, 1
	case l < 0:
		// P(L>l) = 1 - P(L<=l) = 1 - Q(L>=-l).
		m, o := p.above(-l)
		return 1 - o, 1 - m
	}
	_, _, _, atom := p.ends()
	x := p.place(l)
	// P over [x, 1]: A(e^(-x/b)-e^(-1/b))/2 + q(1-e^(-(1-x)/b))/2.
	e := -math.Expm1(-(1 - x) / p.b)
	mass = atom + (1-p.q)*math.Exp(-x/p.b)*e/2 + p.q*e/2
	other = atom*math.Exp(-top) + ((1-p.q)+p.q*math.Exp(-1/p.b))*math.Exp(-x/p.b)*e/2
	return mass, other
}

func (p *replaceLaplace) cell(a, b float64) (mass, surplus float64) {
	if a < 0 && b > 0 {
		// Split at 0: e^a·Q of the upper part is taken from its own surplus.
		m1, s1 := p.cell(a, 0)
		m2, s2 := p.cell(0, b)
		return m1 + m2, s1 + s2*math.Exp(a) - m2*math.Expm1(a)
	}
	if a < 0 {
		// The mirror image of [-b, -a]: P and Q trade places.
		m, s := p.cell(-b, -a)
		return (m - s) * math.Exp(b), math.Exp(b) * math.Max(0, -m*math.Expm1(a-b)-s)
	}
	xa, xb := p.place(a), p.place(b)
	e := -math.Expm1(-(xb - xa) / p.b)
	mass = (1-p.q)*math.Exp(-xa/p.b)*e/2 + p.q*math.Exp(-(1-xb)/p.b)*e/2
	// P - e^a·Q = q(e^(-(1-x)/b) - e^((2xa-1)/b - x/b))/2b·..., a positive integral.
	d := (xb - xa) / p.b
	sh := math.Sinh(d / 2)
	surplus = p.q * math.Exp((xa-1)/p.b) * 2 * sh * sh
	if d > 100 {
		surplus = p.q * math.Exp((xb-1)/p.b) / 2
	}
	return mass, surplus
}

func (p *replaceLaplace) reach(float64) float64 { return p.top() }

func (p *replaceLaplace) profile(eps float64) (float64, bool) {
	top := p.top()
	if eps >= top {
		return 0, true
	}
	if eps <= -top {
		return -math.Expm1(eps), true
	}
	if eps < 0 {
		v, ok := p.profile(-eps)
		return -math.Expm1(eps) + math.Exp(eps)*v, ok
	}
	_, _, _, atom := p.ends()
	_, s := p.cell(eps, top)
	return s - atom*math.Expm1(eps-top), true
}

func (p *replaceLaplace) measure(r request) (measure, error) {
	return discretise(p, -p.top(), p.top(), r)
}

func (p *replaceLaplace) gaps() []gap { return []gap{{-p.top(), 2 * p.top(), false, false}} }

func (p *replaceLaplace) offset() float64 { return 2 * p.top() }

func (p *replaceLaplace) key() string { return fmt.Sprintf("replace laplace(%x,%x)", p.q, p.b) }
