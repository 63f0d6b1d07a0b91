package pld

import (
	"errors"
	"fmt"
	"math"
)

// look holds the findings of a coarse lattice about one direction.
type look struct {
	d     direction
	theta float64 // the tilt of the answer
	upper float64 // Chernoff's bound on what was asked
	h     float64 // the step that should make the bounds tight
	tail  float64 // mass that may be cut
	next  float64 // the step that the next improvement would take
	// A coarser step, where the answer was looked for first, and what was found there.
	coarse, near float64
	width        float64 // range of the losses of one step
}

// answer brackets the larger of both directions. It refines the direction that looks larger
// first, and the other one only as far as it may still matter.
func (q *question) answer() (Interval, error) {
	looks := make([]*look, 0, 2)
	for _, d := range []direction{forward, backward} {
		if d == backward && q.c.symmetric() {
			break
		}
		l, err := q.look(d)
		if err != nil {
			return Interval{}, err
		}
		looks = append(looks, l)
	}
	if len(looks) == 2 && looks[1].upper > looks[0].upper {
		looks[0], looks[1] = looks[1], looks[0]
	}
	var out Interval
	for _, l := range looks {
		iv, err := q.direction(l, out)
		if err != nil {
			return Interval{}, err
		}
		if math.IsNaN(iv.Upper) {
			return Interval{}, fmt.Errorf("%w: the losses overflow", ErrNotCertified)
		}
		if math.IsNaN(iv.Lower) {
			iv.Lower = 0
		}
		out.Lower, out.Upper = math.Max(out.Lower, iv.Lower), math.Max(out.Upper, iv.Upper)
	}
	if q.o.UpperOnly {
		out.Lower = 0
		return out, nil
	}
	if !q.narrow(out) {
		return out, fmt.Errorf("%w: [%v, %v]", ErrWide, out.Lower, out.Upper)
	}
	return out, nil
}

// narrow reports whether the interval is as tight as was asked for. For delta the
// tolerance is relative to delta.
func (q *question) narrow(iv Interval) bool {
	return iv.Upper-iv.Lower <= math.Max(q.o.RelTol*iv.Upper, q.o.AbsTol)
}

// direction brackets one direction. It refines the lattice until the bracket is narrow, or
// lies below the upper bound of the other direction and does not matter.
func (q *question) direction(l *look, other Interval) (Interval, error) {
	iv := Interval{0, l.upper}
	if iv.Upper <= other.Upper {
		return iv, nil
	}
	if err := q.step(l, other.Upper); err != nil {
		return iv, err
	}
	if iv.Upper = l.upper; iv.Upper <= other.Upper {
		return iv, nil
	}
	// A first bound on the coarse lattice says where the answer lies.
	if up, err := q.bound(l, upper, l.coarse); err == nil {
		iv.Upper = math.Min(iv.Upper, up)
		if iv.Upper <= other.Upper {
			return iv, nil
		}
	} else if err != errTooFine && !errors.Is(err, ErrNotCertified) {
		return iv, err
	}
	h, factor := l.h, 0.5
	defer func() { q.limit = 0 }()
	for range 8 {
		// Something is left for the lower bound.
		if q.limit = 0; !q.o.UpperOnly && len(q.c.terms) > 16 {
			q.limit = 0.6 * maxWork
		}
		up, err := q.bound(l, upper, h)
		q.limit = 0
		if errors.Is(err, errSpent) && !q.o.UpperOnly && iv.Lower == 0 {
			// A lower bound on the coarse lattice is better than none.
			if low, err := q.bound(l, lower, math.Max(l.coarse, h)); err == nil {
				iv.Lower = low
			}
			break
		}
		if err != nil && err != errTooFine && !errors.Is(err, ErrNotCertified) {
			return Interval{}, err
		}
		if err != nil {
			factor = 2
		} else {
			iv.Upper = math.Min(iv.Upper, up)
		}
		if iv.Upper <= other.Upper {
			break
		}
		if q.o.UpperOnly {
			if err == nil && h <= l.h {
				break
			}
		} else if err == nil {
			low, err := q.bound(l, lower, h)
			if err == nil {
				iv.Lower = math.Max(iv.Lower, low)
			} else if err != errTooFine && !errors.Is(err, ErrNotCertified) {
				return Interval{}, err
			}
			if q.narrow(Interval{math.Max(iv.Lower, other.Lower), math.Max(iv.Upper, other.Upper)}) || factor > 1 {
				break
			}
		}
		if q.spent > budget || q.work > 0.5*maxWork || errors.Is(err, errSpent) {
			break
		}
		h *= factor
	}
	return iv, nil
}

// look is a first look at one direction on a coarse lattice.
func (q *question) look(d direction) (*look, error) {
	l := &look{d: d, tail: 1e-300, upper: math.Inf(1)}
	if q.epsilon {
		l.tail = math.Max(q.at*1e-4, 1e-303)
	} else {
		l.upper = 1
	}
	for _, t := range q.c.terms {
		lo, hi := t.node.reach(d, math.Max(l.tail/q.c.steps(), 1e-305))
		l.width = math.Max(l.width, math.Min(hi, 1e9)-math.Max(lo, -1e9))
	}
	if !(l.width > 0) {
		l.width = 1
	}
	l.h = l.width / 256
	for range 80 {
		h, err := q.improve(l)
		if err != errTooFine {
			l.next = h
			return l, err
		}
		l.h *= 2
	}
	return nil, fmt.Errorf("%w: no lattice fits the losses", ErrNotCertified)
}

// step finds the step of the lattice, unless the direction stops to matter before.
func (q *question) step(l *look, other float64) error {
	for l.coarse = l.h; l.upper > other && l.next < l.h/10; l.coarse = l.h {
		before := l.h
		l.h = l.next * 6
		next, err := q.improve(l)
		if err == errTooFine || errors.Is(err, errSpent) {
			l.h = before
			l.next = l.h
			break
		}
		if err != nil {
			return err
		}
		l.next = next
	}
	l.h = math.Min(l.next, l.h)
	return nil
}

// improve computes Chernoff's bound on the lattice of step l.h and the step that
// should make the bounds tight: connect-the-dots adds at most about
// steps·(1+θ)·h²/12 to eps at the tilt θ of the answer.
func (q *question) improve(l *look) (float64, error) {
	s, err := q.lattice(l, upper, l.h)
	if err != nil {
		return 0, err
	}
	return q.finer(s, l), nil
}

// finer notes the tilt and Chernoff's bound on a lattice, and returns the step that should make the bounds tight.
func (q *question) finer(s *sum, l *look) float64 {
	goal := q.o.AbsTol
	if q.epsilon {
		inf := s.infinite() * (1 + 1e-9)
		up := math.Inf(1)
		if _, last := s.span(); q.at == 0 && inf == 0 {
			up = math.Max(0, last+s.slack()+1e-12*math.Abs(last))
		} else if inf < q.at {
			l.theta, up = s.bound((q.at - inf) * (1 - 1e-9))
			up = math.Max(0, up+s.slack()+1e-12*math.Abs(up))
		}
		l.upper = math.Min(l.upper, up)
		goal = math.Max(goal, q.o.RelTol*math.Min(l.upper, 1e9)) / q.aim()
	} else {
		if _, last := s.span(); q.at > last+s.slack()+1e-12*math.Abs(last) { // no finite loss is as large
			l.upper = math.Min(l.upper, s.infinite()*(1+1e-9))
		}
		l.theta = s.saddle(q.at)
		k, _, v := s.cumulants(l.theta)
		l.upper = math.Min(l.upper, math.Exp(k-l.theta*(q.at-s.slack())+logPeak(l.theta))*(1+1e-9)+s.infinite()*(1+1e-9))
		sd := math.Sqrt(v)
		if delta := math.Exp(k-l.theta*q.at) * (halfMills(l.theta*sd) - halfMills((1+l.theta)*sd)); delta > 0 && l.tail < delta*1e-8 {
			l.tail = math.Max(1e-300, delta*1e-4)
		}
		// Relative to delta: a shift of eps by x changes it by θ·x.
		goal = math.Max(goal, q.o.RelTol) / q.aim() / (1 + l.theta)
	}
	h := math.Sqrt(12 * goal / (q.c.steps() * (1 + l.theta)))
	return math.Max(math.Min(h, l.width/64), l.width/(1<<16))
}

// aim returns how much closer than asked for the upper bound aims. Each of many different parts
// is put on a lattice of its own, so a finer one costs more than it is worth.
func (q *question) aim() float64 { return tightness / float64(1+len(q.c.terms)/25) }

// tightness is the factor by which the upper bound aims closer than asked for: a lower bound, or a
// second round, costs more than a finer lattice.
const tightness = 150

// budget is the number of cells that a query may work through before it stops refining: about
// a third of a second.
const budget = 2 * mostCells

// lattice discretises all parts; the last one is kept.
func (q *question) lattice(l *look, s side, h float64) (*sum, error) {
	if q.kept != nil && q.keptStep == h && q.keptDir == l.d && q.keptSide == s && q.keptTail == l.tail {
		return q.kept, nil
	}
	q.theta = l.theta
	c := q.c
	if s == lower {
		c = q.below
	}
	out, err := c.discretise(l.d, s, c.align(l.d, h), l.tail, mostCells, &q.effort)
	if err != nil {
		return nil, err
	}
	q.kept, q.keptStep, q.keptDir, q.keptSide, q.keptTail = out, h, l.d, s, l.tail
	return out, nil
}

// bound computes one bound of one direction on the lattice of step about h.
func (q *question) bound(l *look, side side, h float64) (float64, error) {
	if len(q.c.terms) == 1 && q.c.terms[0].count == 1 {
		m, err := q.once(l.d, side, h, l.tail)
		if err != nil {
			return 0, err
		}
		if q.epsilon {
			q.spent += float64(len(m.loss))
			return m.epsilon(q.at), nil
		}
		return m.delta(q.at), nil
	}
	s, err := q.lattice(l, side, h)
	if err != nil {
		return 0, err
	}
	inf := s.infinite()
	if side == lower {
		inf *= 1 - 1e-9
	} else {
		inf *= 1 + 1e-9
	}
	q.spent += float64(s.cells())
	if q.epsilon && q.at == 0 && inf == 0 {
		// The largest loss that has any mass.
		_, last := s.span()
		if side == upper {
			return math.Max(0, last+s.slack()), nil
		}
		return math.Max(0, last-s.slack()), nil
	}
	if q.epsilon && inf >= q.at {
		return math.Inf(1), nil
	}
	theta, near := l.theta, l.near
	if !q.epsilon {
		near = q.at
	} else if near == 0 {
		theta, near = s.bound(q.at - inf)
	}
	best := math.Inf(1)
	if side == lower {
		best = 0
	} else if !q.epsilon {
		best = 1
	}
	err = errTooFine
	for range 3 {
		r, terr := q.law(s, side, inf, theta, near)
		if terr != nil {
			return 0, terr
		}
		err = nil
		if !q.epsilon {
			v, _ := r.delta(q.at)
			return v, nil
		}
		eps, ok := r.epsilon(q.at)
		if ok && !math.IsNaN(eps) {
			eps = math.Max(0, eps)
			if l.near == 0 && side == upper && !math.IsInf(eps, 1) {
				l.near, l.theta = math.Max(eps, 1e-300), s.saddle(eps)
			}
			if side == upper {
				return math.Min(best, eps), nil
			}
			return math.Max(best, eps), nil
		}
		if side == upper && eps < best {
			best = math.Max(0, eps) // the start of the window: sound, if not tight
		}
		if eps <= 0 || theta == 0 {
			break
		}
		theta, near = theta/2, math.Min(near, eps)
	}
	return best, err
}

// reading is a law of the sum from which bounds are read. off is how much of an upper bound on δ is there for rounding, and for
// what lies outside of the window.
type reading interface {
	epsilon(delta float64) (eps float64, ok bool)
	delta(eps float64) (bound, off float64)
}

// law computes the law of the sum under a tilt between 0 and θ. With a smaller tilt more
// digits of the tail drown in rounding, but where the tilted law has a second hump far out
// the window is shorter.
func (q *question) law(s *sum, side side, inf, theta, near float64) (reading, error) {
	const digits = 28
	type window struct{ theta, lo, hi, massLo, massHi, cells, fault float64 }
	k0, _, _ := s.cumulants(theta)
	target := 0.05 * math.Exp(k0-theta*near+logPeak(theta))
	if q.epsilon {
		target = q.at - inf
	}
	var best window
	for i, share := range []float64{1, 0.8, 0.6, 0.4, 0.2, 0} {
		w := window{theta: theta * share}
		k, _, _ := s.cumulants(w.theta)
		// Under a smaller tilt the tail lies deeper below the bulk.
		lost := math.Max(0, (k-w.theta*near)-(k0-theta*near))
		if lost > 20 {
			break
		}
		w.lo, w.hi, w.massLo, w.massHi = s.tails(w.theta, digits+lost)
		w.cells = (w.hi-w.lo)/s.h + 4
		w.fault = q.c.steps() * 1e-14 * math.Exp(k-w.theta*near) * weightNorm(w.theta, s.h, w.cells)
		good, fits := w.fault < 1e-4*target, w.cells < mostCells
		bestGood, bestFits := best.fault < 1e-4*target, best.cells < mostCells
		switch {
		case i == 0 || fits && !bestFits,
			fits == bestFits && good && !bestGood,
			fits == bestFits && good == bestGood && good && w.cells < 0.7*best.cells,
			fits == bestFits && good == bestGood && !good && w.fault < best.fault:
			best = w
		}
		if best.cells < 1<<16 && best.fault < 1e-4*target {
			break
		}
	}
	lo, hi := best.lo, best.hi
	if !q.epsilon {
		lo, hi = math.Min(lo, q.at-s.h), math.Max(hi, q.at+s.h)
	}
	if (hi-lo)/s.h > 4096 {
		if t := s.series(best.theta, lo, hi, best.massLo, best.massHi); t != nil {
			q.spent += float64(len(t.coef)*s.cells()) / 64
			return &wave{t, inf, side, s.slack()}, nil
		}
	}
	q.spent += best.cells
	t, err := s.transform(best.theta, lo, hi, best.massLo, best.massHi, mostCells, q.space)
	if err != nil {
		return nil, err
	}
	return &reader{t, inf, side, s.slack()}, nil
}
