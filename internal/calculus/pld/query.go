package pld

import (
	"errors"
	"fmt"
	"math"
)

// Interval holds the true value for the pair: Upper is what may be charged.
type Interval struct{ Lower, Upper float64 }

// Options say how tight an answer must be. The zero value asks for 1 % or 1e-4,
// whichever is larger.
type Options struct {
	RelTol, AbsTol float64
	// UpperOnly leaves out the lower bound (Lower is 0): about three times as fast.
	UpperOnly bool
	// Laws, where given, keeps for later queries what queries of δ find. Bounds are from above only then.
	Laws *Laws
	_    struct{}
}

// ErrWide is wrapped by the error that comes with an interval that is sound but
// wider than was asked for.
var ErrWide = errors.New("pld: interval wider than asked for")

// ErrNotCertified is wrapped by the error of a query that has no certified answer.
var ErrNotCertified = errors.New("pld: no bound could be certified")

// mostCells caps the lattice of a query, and with it memory (about 60 bytes a cell) and time.
const mostCells = 1 << 20

func (o Options) filled() (Options, error) {
	if o.RelTol == 0 && o.AbsTol == 0 {
		o.RelTol, o.AbsTol = 0.01, 1e-4
	}
	if !(o.RelTol >= 0 && o.AbsTol >= 0) {
		return o, errors.New("pld: options: tolerances must not be negative")
	}
	return o, nil
}

// question is a query of one mechanism.
type question struct {
	c       composition
	below   composition // dominated by c, for the lower bound: c itself unless it was too long
	o       Options
	epsilon bool    // asked for: epsilon at a delta, or delta at an epsilon
	at      float64 // the given one
	space   *workspace

	effort
	kept               *sum
	keptStep, keptTail float64
	keptDir            direction
	keptSide           side
}

// Epsilon bounds the least eps ≥ 0 with δ(eps) ≤ delta. With an error that wraps
// [ErrWide] the interval is sound but wider than asked for; with any other error it
// must not be used.
func Epsilon(m Mechanism, delta float64, o Options) (Interval, error) {
	if !(delta >= 0 && delta < 1) {
		return Interval{}, fmt.Errorf("pld: delta must lie in [0, 1) (%v)", delta)
	}
	if delta < 0x1p-1022 {
		delta = 0 // numbers that have lost their digits: a stronger guarantee than was asked for
	}
	return ask(m, o, true, delta)
}

// Delta bounds δ(eps), the larger of both directions, for any real eps.
func Delta(m Mechanism, eps float64, o Options) (Interval, error) {
	if math.IsNaN(eps) || math.Abs(eps) > 1e15 {
		return Interval{}, fmt.Errorf("pld: eps must be a number within 1e15 (%v)", eps)
	}
	return ask(m, o, false, eps)
}

func ask(m Mechanism, o Options, epsilon bool, at float64) (Interval, error) {
	o, err := o.filled()
	if err != nil {
		return Interval{}, err
	}
	n, err := asNode(m)
	if err != nil {
		return Interval{}, err
	}
	if iv, ok := exact(n, epsilon, at); ok {
		if o.UpperOnly || o.Laws != nil {
			iv.Lower = 0
		}
		return iv, nil
	}
	c, ok := n.(composition)
	if !ok {
		c = composition{[]term{{n, 1}}}
	}
	c, below, err := join(c, maxTerms)
	if err != nil {
		return Interval{}, err
	}
	if o.Laws != nil && !epsilon {
		return o.Laws.delta(c, below, o, at)
	}
	q := &question{c: c, below: below, o: o, epsilon: epsilon, at: at, space: &workspace{}}
	return q.answer()
}

// profileError is the relative error of the closed profiles at eps.
func profileError(eps float64) float64 { return 4e-12 + 1e-15*math.Abs(eps) }

// exact answers from closed profiles.
func exact(n node, epsilon bool, at float64) (Interval, bool) {
	top := func(eps float64) (float64, bool) {
		v, ok := n.profile(forward, eps)
		if ok && !n.symmetric() {
			var w float64
			w, ok = n.profile(backward, eps)
			v = math.Max(v, w)
		}
		return v, ok && !math.IsNaN(v)
	}
	if _, ok := top(0.5); !ok {
		return Interval{}, false
	}
	_, hi := n.reach(forward, 0)
	if !n.symmetric() {
		_, b := n.reach(backward, 0)
		hi = math.Max(hi, b)
	}
	rounded := func(eps float64) (lo, up float64, ok bool) {
		v, ok := top(eps)
		e := profileError(eps)
		lo, up = math.Max(0, v*(1-e)), v*(1+e)
		if up < 1e-290 && (v > 0 || eps < hi) {
			lo, up = 0, math.Max(up, 1e-300)
			if v == 0 {
				up = 5e-324
			}
		}
		return lo, math.Min(1, up), ok
	}
	if !epsilon {
		lo, up, ok := rounded(at)
		return Interval{lo, up}, ok
	}
	solve := func(f func(float64) (float64, bool)) (float64, float64, bool) {
		v, ok := f(0)
		if !ok || v <= at {
			return 0, 0, ok
		}
		lo, hi := 0.0, 1e-12
		for {
			v, ok := f(hi)
			if !ok {
				return 0, 0, false
			}
			if v <= at {
				break
			}
			if lo, hi = hi, hi*4; hi > 1e16 {
				return lo, math.Inf(1), true
			}
		}
		for range 200 {
			mid := (lo + hi) / 2
			if mid <= lo || mid >= hi || hi-lo < 1e-14*hi {
				break
			}
			v, ok := f(mid)
			if !ok {
				return 0, 0, false
			}
			if v <= at {
				hi = mid
			} else {
				lo = mid
			}
		}
		return lo, hi, true
	}
	_, up, ok1 := solve(func(e float64) (float64, bool) { _, u, ok := rounded(e); return u, ok })
	lo, _, ok2 := solve(func(e float64) (float64, bool) { l, _, ok := rounded(e); return l, ok })
	// Losses are right to a few units in the last place, and a profile may jump at one.
	return Interval{lo * (1 - 4e-15), up * (1 + 4e-15)}, ok1 && ok2
}
