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
	err := check(sigma > 1e-100 && sigma <= 1e4, "discrete gaussian: sigma must be positive and at most 10000 (%v)", sigma)
	if err == nil {
		err = check(shift >= 0 && shift <= 1<<53, "discrete gaussian: shift must be at most 2^53 (%v)", shift)
	}
	d := &discreteGaussian{sigma: sigma, shift: shift}
	if err == nil {
		d.norm = thetaSum(sigma)
	}
	return newLeaf(d, err)
}

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
	m := newMeasure(int(hi-lo) + 3)
	if r.side == upper {
		m.infQ = math.Min(1, d.tailAbove(-lo, 0))
		if lo > 0 {
			m.infQ = 1
		}
		// Mass of P below lo, raised to lo.
		m.add(d.loss(lo), d.tailAbove(math.Max(0, s-lo), 0))
	}
	for x := lo; x <= hi; x++ {
		if l := d.loss(x); l >= -deepest {
			m.add(l, d.mass(x, s))
		} else {
			m.infQ += d.mass(x, 0)
		}
	}
	if r.side == upper {
		m.infP = d.tailAbove(hi, s)
		return m.scaled(1 + 4*massError), nil
	}
	return m.scaled(1 - 4*massError), nil
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
	if d.shift == 0 {
		return nil
	}
	s := float64(d.shift)
	return []gap{{d.loss(0), s / d.sigma / d.sigma, true, false}}
}

func (d *discreteGaussian) key() string {
	return fmt.Sprintf("discrete gaussian(%x,%d)", d.sigma, d.shift)
}
