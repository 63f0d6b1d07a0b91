package pld

import (
	"fmt"
	"math"
)

// shape is what a coarse look at the composition found: the tilt of the answer, the
// answer itself, and the mass that may be cut.
type shape struct {
	theta, eps, delta float64
	h, tail           float64
}

// answer brackets the larger of both directions.
func (q *question) answer() (Interval, error) {
	dirs := []direction{forward, backward}
	if q.c.symmetric() {
		dirs = dirs[:1]
	}
	var out Interval
	for _, d := range dirs {
		iv, err := q.direction(d)
		if err != nil {
			return Interval{}, err
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

// narrow says whether the interval is as tight as was asked for. For delta the
// tolerance is relative to delta.
func (q *question) narrow(iv Interval) bool {
	return iv.Upper-iv.Lower <= math.Max(q.o.RelTol*iv.Upper, q.o.AbsTol)
}

// direction brackets one direction, refining the lattice until it is narrow.
func (q *question) direction(d direction) (Interval, error) {
	sh, err := q.look(d)
	if err != nil {
		return Interval{}, err
	}
	iv := Interval{0, math.Inf(1)}
	if !q.epsilon {
		iv.Upper = 1
	}
	for range 5 {
		up, err := q.bound(d, upper, sh)
		if err != nil && err != errTooFine {
			return Interval{}, err
		}
		if err == nil {
			iv.Upper = math.Min(iv.Upper, up)
		}
		if q.o.UpperOnly && err == nil {
			break
		}
		low, lowErr := q.bound(d, lower, sh)
		if lowErr == nil {
			iv.Lower = math.Max(iv.Lower, low)
		}
		if err == errTooFine || lowErr == errTooFine {
			if math.IsInf(iv.Upper, 1) || (!q.epsilon && iv.Upper >= 1) {
				sh.h *= 2
				continue
			}
			break
		}
		if q.narrow(iv) {
			break
		}
		sh.h /= 2
	}
	return iv, nil
}

// look finds the step of the lattice: connect-the-dots adds at most about
// steps·(1+θ)·h²/12 to eps at the tilt θ of the answer.
func (q *question) look(d direction) (shape, error) {
	steps := q.c.steps()
	sh := shape{tail: 1e-300}
	if q.epsilon {
		sh.tail = math.Max(q.at*1e-4, 1e-303)
	}
	width := 0.0
	for _, t := range q.c.terms {
		lo, hi := t.node.reach(d, math.Max(sh.tail/steps, 1e-300))
		width = math.Max(width, math.Min(hi, 1e6)-math.Max(lo, -1e6))
	}
	if !(width > 0) {
		width = 1
	}
	sh.h = width / 256
	for round := range 6 {
		s, err := q.c.discretise(d, upper, sh.h, sh.tail, q.o.MaxCells/2)
		if err == errTooFine {
			sh.h *= 2
			continue
		}
		if err != nil {
			return sh, err
		}
		goal := q.o.AbsTol
		if q.epsilon {
			sh.theta, sh.eps = s.guess(math.Log(math.Max(q.at, 1e-305)))
			goal = math.Max(goal, q.o.RelTol*math.Max(0, sh.eps)) / 50
		} else {
			sh.eps = q.at
			sh.theta = s.saddle(q.at)
			k, m, v := s.cumulants(sh.theta)
			_ = m
			sh.delta = math.Exp(k-sh.theta*q.at) * (halfMills(sh.theta*math.Sqrt(v)) - halfMills((1+sh.theta)*math.Sqrt(v)))
			if sh.delta > 0 && sh.tail < sh.delta*1e-8 {
				sh.tail = math.Max(1e-300, sh.delta*1e-4)
			}
			// Relative to delta: a shift of eps by x changes it by θ·x.
			goal = math.Max(goal, q.o.RelTol) / 50 / (1 + sh.theta)
		}
		h := math.Sqrt(12 * goal / (steps * (1 + sh.theta)))
		h = math.Max(math.Min(h, width/64), width/(1<<16))
		if h > 0.7*sh.h && round > 0 {
			break
		}
		sh.h = math.Min(sh.h, h)
	}
	return sh, nil
}

// bound computes one bound of one direction on the lattice of step about sh.h.
func (q *question) bound(d direction, side side, sh shape) (float64, error) {
	if len(q.c.terms) == 1 && q.c.terms[0].count == 1 {
		return q.single(d, side, sh)
	}
	h := q.c.align(d, sh.h)
	s, err := q.c.discretise(d, side, h, sh.tail, q.o.MaxCells)
	if err != nil {
		return 0, err
	}
	theta := sh.theta
	for round := range 4 {
		if round == 0 {
			if q.epsilon {
				theta, _ = s.guess(math.Log(math.Max(q.at, 1e-305)))
			} else {
				theta = s.saddle(q.at)
			}
		}
		lo, hi, massLo, massHi := s.tails(theta, 28)
		if !q.epsilon {
			lo, hi = math.Min(lo, math.Max(q.at-s.h, -1e300)), math.Max(hi, q.at+s.h)
		}
		t, err := s.transform(theta, lo, hi, massLo, massHi, q.o.MaxCells, q.work)
		if err != nil {
			return 0, err
		}
		r := &reader{t: t, inf: s.infinite(), side: side, slack: s.slack()}
		if side == lower {
			r.inf *= 1 - 1e-9
		}
		if !q.epsilon {
			return r.delta(q.at), nil
		}
		eps, ok := r.epsilon(q.at)
		if ok && !math.IsNaN(eps) {
			return math.Max(0, eps), nil
		}
		if side == upper && math.IsInf(eps, 1) {
			return eps, nil
		}
		if eps <= 0 || theta == 0 {
			return 0, nil
		}
		theta = s.saddle(eps) / 2
	}
	return 0, ErrNotCertified
}

