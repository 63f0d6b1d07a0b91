package pld

import (
	"fmt"
	"math"
)

// poisson is ((1-q)Q+qP, Q) for the pair (P, Q) of inner.
type poisson struct {
	q     float64
	inner node
}

func (p poisson) mechanism()      {}
func (p poisson) symmetric() bool { return false }
func (p poisson) depth() int      { return p.inner.depth() + 1 }
func (p poisson) key() string     { return fmt.Sprintf("poisson(%x,%v)", p.q, p.inner.key()) }

func (p poisson) to(d direction) func(float64) float64 {
	if d == forward {
		return func(l float64) float64 { return poissonLoss(p.q, l) }
	}
	return func(l float64) float64 { return -poissonLoss(p.q, -l) }
}

func (p poisson) from(d direction) func(float64) float64 {
	if d == forward {
		return func(l float64) float64 { return poissonLossInverse(p.q, l) }
	}
	return func(l float64) float64 { return -poissonLossInverse(p.q, -l) }
}

func (p poisson) measure(d direction, r request) (measure, error) {
	r.grid = r.grid.through(p.to(d), p.from(d))
	m, err := p.inner.measure(d, r)
	if err != nil {
		return m, err
	}
	if d == backward {
		return m.poissonBackward(p.q), nil
	}
	if r.side == lower {
		m = m.limitQ()
	}
	return m.poissonForward(p.q), nil
}

func (p poisson) profile(d direction, eps float64) (float64, bool) {
	// With α = e^eps: q·δ(1+(α-1)/q) against (1-α(1-q))·δ(αq/(1-α(1-q))).
	if d == forward {
		if eps <= math.Log1p(-p.q) {
			return -math.Expm1(eps), true
		}
		v, ok := p.inner.profile(d, poissonLossInverse(p.q, eps))
		return p.q * v, ok
	}
	rest := -math.Expm1(eps + math.Log1p(-p.q))
	if rest <= 0 {
		return 0, true
	}
	v, ok := p.inner.profile(d, -poissonLossInverse(p.q, -eps))
	return rest * v, ok
}

func (p poisson) reach(d direction, tail float64) (lo, hi float64) {
	lo, hi = p.inner.reach(d, tail)
	return p.to(d)(lo), p.to(d)(hi)
}

func (p poisson) gaps(d direction) []gap { return mapGaps(p.inner.gaps(d), p.to(d)) }

// mapGaps moves gaps through a monotone map of losses.
func mapGaps(gs []gap, to func(float64) float64) []gap {
	var out []gap
	for _, g := range gs {
		o := to(g.origin)
		out = append(out, gap{o, to(g.origin+g.width) - o, g.pair, g.pair})
	}
	return out
}

// without is sampling without replacement at rate gamma (P7).
type without struct {
	gamma float64
	inner node
}

func (w without) mechanism()      {}
func (w without) symmetric() bool { return w.inner.symmetric() }
func (w without) depth() int      { return w.inner.depth() + 1 }
func (w without) key() string     { return fmt.Sprintf("without(%x,%v)", w.gamma, w.inner.key()) }

func (w without) to(l float64) float64 {
	if l < 0 {
		return -poissonLoss(w.gamma, -l)
	}
	return poissonLoss(w.gamma, l)
}

func (w without) from(l float64) float64 {
	if l < 0 {
		return -poissonLossInverse(w.gamma, -l)
	}
	return poissonLossInverse(w.gamma, l)
}

func (w without) measure(d direction, r request) (measure, error) {
	r.grid = r.grid.through(w.to, w.from)
	m, err := w.inner.measure(d, r)
	if err != nil {
		return m, err
	}
	if r.side == upper && !w.inner.symmetric() {
		other, err := w.inner.measure(d.flip(), r)
		if err != nil {
			return m, err
		}
		m = larger(m, other)
	}
	return m.withoutReplacement(w.gamma), nil
}

func (w without) profile(_ direction, eps float64) (float64, bool) {
	inner := func(e float64) (float64, bool) {
		v, ok := w.inner.profile(forward, e)
		if !w.inner.symmetric() {
			other, ok2 := w.inner.profile(backward, e)
			v, ok = math.Max(v, other), ok && ok2
		}
		return v, ok
	}
	if eps >= 0 {
		v, ok := inner(poissonLossInverse(w.gamma, eps))
		return w.gamma * v, ok
	}
	v, ok := inner(-poissonLossInverse(w.gamma, -eps))
	return -math.Expm1(eps+math.Log1p(-w.gamma)) * v, ok
}

func (w without) reach(d direction, tail float64) (lo, hi float64) {
	lo, hi = w.inner.reach(d, tail)
	if !w.inner.symmetric() {
		lo2, hi2 := w.inner.reach(d.flip(), tail)
		lo, hi = math.Min(lo, lo2), math.Max(hi, hi2)
	}
	return w.to(lo), w.to(hi)
}

func (w without) gaps(d direction) []gap { return mapGaps(w.inner.gaps(d), w.to) }

// mixture is inner with probability p, else nothing.
type mixture struct {
	p     float64
	inner node
}

func (m mixture) mechanism()      {}
func (m mixture) symmetric() bool { return m.inner.symmetric() }
func (m mixture) depth() int      { return m.inner.depth() + 1 }
func (m mixture) key() string     { return fmt.Sprintf("mixture(%x,%v)", m.p, m.inner.key()) }

func (m mixture) measure(d direction, r request) (measure, error) {
	inner, err := m.inner.measure(d, r)
	if err != nil {
		return inner, err
	}
	return inner.mixed(m.p), nil
}

func (m mixture) profile(d direction, eps float64) (float64, bool) {
	v, ok := m.inner.profile(d, eps)
	return m.p*v + (1-m.p)*math.Max(0, -math.Expm1(eps)), ok
}

func (m mixture) reach(d direction, tail float64) (lo, hi float64) {
	lo, hi = m.inner.reach(d, tail)
	return math.Min(lo, 0), math.Max(hi, 0)
}

func (m mixture) gaps(d direction) []gap {
	gs := m.inner.gaps(d)
	if len(gs) == 0 {
		return nil
	}
	// The new atom lies at 0, which need not be one of the old ones.
	out := append([]gap(nil), gs...)
	for i := range out {
		x := -out[i].origin / out[i].width
		out[i].only = out[i].only && math.Abs(x-math.Round(x)) < 1e-12*(1+math.Abs(x))
		out[i].pair = false
	}
	return append(out, gap{gs[0].origin, -gs[0].origin, false, false})
}
