package pld

import (
	"fmt"
	"math"
	"strings"
)

// composition is independent mechanisms, each a number of times.
type composition struct{ terms []term }

func (c composition) mechanism() {}

func (c composition) symmetric() bool {
	for _, t := range c.terms {
		if !t.node.symmetric() {
			return false
		}
	}
	return true
}

func (c composition) depth() int {
	d := 0
	for _, t := range c.terms {
		d = max(d, t.node.depth())
	}
	return d + 1
}

func (c composition) key() string {
	var b strings.Builder
	b.WriteString("compose(")
	for _, t := range c.terms {
		fmt.Fprintf(&b, "%v*%s,", t.count, t.node.key())
	}
	return b.String() + ")"
}

// gaps of a composition are known where the losses of all parts lie on lattices of
// one width: so do those of the sum.
func (c composition) gaps(d direction) []gap {
	w := c.common(d)
	if w == 0 {
		return nil
	}
	origin := 0.0
	for _, t := range c.terms {
		origin += t.count * t.node.gaps(d)[0].origin
	}
	return []gap{{origin, w, true, false}}
}

// common is the width of a lattice that holds all losses of all parts, 0 if there is
// none.
func (c composition) common(d direction) float64 {
	w := math.Inf(1)
	for _, t := range c.terms {
		gs := t.node.gaps(d)
		if len(gs) == 0 || !gs[0].only || !(gs[0].width > 0) {
			return 0
		}
		w = math.Min(w, gs[0].width)
	}
	for _, t := range c.terms {
		x := t.node.gaps(d)[0].width / w
		if math.Abs(x-math.Round(x)) > 1e-13*x {
			return 0
		}
	}
	return w
}

// align moves h so that isolated atoms keep their places: to the common lattice of
// all losses, else down a little to divide the first gap that is wide enough.
func (c composition) align(d direction, h float64) float64 {
	if w := c.common(d); w >= h {
		return w
	}
	for _, t := range c.terms {
		for _, g := range t.node.gaps(d) {
			if w := math.Abs(g.width); w >= h && w/h < 1e12 {
				return w / math.Ceil(w/h)
			}
		}
	}
	return h
}

func (c composition) profile(_ direction, eps float64) (float64, bool) {
	if len(c.terms) == 0 {
		return math.Max(0, -math.Expm1(eps)), true
	}
	return 0, false
}

// reach is a coarse answer; the nodes of the inner lattice find the true one.
func (c composition) reach(d direction, tail float64) (lo, hi float64) {
	for _, t := range c.terms {
		a, b := t.node.reach(d, tail/(t.count*float64(len(c.terms))))
		lo, hi = lo+a*t.count, hi+b*t.count
	}
	return lo, hi
}

// steps is the number of runs in all.
func (c composition) steps() float64 {
	n := 0.0
	for _, t := range c.terms {
		n += t.count
	}
	return n
}

// discretise puts every part on the lattice of step h.
func (c composition) discretise(d direction, s side, h, tail float64, maxCells int, work *effort) (*sum, error) {
	out := &sum{h: h, work: work}
	left := maxCells
	for _, t := range c.terms {
		if err := work.add(2000); err != nil {
			return nil, err
		}
		l, err := onLattice(t.node, d, s, h, tail/c.steps(), left, work)
		if err != nil {
			return nil, err
		}
		l.n = t.count
		for i, p := range l.p {
			if p > l.p[l.mid] {
				l.mid = i
			}
		}
		if left -= len(l.p); left <= 0 {
			return nil, errTooFine
		}
		out.parts = append(out.parts, l)
	}
	return out, nil
}

// fineness is into how many pieces a cell is cut before a lower bound merges them.
const fineness = 2

// onLattice is the measure of n on a lattice through its lowest isolated atom.
func onLattice(n node, d direction, s side, h, tail float64, maxCells int, work *effort) (lattice, error) {
	o := 0.0
	if gs := n.gaps(d); len(gs) > 0 {
		o = gs[0].origin
	}
	fine := h
	if s == lower {
		fine = h / fineness
	}
	r := request{side: s, grid: newGrid(o, fine), tail: math.Max(tail, 1e-307), maxCells: maxCells * int(h/fine), work: work}
	m, err := n.measure(d, r)
	if err != nil {
		return lattice{}, err
	}
	if err := work.add(100 * float64(len(m.mass))); err != nil {
		return lattice{}, err
	}
	total := m.infP + m.infQ
	for i, p := range m.mass {
		total += p + m.loss[i]
	}
	if math.IsNaN(total) {
		return lattice{}, fmt.Errorf("%w: a mass is not a number", ErrNotCertified)
	}
	if s == upper {
		return m.spread(o, h, maxCells)
	}
	out, err := m.merge(o, h, maxCells, work.theta)
	if c := m.center(h); err == nil && o == 0 && c != 0 {
		// Whichever origin wastes less loss.
		if other, err := m.merge(c, h, maxCells, work.theta); err == nil && other.mean() > out.mean() {
			return other, nil
		}
	}
	return out, err
}

// slack returns what rounding of losses may have hidden in the loss of the sum.
func (s *sum) slack() float64 {
	x := 0.0
	for i := range s.parts {
		p := &s.parts[i]
		x += p.n * (1e-13*p.h + 4e-15*math.Max(math.Abs(p.first()), math.Abs(p.last())))
	}
	return x
}

// measure composes the parts into one measure that is accurate relative to itself
// over its whole range: several tilts, the best at each point.
func (c composition) measure(d direction, r request) (measure, error) {
	if len(c.terms) == 0 {
		return point0(r.side), nil
	}
	h := r.grid.h / math.Sqrt(c.steps())
	if r.side == lower {
		h *= fineness
	}
	w := &workspace{}
	// A step that was too fine before is not tried again.
	key := c.key()
	h = math.Max(h, 0.7*r.work.fits[key])
	first := h
	for range 80 {
		m, err := c.compose(d, r, c.align(d, h), w)
		if err == nil && h > first {
			if r.work.fits == nil {
				r.work.fits = map[string]float64{}
			}
			r.work.fits[key] = h
		}
		if err != errTooFine {
			return m, err
		}
		h *= 2
	}
	return measure{}, errTooFine
}

// innerCells caps the lattice of a composition inside of another mechanism: its law is
// computed under many tilts.
const innerCells = 1 << 16

// innerCells is less in a deep nest: every draw around it works through as many.
func (c composition) innerCells() int {
	switch d := c.depth(); {
	case d > 16:
		return innerCells >> 4
	case d > 6:
		return innerCells >> 2
	}
	return innerCells
}

// window returns the losses between which the sum is computed, and bounds of the mass below and above them.
func (s *sum) window(digits, h float64) (lo, hi, massLo, massHi float64) {
	lo, hi = s.chernoff(-1, -1, digits), s.chernoff(0, 1, digits)
	massLo, massHi = math.Exp(-digits)*(1+1e-6), math.Exp(-digits)*(1+1e-6)
	first, last := s.span()
	if lo <= first {
		lo, massLo = first, 0
	}
	if hi >= last {
		hi, massHi = last, 0
	}
	if lo < -deepest {
		lo, massLo = -deepest, 1
	}
	if hi <= lo {
		hi = lo + h
	}
	return lo, hi, massLo, massHi
}

func (c composition) compose(d direction, r request, h float64, w *workspace) (measure, error) {
	cells := min(r.maxCells, c.innerCells())
	s, err := c.discretise(d, r.side, h, r.tail, cells, r.work)
	if err != nil {
		return measure{}, err
	}
	digits := -math.Log(math.Max(r.tail, 1e-290))
	if r.side == lower {
		// Mass outside the window is lost, so the edges lie where it does not matter.
		digits = math.Min(1.5*digits+40, 650)
	}
	first, last := s.span()
	lo, hi, massLo, massHi := s.window(digits, h)
	var best []float64
	var y0, top float64
	for _, theta := range s.tilts(lo, hi) {
		// At most these masses lie outside under this tilt.
		tl, th := s.outside(theta, lo, hi, first, last)
		t, err := s.transform(theta, lo, hi, tl, th, cells, w)
		if err != nil {
			return measure{}, err
		}
		r.work.spent += float64(len(t.r))
		if best == nil {
			best, y0, top = make([]float64, len(t.r)), t.y0, float64(t.top)
			for i := range best {
				if r.side == upper && i <= t.top {
					best[i] = math.Inf(1)
				}
			}
		}
		for i, v := range t.r[:max(0, min(len(t.r), t.top+1))] {
			y := y0 + float64(i)*h
			scale := t.k - theta*y
			if r.side == upper {
				best[i] = math.Min(best[i], math.Exp(scale+t.growth)*(math.Max(v, 0)+t.fault))
			} else if v -= t.fault + t.wrapped; v > 0 {
				best[i] = math.Max(best[i], math.Exp(scale-t.growth)*v)
			}
		}
	}
	out := newMeasure(len(best) + 1)
	slack := s.slack()
	up := math.Exp(slack)
	if r.side == lower {
		up = 1 / up
		slack = -slack
		out.infP = s.infinite() * (1 - 1e-9)
	} else {
		out.infP = s.infinite() + massHi
		out.infQ = math.Min(1, s.infiniteQ()+massLo)
		best[0] += massLo * math.Exp(math.Min(0, lo)) // P is at most e^lo·Q below lo
	}
	for i, v := range best {
		y := y0 + float64(i)*h
		// No mass is above 1 under either distribution, whatever overflowed.
		if most := math.Exp(math.Min(0, y)) * (1 + 1e-6); r.side == upper && !(v <= most) && float64(i) <= top {
			v = most
		}
		if v > 0 && !math.IsInf(v, 0) {
			out.add(y+slack, v*up)
		}
	}
	return out, nil
}
