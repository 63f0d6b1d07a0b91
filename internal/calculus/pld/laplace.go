package pld

import (
	"fmt"
	"math"
)

// laplace is Lap(1, b) against Lap(0, b), top = 1/b: losses in [-top, top] with
// density e^((l-top)/2)/4 in between, an atom of 1/2 on top and of e^-top/2 below.
type laplace struct{ top float64 }

// Laplace is the Laplace mechanism; b is its scale over the L1 sensitivity.
//
// # Contract
//
// The pair Lap(1, b) against Lap(0, b) dominates every pair of centres at distance
// at most 1.
func Laplace(b float64) Mechanism {
	return newLeaf(&laplace{quotientUp(1, b)}, check(b > 0 && 1/b < 1e300, "laplace: scale must be positive and finite (%v)", b))
}

func (p *laplace) ends() (lo, hi, pLo, pHi float64) {
	return -p.top, p.top, math.Exp(-p.top) / 2, 0.5
}

func (p *laplace) cell(a, b float64) (mass, surplus float64) {
	w := b - a
	f := math.Exp((a-p.top)/2) / 2
	if w > 80 {
		// Nothing cancels in a wide cell, and nothing may overflow.
		top := math.Exp((b-p.top)/2) / 2
		return top - f, top - 2*f
	}
	sh := math.Sinh(w / 4)
	return f * math.Expm1(w/2), f * 4 * sh * sh
}

func (p *laplace) above(l float64) (mass, other float64) {
	if l >= p.top {
		return 0, 0
	}
	if l < -p.top {
		return 1, 1
	}
	return 1 - math.Exp((l-p.top)/2)/2, math.Exp((-l-p.top)/2) / 2
}

func (p *laplace) reach(float64) float64 { return p.top }

func (p *laplace) profile(eps float64) (float64, bool) {
	if eps >= p.top {
		return 0, true
	}
	if eps <= -p.top {
		return -math.Expm1(eps), true
	}
	return -math.Expm1((eps - p.top) / 2), true
}

func (p *laplace) measure(r request) (measure, error) { return discretise(p, -p.top, p.top, r) }

func (p *laplace) gaps() []gap { return []gap{{-p.top, 2 * p.top, false, false}} }

func (p *laplace) offset() float64 { return 0 }

func (p *laplace) key() string { return fmt.Sprintf("laplace(%x)", p.top) }

// quotientUp is a/b rounded up.
func quotientUp(a, b float64) float64 {
	q := a / b
	if math.FMA(q, b, -a) < 0 {
		return math.Nextafter(q, math.Inf(1))
	}
	return q
}
