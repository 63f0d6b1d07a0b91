package pld

import (
	"fmt"
	"math"
)

// discreteGaussian is P(x) ∝ e^(-(x-shift)²/2σ²) against Q(x) ∝ e^(-x²/2σ²) on the
// integers: the loss shift·(x-shift/2)/σ² is linear in x.
type discreteGaussian struct {
	sigma float64
	shift int64
	norm  float64 // Σ e^(-x²/2σ²)
}

// DiscreteGaussian is the discrete Gaussian mechanism, one coordinate, for an
// integer sensitivity shift.
//
// # Contract
//
// One coordinate only. The pair of centres at distance shift dominates every pair
// at a smaller one.
func DiscreteGaussian(sigma float64, shift int64) Mechanism {
	if shift < 0 {
		shift = -shift
	}
	err := check(sigma > 1e-100 && sigma < 1e100, "discrete gaussian: sigma must be positive and finite (%v)", sigma)
	if err == nil {
		err = check(shift >= 0 && shift <= 1<<53, "discrete gaussian: shift must be at most 2^53 (%v)", shift)
	}
	d := &discreteGaussian{sigma: sigma, shift: shift}
	if err == nil {
		d.norm = thetaSum(sigma)
	}
	return leaf{d, err}
}

// manySigma is the sigma from which sums over neighbours become integrals with the
// first correction of Euler and Maclaurin: the next term, 7z⁴/(5760σ⁴), is then
// below 1e-13 up to z = 30.
const manySigma = 1e4

// thetaSum is Σ_x exp(-x²/2σ²) over the integers; by Poisson summation it is
// σ√(2π)(1 + 2e^(-2π²σ²) + ...), whose second term is below 1e-17 from σ = 1.5.
func thetaSum(sigma float64) float64 {
	if sigma >= 1.5 {
		return sigma * math.Sqrt(2*math.Pi)
	}
	sum := 0.0
	for x := 60.0; x >= 1; x-- {
		sum += 2 * math.Exp(-x*x/(2*sigma*sigma))
	}
	return 1 + sum
}

// mass is the probability of x under the distribution centred at c.
func (d *discreteGaussian) mass(x, c float64) float64 {
	z := (x - c) / d.sigma
	return math.Exp(-z*z/2) / d.norm
}

func (d *discreteGaussian) loss(x float64) float64 {
	s := float64(d.shift)
	return s / d.sigma * ((x - s/2) / d.sigma)
}

// reach: the tails of the discrete Gaussian lie below (1+1/z)·those of the
// continuous one one step nearer; two steps are added.
func (d *discreteGaussian) reach(tail float64) float64 {
	s := float64(d.shift)
	return d.loss(math.Ceil(s + quantile(tail/8)*d.sigma + 2))
}

// tailAbove bounds P(x > n) for the distribution centred at c, n ≥ c: the ratio of
// neighbours falls, so a geometric series does it.
func (d *discreteGaussian) tailAbove(n, c float64) float64 {
	first := d.mass(n+1, c)
	ratio := math.Exp(-(2*(n+1-c) + 1) / (2 * d.sigma * d.sigma))
	return math.Min(1, first/(1-ratio))
}

func (d *discreteGaussian) measure(r request) (measure, error) {
	if d.shift == 0 {
		return point0(r.side), nil
	}
	s := float64(d.shift)
	span := math.Ceil(math.Min(quantile(r.tail/8), 34)*d.sigma) + 2
	lo, hi := math.Max(-span, math.Ceil(s-34*d.sigma)), s+span
	if lo > hi {
		lo = hi
	}
	group := 1.0
	if d.sigma > manySigma {
		group = math.Max(64, math.Floor((hi-lo)/(maxPoints/2)))
	}
	m := newMeasure(int((hi-lo)/group) + 3)
	if r.side == upper {
		m.infQ = math.Min(1, d.tailAbove(-lo, 0))
		if lo > 0 {
			m.infQ = 1
		}
		// Mass of P below lo, raised to lo.
		m.add(d.loss(lo), d.tailAbove(math.Max(0, s-lo), 0))
	}
	for x := lo; x <= hi; x += group {
		if group == 1 {
			if l := d.loss(x); l >= -deepest {
				m.add(l, d.mass(x, s))
			} else {
				m.infQ += d.mass(x, 0)
			}
			continue
		}
		d.addGroup(&m, x, math.Min(group, hi-x+1), r.side)
	}
	if r.side == upper {
		m.infP = d.tailAbove(hi, s)
		return m.scaled(1 + 4*massError), nil
	}
	return m.scaled(1 - 4*massError), nil
}

// addGroup adds n neighbours from x on as one cell, spread or merged. Their sums are
// integrals over [x-1/2, x+n-1/2] of F - F”/24 (Euler and Maclaurin); the next term
// is below massError, since σ is above manySigma whenever groups are formed.
func (d *discreteGaussian) addGroup(m *measure, x, n float64, s side) {
	a, b := d.loss(x), d.loss(x+n-1)
	if a < -deepest {
		m.infQ += math.Min(1, n*math.Max(d.mass(x, 0), d.mass(x+n-1, 0)))
		return
	}
	p, surplus := d.sums(x, x-0.5, n, a)
	if s == lower {
		m.add(math.Min(b, a-math.Log1p(-math.Min(surplus/p, -math.Expm1(a-b)))), p)
		return
	}
	up := math.Max(0, math.Min(p, surplus/-math.Expm1(a-b)*(1+1e-13)))
	m.add(a, p-up+1e-15*p)
	m.add(b, up)
}

// sums integrates P and P - e^l·Q over [from, from+n], l the loss of x0.
func (d *discreteGaussian) sums(x0, from, n, l float64) (p, surplus float64) {
	s, kappa := float64(d.shift), float64(d.shift)/(d.sigma*d.sigma)
	off := from - x0
	return panels((from-s)/d.sigma, n/d.sigma, 1, 40, func(z, t float64) (float64, float64) {
		f := math.Exp(-z*z/2) * d.sigma / d.norm
		dx := off + t*d.sigma
		cp := (z*z - 1) / (24 * d.sigma * d.sigma)
		diff := (l + kappa*dx) / (12 * d.sigma * d.sigma) // correction of Q less that of P
		e := -math.Expm1(-kappa * dx)
		return f * (1 - cp), f * (e*(1-cp) + (1-e)*diff)
	})
}

func (d *discreteGaussian) profile(eps float64) (float64, bool) {
	if d.shift == 0 {
		return math.Max(0, -math.Expm1(eps)), true
	}
	if eps < 0 {
		v, ok := d.profile(-eps)
		return -math.Expm1(eps) + math.Exp(eps)*v, ok
	}
	s := float64(d.shift)
	x := math.Floor(eps*d.sigma/s*d.sigma+s/2) + 1
	if d.sigma > manySigma {
		l := d.loss(x)
		p, surplus := d.sums(x, x-0.5, 45*d.sigma, l)
		// P - e^eps·Q = (P - e^l·Q)·e^(eps-l) + P·(1-e^(eps-l)).
		e := math.Exp(eps - l)
		return math.Max(0, surplus*e-p*math.Expm1(eps-l)), true
	}
	sum, end := 0.0, math.Max(x, s)+40*d.sigma
	for ; x <= end; x++ {
		if l := d.loss(x); l > eps {
			term := -d.mass(x, s) * math.Expm1(eps-l)
			sum += term
			if x > s+d.sigma && term < 1e-25*sum {
				break
			}
		}
	}
	return sum, true
}

func (d *discreteGaussian) gaps() []gap {
	if d.sigma > manySigma || d.shift == 0 {
		return nil
	}
	s := float64(d.shift)
	return []gap{{d.loss(0), s / d.sigma / d.sigma, true, false}}
}

func (d *discreteGaussian) key() string {
	return fmt.Sprintf("discrete gaussian(%x,%d)", d.sigma, d.shift)
}
