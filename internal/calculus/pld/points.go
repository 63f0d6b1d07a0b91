package pld

import (
	"fmt"
	"math"
)

// points is a pair with a few atoms: mass[i] at loss loss[i].
type points struct {
	loss, mass []float64
	inf        float64 // mass of infinite loss
	k          int     // categories of randomized response; 0 for an (eps, delta) point
	eps        float64
}

// RandomizedResponse is k-ary randomized response: the true category with
// probability e^eps0/(e^eps0+k-1), every other with 1/(e^eps0+k-1). The pair is
// the exact one under replace-one: the input changes from one category to another.
//
// # Contract
//
// Replace-one only. k is at least 2.
func RandomizedResponse(k int, eps0 float64) Mechanism {
	err := check(k >= 2, "randomized response: k must be at least 2 (%v)", k)
	if err == nil {
		err = check(eps0 > 0 && eps0 < 1e150, "randomized response: eps0 must be positive and finite (%v)", eps0)
	}
	return newLeaf(responsePoints(k, eps0), err)
}

func responsePoints(k int, eps0 float64) *points {
	// e^eps0 cancels: truth is 1/(1+(k-1)e^-eps0).
	truth := 1 / (1 + float64(k-1)*math.Exp(-eps0))
	lie := truth * math.Exp(-eps0)
	p := &points{loss: []float64{-eps0, eps0}, mass: []float64{lie, truth}, k: k, eps: eps0}
	if k > 2 {
		p.loss, p.mass = []float64{-eps0, 0, eps0}, []float64{lie, float64(k-2) * lie, truth}
	}
	return p
}

// Approx is the worst pair of all mechanisms with the guarantee (eps, delta):
// with probability delta everything is revealed, else binary randomized response.
// Pure eps is delta = 0.
func Approx(eps, delta float64) Mechanism {
	err := check(eps >= 0 && eps < 1e150, "approx: eps must be finite and not negative (%v)", eps)
	if err == nil {
		err = check(delta >= 0 && delta <= 1, "approx: delta must lie in [0, 1] (%v)", delta)
	}
	return newLeaf(pointPoints(eps, delta), err)
}

func pointPoints(eps, delta float64) *points {
	p := &points{inf: delta, eps: eps}
	if eps > 0 {
		top := 1 / (1 + math.Exp(-eps))
		p.loss = []float64{-eps, eps}
		p.mass = []float64{(1 - delta) * top * math.Exp(-eps), (1 - delta) * top}
	} else {
		p.loss, p.mass = []float64{0}, []float64{1 - delta}
	}
	return p
}

func (p *points) measure(r request) (measure, error) {
	m := newMeasure(len(p.loss))
	m.infP, m.infQ = p.inf, p.inf
	for i, l := range p.loss {
		if l < -deepest {
			// By symmetry the mass under Q is that of the highest loss under P.
			m.infQ += p.mass[len(p.mass)-1]
			continue
		}
		m.add(l, p.mass[i])
	}
	if r.side == upper {
		return m.scaled(1 + massError), nil
	}
	return m.scaled(1 - massError), nil
}

func (p *points) profile(eps float64) (float64, bool) {
	return sumProfile(p.loss, p.mass, p.inf, eps), true
}

// sumProfile is inf + Σ mass·(1-e^(eps-loss))+.
func sumProfile(loss, mass []float64, inf, eps float64) float64 {
	sum := inf
	for i := len(loss) - 1; i >= 0 && loss[i] > eps; i-- {
		sum -= mass[i] * math.Expm1(eps-loss[i])
	}
	return math.Min(sum, 1)
}

func (p *points) reach(float64) float64 { return p.loss[len(p.loss)-1] }

func (p *points) gaps() []gap {
	var out []gap
	for i := 1; i < len(p.loss); i++ {
		out = append(out, gap{p.loss[0], p.loss[i] - p.loss[0], i == 1, len(p.loss) == 2})
	}
	return out
}

func (p *points) key() string { return fmt.Sprintf("points(%x,%x,%x)", p.loss, p.mass, p.inf) }

// pointsShape is the family of randomized response with k categories, or that of
// (eps, delta) points.
func pointsShape(p *points) (shape, bool) {
	if p.k > 0 {
		return shape{fmt.Sprintf("randomized response %d", p.k), []float64{p.eps},
			func(at []float64) node { return leaf{responsePoints(p.k, at[0])} }}, true
	}
	return shape{"approx", []float64{p.eps, p.inf},
		func(at []float64) node { return leaf{pointPoints(at[0], at[1])} }}, true
}
