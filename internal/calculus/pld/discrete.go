package pld

import (
	"fmt"
	"math"
)

// discreteLaplace is P(x) ∝ r^|x-shift| against Q(x) ∝ r^|x|, r = e^(-1/scale).
type discreteLaplace struct {
	scale float64
	shift int64
}

// DiscreteLaplace is the discrete Laplace mechanism P(x) ∝ exp(-|x|/scale) on the
// integers, for an integer sensitivity shift.
//
// # Contract
//
// The pair of centres at distance shift dominates every pair at a smaller one.
func DiscreteLaplace(scale float64, shift int64) Mechanism {
	if shift < 0 {
		shift = -shift
	}
	err := check(scale > 0 && 1/scale < 1e150 && !math.IsInf(scale, 1), "discrete laplace: scale must be positive and finite (%v)", scale)
	if err == nil {
		err = check(shift >= 0 && shift <= 1<<12, "discrete laplace: shift must be at most 4096 (%v)", shift)
	}
	return newLeaf(&discreteLaplace{scale, shift}, err)
}

func (d *discreteLaplace) top() float64 { return quotientUp(float64(d.shift), d.scale) }

func (d *discreteLaplace) measure(r request) (measure, error) {
	if d.shift == 0 {
		return point0(r.side), nil
	}
	a, top := 1/d.scale, d.top()
	m := newMeasure(int(d.shift) + 1)
	ends := 1 / (1 + math.Exp(-a))
	if top > deepest {
		m.infQ = ends
	} else {
		m.add(-top, ends*math.Exp(-top))
	}
	norm := math.Tanh(a / 2)
	for x := int64(1); x < d.shift; x++ { // the points strictly between the centres
		if l := float64(2*x-d.shift) / d.scale; l < -deepest {
			m.infQ += norm * math.Exp(-float64(x)*a)
		} else {
			m.add(l, norm*math.Exp(-float64(d.shift-x)*a))
		}
	}
	m.add(top, ends)
	if r.side == upper {
		return m.scaled(1 + massError), nil
	}
	return m.scaled(1 - massError), nil
}

// point0 is the measure of a mechanism that reveals nothing.
func point0(s side) measure {
	c := 1 + massError
	if s == lower {
		c = 1 - massError
	}
	return measure{loss: []float64{0}, mass: []float64{c}}
}

func (d *discreteLaplace) profile(eps float64) (float64, bool) {
	a, top := 1/d.scale, d.top()
	if eps >= top {
		return 0, true
	}
	if eps <= -top {
		return -math.Expm1(eps), true
	}
	// x from first on has a loss above eps; 1 - e^eps·r^(2x-shift) is summed from first = ceil of (eps·scale+shift)/2.
	first := math.Floor((eps*d.scale+float64(d.shift))/2) + 1
	first = math.Max(1, math.Min(first, float64(d.shift)))
	ends := 1 / (1 + math.Exp(-a))
	sum := -ends * math.Expm1(eps-top)
	if k := float64(d.shift) - first; k > 0 {
		// Σ_{j=1..k} tanh(a/2)·e^(-ja)·(1 - e^(eps-top+2ja)), all terms of one sign.
		for j := 1.0; j <= k; j++ {
			sum -= math.Tanh(a/2) * math.Exp(-j*a) * math.Expm1(eps-top+2*j*a)
		}
	}
	return math.Max(0, math.Min(1, sum)), true
}

func (d *discreteLaplace) reach(float64) float64 { return d.top() }

func (d *discreteLaplace) gaps() []gap {
	if d.shift == 0 {
		return nil
	}
	return []gap{{-d.top(), 2 / d.scale, true, d.shift == 1}}
}

func (d *discreteLaplace) key() string {
	return fmt.Sprintf("discrete laplace(%x,%d)", d.scale, d.shift)
}
