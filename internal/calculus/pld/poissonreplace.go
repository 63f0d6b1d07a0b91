package pld

import (
	"fmt"
	"math"
)

// PoissonReplace includes each unit independently with probability rate and runs a
// mechanism on the sample, under replace-one. The mechanism is given by two pairs:
// (with a unit, without it) under add-remove, and the one under replace-one.
//
// # Contract
//
// Replace-one with a public number of units. Both pairs hold on the sample, for the
// whole domain, and describe the same mechanism: everything that is released from the
// draw. Proof: poissonreplace.proof.md. The result is attained where the mechanism adds
// noise with monotone likelihood ratios to one whole or real number.
func PoissonReplace(rate float64, addRemove, replaceOne Mechanism) Mechanism {
	if err := checkRate(rate); err != nil {
		return invalid{err}
	}
	return build(addRemove, func(a node) Mechanism {
		return build(replaceOne, func(r node) Mechanism {
			if rate == 1 {
				return r
			}
			return poissonReplace{rate, a, r}
		})
	})
}

func checkRate(q float64) error {
	return check(q > 0 && q <= 1, "sampling rate must lie in (0, 1] (%v)", q)
}

// poissonReplace is the pair of Poisson sampling under replace-one that is built from
// the pairs a under add-remove and r under replace-one.
type poissonReplace struct {
	q    float64
	a, r node
}

func (p poissonReplace) mechanism()           {}
func (p poissonReplace) symmetric() bool      { return true }
func (p poissonReplace) gaps(direction) []gap { return nil }
func (p poissonReplace) depth() int           { return max(p.a.depth(), p.r.depth()) + 1 }

func (p poissonReplace) key() string {
	return fmt.Sprintf("poisson replace(%x,%s,%s)", p.q, p.a.key(), p.r.key())
}

func (p poissonReplace) profile(direction, float64) (float64, bool) { return 0, false }

// loss is log((q+(1-q)v)/(q·u+(1-q)v)), u = e^-lr and v = e^-la: the loss of an output under
// the draw, where it is lr between the two units and la between the unit and none.
func (p poissonReplace) loss(lr, la float64) float64 {
	switch {
	case math.IsInf(la, 1):
		return lr
	case la > 0:
		return math.Log1p(-p.q * math.Expm1(-lr) / ((1-p.q)*math.Exp(-la) + p.q*math.Exp(-lr)))
	}
	v := math.Exp(la)
	return math.Log1p(-p.q * v * math.Expm1(-lr) / (1 - p.q + p.q*math.Exp(la-lr)))
}

// opposite is the loss of two opposing units under the draw, where lr is their loss without
// it. It says how fine the pair r must be laid out.
func (p poissonReplace) opposite(lr float64) float64 {
	return poissonLoss(p.q, lr/2) - poissonLoss(p.q, -lr/2)
}

// unopposite inverts opposite: q·u² - (1-q)(e^l-1)u - q·e^l = 0 has the solution
// u = e^(l/2)·e^asinh((1-q)·sinh(l/2)/q).
func (p poissonReplace) unopposite(l float64) float64 {
	if l < 0 {
		return -p.unopposite(-l)
	}
	arg := math.Log1p(-p.q) - math.Log(p.q) + l/2 + math.Log(-math.Expm1(-l)/2)
	if arg > 20 {
		return l + 2*(arg+math.Ln2)
	}
	return l + 2*math.Asinh(math.Exp(arg))
}

func (p poissonReplace) reach(_ direction, tail float64) (lo, hi float64) {
	_, la := p.a.reach(forward, tail)
	_, lr := p.r.reach(forward, tail)
	_, back := p.r.reach(backward, tail)
	lr = math.Max(lr, back)
	if hi = p.loss(math.Max(lr, 0), la); !(hi < lr) {
		hi = lr
	}
	return -hi, hi
}

func (p poissonReplace) measure(_ direction, req request) (measure, error) {
	inner := req
	inner.grid = req.grid.through(p.opposite, p.unopposite)
	r, err := p.r.measure(forward, inner)
	if err != nil {
		return r, err
	}
	if req.side == upper && !p.r.symmetric() {
		back, err := p.r.measure(backward, inner)
		if err != nil {
			return back, err
		}
		r = larger(r, back)
	}
	inner.grid = req.grid.through(
		func(l float64) float64 { return poissonLoss(p.q, l) },
		func(l float64) float64 { return poissonLossInverse(p.q, l) })
	a, err := p.a.measure(forward, inner)
	if err != nil {
		return a, err
	}
	if err := req.work.add(30 * float64(len(a.mass)+len(r.mass))); err != nil {
		return measure{}, err
	}
	return p.couple(a, r).mirrored(req.side), nil
}

// couple lists the losses above 0 of the sampled pair: the masses of the two measures
// are taken together from the highest loss down.
func (p poissonReplace) couple(a, r measure) measure {
	var losses, masses []float64
	inf := 0.0
	next := func(m measure) func() (loss, mass float64, ok bool) {
		i := len(m.loss)
		top := m.infP > 0
		return func() (float64, float64, bool) {
			if top {
				top = false
				return math.Inf(1), m.infP, true
			}
			for i--; i >= 0; i-- {
				if m.mass[i] > 0 {
					return m.loss[i], m.mass[i], true
				}
			}
			return 0, 0, false
		}
	}
	nextA, nextR := next(a), next(r)
	la, pa, okA := nextA()
	lr, pr, okR := nextR()
	for okA && okR && lr > 0 {
		mass := math.Min(pa, pr)
		weight := p.q
		if !math.IsInf(la, 1) {
			weight += (1 - p.q) * math.Exp(-la)
		}
		if l := p.loss(lr, la); math.IsInf(l, 1) {
			inf += mass * weight
		} else {
			losses, masses = append(losses, l), append(masses, mass*weight)
		}
		if pa -= mass; pa <= 0 {
			la, pa, okA = nextA()
		}
		if pr -= mass; pr <= 0 {
			lr, pr, okR = nextR()
		}
	}
	// A part's mass is that of an atom up to the rounding of as many differences.
	fault := 2*massError + float64(len(losses))*4*unit
	out := newMeasure(len(losses))
	for i := len(losses) - 1; i >= 0; i-- {
		out.add(losses[i], masses[i])
	}
	out.infP = inf
	return out.sorted().scaled(1 + fault)
}

// sorted puts the atoms in order where rounding has exchanged neighbours.
func (m measure) sorted() measure {
	for i := 1; i < len(m.loss); i++ {
		for j := i; j > 0 && m.loss[j] < m.loss[j-1]; j-- {
			m.loss[j], m.loss[j-1] = m.loss[j-1], m.loss[j]
			m.mass[j], m.mass[j-1] = m.mass[j-1], m.mass[j]
		}
	}
	return m
}

// mirrored completes a measure of losses above 0 to the one with the same profile
// there whose two directions agree. A lower measure gives up its lowest losses where
// the whole would weigh more than 1 (poissonreplace.proof.md).
func (m measure) mirrored(s side) measure {
	n, left := len(m.loss), 1-m.infP
	if s == lower {
		// The masses were rounded up: more than that is taken off.
		m = m.scaled(1 - 4*massError - float64(n)*8*unit)
		left = 1 - 2*massError - m.infP
	}
	first := 0 // the lowest loss that is kept
	for i := n - 1; i >= 0; i-- {
		left -= m.mass[i] * (1 + math.Exp(-m.loss[i]))
		if s == lower && left < 0 {
			left, first = left+m.mass[i]*(1+math.Exp(-m.loss[i])), i+1
			break
		}
	}
	if s == upper {
		left += 4*massError + float64(n)*2*unit
	}
	out := newMeasure(2*n + 1)
	out.infP, out.infQ = m.infP, m.infP
	for i := n - 1; i >= first; i-- {
		if m.loss[i] > deepest {
			out.infQ += m.mass[i] // the mass under P underflows
			continue
		}
		out.add(-m.loss[i], m.mass[i]*math.Exp(-m.loss[i]))
	}
	out.add(0, left)
	for i := first; i < n; i++ {
		out.add(m.loss[i], m.mass[i])
	}
	return out
}

// reversed is a pair whose two distributions have changed places.
type reversed struct{ inner node }

// Reverse exchanges the two distributions of a pair.
func Reverse(m Mechanism) Mechanism {
	return build(m, func(n node) Mechanism {
		if n.symmetric() {
			return n
		}
		return reversed{n}
	})
}

func (r reversed) mechanism()      {}
func (r reversed) symmetric() bool { return r.inner.symmetric() }
func (r reversed) depth() int      { return r.inner.depth() + 1 }
func (r reversed) key() string     { return "reversed(" + r.inner.key() + ")" }

func (r reversed) measure(d direction, req request) (measure, error) {
	return r.inner.measure(d.flip(), req)
}

func (r reversed) profile(d direction, eps float64) (float64, bool) {
	return r.inner.profile(d.flip(), eps)
}

func (r reversed) reach(d direction, tail float64) (lo, hi float64) {
	return r.inner.reach(d.flip(), tail)
}

func (r reversed) gaps(d direction) []gap { return r.inner.gaps(d.flip()) }
