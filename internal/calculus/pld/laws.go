package pld

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Laws keeps what queries of δ find, so that queries at other points read it off: a curve takes few compositions. The zero
// value keeps nothing yet.
type Laws struct {
	mu    sync.Mutex
	known map[string]*kept
}

const (
	// enough is a δ that a curve need not bound closely: nobody sees it.
	enough = 1e-15
	// A lattice is laid wide times wider than asked for, and may be mostWide times wider at another point: what it adds grows with
	// the square, and is a hundredth of the tolerance where it is as fine as asked for.
	wide, mostWide = 2, 5
	// faint is a δ below which a curve has a tenth of the digits.
	faint = 1e-8
	// slight is the share of a bound that rounding may add.
	slight = 1e-3
)

// kept is a mechanism, and what is known of its two directions.
type kept struct {
	q     *question
	sides [2]keptSide
}

type keptSide struct {
	h, width float64
	guide    *sum    // on a coarse lattice: where to look, and Chernoff's bound; nil before the first lattice
	sum      *sum    // on a lattice of step h; nil for a mechanism that runs once
	once     *single // of a mechanism that runs once
	laws     []reading
}

// delta bounds δ(eps) from above.
//
// # Contract
//
// Each bound is read at eps itself, off a law of the sum under some tilt, or is Chernoff's; both hold for every tilt. Proof:
// composition.proof.md.
func (l *Laws) delta(c, below composition, o Options, eps float64) (Interval, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := c.key()
	k := l.known[key]
	if k == nil {
		if l.known == nil {
			l.known = map[string]*kept{}
		}
		k = &kept{q: &question{c: c, below: below, o: o, space: &workspace{}}}
		l.known[key] = k
	}
	k.q.at, k.q.effort = eps, effort{fits: k.q.fits}
	out := 0.0
	for i, d := range []direction{forward, backward} {
		if d == backward && c.symmetric() {
			break
		}
		v, err := k.delta(&k.sides[i], d, math.Max(out, enough))
		switch {
		case err != nil:
			return Interval{}, err
		case math.IsNaN(v):
			return Interval{}, fmt.Errorf("%w: the losses overflow", ErrNotCertified)
		}
		out = math.Max(out, v)
	}
	return Interval{Upper: math.Min(out, 1)}, nil
}

// delta bounds one direction, closely where the bound is above least.
func (k *kept) delta(s *keptSide, d direction, least float64) (float64, error) {
	q := k.q
	if s.guide != nil {
		l := &look{d: d, upper: 1, width: s.width}
		h := q.finer(s.guide, l) * roughness(l)
		if l.upper <= least {
			return l.upper, nil
		}
		if s.h <= mostWide*h {
			if v, err := s.read(q, l); err == nil {
				return v, nil
			}
		}
	}
	l, err := q.look(d)
	if err == nil && l.upper > least {
		err = q.step(l, least)
	}
	if err != nil || l.upper <= least {
		return l.upper, err
	}
	l.tail = math.Min(l.tail, enough*1e-3)
	l.h *= wide * roughness(l)
	for range 8 {
		q.effort = effort{fits: q.fits}
		v := 1.0
		if err = s.lay(q, l); err == nil {
			v, err = s.read(q, l)
		}
		if err == nil || err != errTooFine && !errors.Is(err, ErrNotCertified) {
			return v, err
		}
		l.h *= 2
	}
	return l.upper, nil
}

// roughness returns the factor by which a lattice may be wider because nobody looks closely.
func roughness(l *look) float64 {
	if l.upper < faint {
		return 3
	}
	return 1
}

// lay puts the mechanism on a lattice of step l.h.
func (s *keptSide) lay(q *question, l *look) (err error) {
	var next keptSide
	next.h, next.width = l.h, l.width
	if len(q.c.terms) == 1 && q.c.terms[0].count == 1 {
		next.once, err = q.once(l.d, upper, l.h, l.tail)
	} else {
		next.sum, err = q.lattice(l, upper, l.h)
	}
	if err == nil {
		next.guide, err = q.lattice(l, upper, l.coarse)
	}
	if err == nil {
		*s = next
	}
	return err
}

// read bounds δ where q asks, by what is kept or by one law more.
func (s *keptSide) read(q *question, l *look) (float64, error) {
	if s.once != nil {
		return math.Min(l.upper, s.once.delta(q.at)), nil
	}
	best := l.upper
	for _, r := range s.laws {
		v, off := r.delta(q.at)
		if best = math.Min(best, v); off <= slight*v || best <= enough {
			return best, nil
		}
	}
	r, err := q.law(s.sum, upper, s.sum.infinite()*(1+1e-9), l.theta, q.at)
	if err != nil {
		return 0, err
	}
	s.laws = append(s.laws, r)
	v, _ := r.delta(q.at)
	return math.Min(best, v), nil
}
