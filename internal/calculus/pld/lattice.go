package pld

import "math"

// lattice is a privacy-loss measure on {o + i·h}: p[j] lies at i = lo+j.
type lattice struct {
	o, h float64
	lo   int
	p    []float64
	inf  float64 // mass under the first distribution of infinite loss
	infQ float64 // mass under the second where the first has none (upper)
	n    float64 // how often it is composed with itself
	mid  int     // index of the heaviest cell, the origin of index arithmetic
	logs []float64
}

func (l *lattice) first() float64 { return l.o + float64(l.lo)*l.h }
func (l *lattice) last() float64  { return l.o + float64(l.lo+len(l.p)-1)*l.h }

// bounds are the lattice indices around the losses of m.
func (m measure) bounds(o, h float64, maxCells int) (lo, hi int, err error) {
	if len(m.loss) == 0 {
		return 0, 0, nil
	}
	a, b := math.Floor((m.loss[0]-o)/h), math.Ceil((m.loss[len(m.loss)-1]-o)/h)
	if !(b-a < float64(maxCells)) || math.Abs(a) > 1e15 || math.Abs(b) > 1e15 {
		return 0, 0, errTooFine
	}
	return int(a) - 1, int(b) + 1, nil
}

// onNode returns how far from a lattice point, in cells, a loss still counts as on it:
// rounding of the loss and of the point. What this may hide is paid for in the answer
// (see slack).
func onNode(t float64) float64 { return 1e-13 + 1e-15*math.Abs(t) }

// spread moves each atom to its two neighbours on the lattice so that its mass under
// both distributions stays: connect-the-dots of the profile of m (upper).
func (m measure) spread(o, h float64, maxCells int) (lattice, error) {
	lo, hi, err := m.bounds(o, h, maxCells)
	if err != nil {
		return lattice{}, err
	}
	out := lattice{o: o, h: h, lo: lo, p: make([]float64, hi-lo+1), inf: m.infP, infQ: m.infQ}
	scale := -math.Expm1(-h)
	for k, l := range m.loss {
		t := (l - o) / h
		i := math.Floor(t)
		frac := t - i
		if tol := onNode(t); frac < tol {
			frac = 0
		} else if frac > 1-tol {
			frac, i = 0, i+1
		}
		j := int(i) - lo
		if frac == 0 {
			out.p[j] += m.mass[k]
			continue
		}
		up := math.Min(m.mass[k], m.mass[k]*-math.Expm1(-frac*h)/scale*(1+1e-15))
		out.p[j] += m.mass[k] - up
		out.p[j+1] += up
	}
	out.trim()
	return out, nil
}

// trim drops empty cells at both ends.
func (l *lattice) trim() {
	a, b := 0, len(l.p)
	for a < b && l.p[a] == 0 {
		a++
	}
	for b > a && l.p[b-1] == 0 {
		b--
	}
	if a == b {
		l.p, l.lo = []float64{0}, 0
		return
	}
	l.p, l.lo = l.p[a:b], l.lo+a
}

// merge builds a lattice measure that is nowhere above m (lower). Walking up, every
// lattice point takes the atoms that are left below it and as many above it (up to
// the next point) as make the merged outcome worth that loss; merging outcomes is a
// post-processing. Where too little lies above, the lowest atoms fall to the point
// below; where a cell would end far from the middle it may take more than needed,
// within a small budget: both only lower losses.
func (m measure) merge(o, h float64, maxCells int, theta float64) (lattice, error) {
	lo, hi, err := m.bounds(o, h, maxCells)
	if err != nil {
		return lattice{}, err
	}
	out := lattice{o: o, h: h, lo: lo, p: make([]float64, hi-lo+1), inf: m.infP}
	loss, mass := m.loss, append([]float64(nil), m.mass...)
	k, n := 0, len(loss)
	// What merging costs anyway is about (1+θ)h²/24 of loss per unit of mass.
	wasted, budget := 0.0, 0.004*h*h*(1+theta)
	for j := 0; j < len(out.p) && k < n; j++ {
		here := float64(lo + j)
		place := func(x int) float64 { return ((loss[x] - o) / h) - here }
		if place(k) >= 1 {
			continue
		}
		// Atoms k..mid are below the point, mid..top on it or up to the next one.
		mid := k
		deficit := 0.0
		for mid < n && place(mid) < -onNode(here) {
			deficit += mass[mid] * math.Expm1(-place(mid)*h)
			mid++
		}
		top := mid
		surplus := 0.0
		for top < n && place(top) < 1-onNode(here) {
			surplus -= mass[top] * math.Expm1(math.Min(0, -place(top)*h))
			top++
		}
		// Too little above: the lowest fall to the point below.
		for k < mid && deficit*(1+1e-9) > surplus {
			over := mass[k] * math.Expm1(-place(k)*h)
			share := math.Min(1, (deficit*(1+1e-9)-surplus)/(over*(1+1e-9)))
			if share > 1-1e-9 {
				share = 1
			}
			fall := mass[k] * share
			out.p[max(j-1, 0)] += fall
			if j == 0 {
				out.p[0] -= fall // below the lattice: dropped
			}
			if share == 1 {
				deficit = math.Max(0, deficit-over)
				k++
				continue
			}
			mass[k] -= fall
			deficit -= over * share
			break
		}
		if k == mid {
			deficit = 0
		}
		for ; k < mid; k++ {
			out.p[j] += mass[k]
		}
		// Take from above what balances, and on to the middle while it is cheap.
		need := deficit * (1 + 1e-9)
		for k < top {
			take := mass[k]
			if up := place(k); up > onNode(here) {
				take, need, wasted = fromAbove(take, up, h, need, wasted, budget)
			}
			out.p[j] += take
			if take < mass[k] {
				mass[k] -= take
				break
			}
			k++
		}
	}
	out.trim()
	return out, nil
}

// fromAbove returns the part of an atom above a lattice point that the point takes to fill its need, with the
// need that is left and all that was wasted so far. An atom nearer than the middle is taken whole within the budget.
func fromAbove(mass, up, h, need, wasted, budget float64) (take, left, waste float64) {
	gain := -mass * math.Expm1(math.Min(0, -up*h))
	switch {
	case need >= gain:
		return mass, need - gain, wasted
	case up < 0.5 && wasted+gain-need <= budget:
		return mass, 0, wasted + (gain - need)
	}
	return mass * (need / gain), 0, wasted
}

// center is the loss of the merged outcome of the heaviest window of width h, if most
// of the mass lies there: with the lattice through it the merge loses nothing there,
// even where h is much wider than the bulk of the losses.
func (m measure) center(h float64) float64 {
	var mass, best float64
	from, to, j := 0, 0, 0
	for i, l := range m.loss {
		mass += m.mass[i]
		for l-m.loss[j] > 0.9*h {
			mass -= m.mass[j]
			j++
		}
		if mass > best {
			best, from, to = mass, j, i+1
		}
	}
	if best < 0.3 {
		return 0
	}
	base, p, q := m.loss[from], 0.0, 0.0
	for i := from; i < to; i++ {
		p += m.mass[i]
		q -= m.mass[i] * math.Expm1(base-m.loss[i])
	}
	return base - math.Log1p(-q/p)
}

// mean is Σ mass·loss.
func (l *lattice) mean() float64 {
	s := 0.0
	for i, p := range l.p {
		s += p * (l.o + float64(l.lo+i)*l.h)
	}
	return s
}
