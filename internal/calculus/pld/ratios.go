package pld

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// ratios is the law of a likelihood ratio under the distribution without the unit: q[j] is
// the mass in cell lo+j, zero that at 0. For an upper bound all mass of a cell lies at
// e^((lo+j)h). For a lower bound m[j] is the sum of mass times ratio over the cell, so the
// cell stands for one ratio, m[j]/q[j], and both are right to the relative error off.
type ratios struct {
	lo   int
	q, m []float64
	zero float64
	lost float64 // mass with the unit of what was cut off above, of every sum that is built from this law
	off  float64
}

// adder adds independent ratios on a lattice of logarithms. For an upper bound a sum that
// falls between two points is spread over both so that its mean stays, which raises the
// expectation of every convex function. For a lower bound the sums of a cell are merged into
// their mean, which lowers it (allotment.proof.md).
type adder struct {
	h    float64
	d    direction
	side side
	near int       // from this distance of two points on, their sum stays in the cell of the larger
	off  []int     // by the distance of two points: how far above the larger one their sum falls
	up   []float64 // the share of it that goes to the point above
	stay []float64 // and to the point itself
}

// smallMass is so little that it does not matter where it is.
const smallMass = 1e-8

// placeError is more than the absolute error of a share that is spread.
const placeError = 1e-10

func newAdder(h float64, d direction, s side) *adder {
	// There e^-x is less than e^h - 1.
	return &adder{h: h, d: d, side: s, near: max(1, int(math.Ceil(-math.Log(math.Expm1(h))/h))+1)}
}

// reach makes sure that all sums of points up to n apart have a place.
func (a *adder) reach(n int) {
	for k := len(a.off); k < min(n, a.near); k++ {
		off, up, stay := a.place(math.Log1p(math.Exp(-float64(k)*a.h)) / a.h)
		a.off, a.up, a.stay = append(a.off, off), append(a.up, up), append(a.stay, stay)
	}
}

// place puts a mass at v cells on the lattice: off points up, or one more.
func (a *adder) place(v float64) (off int, up, stay float64) {
	if a.side == lower {
		return int(math.Round(v)), 0, 1
	}
	off = int(math.Floor(v))
	f := math.Expm1((v-float64(off))*a.h) / math.Expm1(a.h)
	return off, math.Min(1, f+placeError), math.Min(1, 1-f+placeError)
}

// ratios finds the law of the ratio of one part. lost is the mass with the unit where there is
// none without it.
func (a *adder) ratios(n node, d direction, r request) (out ratios, lost float64, err error) {
	m, err := n.measure(d, r)
	if err != nil {
		return ratios{}, 0, err
	}
	if err := r.work.add(100 * float64(len(m.mass))); err != nil {
		return ratios{}, 0, err
	}
	if a.side == lower {
		return a.merged(m)
	}
	l, err := m.spread(0, a.h, r.maxCells)
	if err != nil {
		return ratios{}, 0, err
	}
	most := int(farthest / a.h)
	out.lo = min(max(l.lo, -most), most)
	top := max(min(l.lo+len(l.p)-1, most), out.lo)
	if d == backward {
		out.lo, top = -top, -out.lo
	}
	out.q = make([]float64, top-out.lo+1)
	if d == forward {
		lost = l.inf
	} else {
		out.zero, lost = l.inf, l.infQ
	}
	for j, p := range l.p {
		i := l.lo + j
		at, q := i, p
		if d == forward {
			q *= math.Exp(-float64(i) * a.h)
		} else {
			at = -i
		}
		switch {
		case at > most && d == forward:
			lost += p // as if only who is there could cause it
		case at > most:
			// A ratio this large is at least the largest that is kept.
			out.q[len(out.q)-1] += math.Min(q, 1)
		case at < -most && d == backward:
			out.zero += q
		case at < -most:
			out.q[0] += math.Min(q, 1)
		default:
			out.q[at-out.lo] += q
		}
	}
	total := sumOf(out.q)
	fault := 1e-13 + float64(len(out.q))*4*unit
	switch {
	case math.IsNaN(total) || math.IsInf(total, 0):
		return ratios{}, 0, fmt.Errorf("%w: a mass is not a number", ErrNotCertified)
	case d == forward:
		// All mass must be there. What is nowhere else may have the smallest ratio.
		if rest := math.Max(0, 1-total) + fault; rest < smallMass {
			out.q[0] += rest
		} else {
			out.zero = rest
		}
	}
	return out.times(1 + fault), lost, nil
}

// merged finds the law of the ratio of one part from a lower measure. Every atom of it goes to
// one cell. The mass that is missing has the ratio 0 in the forward direction, the smallest;
// backward it is worth nothing.
func (a *adder) merged(m measure) (out ratios, lost float64, err error) {
	if len(m.loss) == 0 {
		return ratios{}, 0, fmt.Errorf("%w: nothing is left of a measure", ErrNotCertified)
	}
	most := math.Floor(farthest / a.h)
	cell := func(l float64) int { return int(math.Max(-most, math.Min(most, math.Round(l/a.h)))) }
	first, last := m.loss[0], m.loss[len(m.loss)-1]
	if a.d == backward {
		first, last = -last, -first
	}
	out.lo = cell(first)
	out.q = make([]float64, cell(last)-out.lo+1)
	out.m = make([]float64, len(out.q))
	for i, l := range m.loss {
		q, ratio := m.mass[i], m.mass[i]
		if a.d == forward {
			q *= math.Exp(-l)
		} else {
			l = -l
			ratio *= math.Exp(l)
		}
		switch {
		case math.Abs(l) <= farthest:
			j := cell(l) - out.lo
			out.q[j] += q
			out.m[j] += ratio
		case l < 0 && a.d == backward:
			// A ratio that is raised lowers the profile.
			out.q[0] += q
			out.m[0] += q * math.Exp(-farthest)
		case l > 0 && a.d == forward:
			// A ratio that is lowered does here.
			out.q[len(out.q)-1] += q
			out.m[len(out.q)-1] += q * math.Exp(farthest)
		}
	}
	if a.d == backward {
		out.zero = m.infP
	}
	total := sumOf(out.q)
	if math.IsNaN(total) || math.IsInf(total, 0) {
		return ratios{}, 0, fmt.Errorf("%w: a mass is not a number", ErrNotCertified)
	}
	out.off = 1e-13 + float64(len(out.q))*4*unit
	out = out.times((1 - out.off) / math.Max(1, total+out.zero))
	if a.d == forward {
		out.zero = math.Max(0, 1-total-2*out.off)
		lost = m.infP
	}
	return out, lost, nil
}

func sumOf(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}

// times multiplies every mass by c.
func (r ratios) times(c float64) ratios {
	for i := range r.q {
		r.q[i] *= c
	}
	for i := range r.m {
		r.m[i] *= c
	}
	r.zero *= c
	return r
}

// finer puts the law on a lattice of half the step, which has all points of this one.
func (r ratios) finer() ratios {
	widen := func(x []float64) []float64 {
		if x == nil {
			return nil
		}
		out := make([]float64, 2*len(x)-1)
		for i, v := range x {
			out[2*i] = v
		}
		return out
	}
	r.lo, r.q, r.m = 2*r.lo, widen(r.q), widen(r.m)
	return r
}

// cut takes the ends of the law of a sum of parts off to the safe side. Each part has the given
// chance; at most tail of mass is moved at either end.
func (a *adder) cut(r ratios, chance, tail float64) ratios {
	first, mass := 0, r.q[0]
	for first < len(r.q)-1 && mass <= tail {
		first++
		mass += r.q[first]
	}
	last := len(r.q) - 1
	worth := func(j int) float64 { return r.q[j] * chance * math.Exp(float64(r.lo+j)*a.h) * (1 + 1e-9) }
	for mass = worth(last); last > first && mass <= tail; mass += worth(last) {
		last--
	}
	for j := range first {
		switch {
		case a.side == lower:
			r.q[first] += r.q[j]
			r.m[first] += r.m[j]
		case a.d == forward:
			r.q[first] += r.q[j]
		default:
			r.zero += r.q[j]
		}
	}
	for j := last + 1; j < len(r.q); j++ {
		switch {
		case a.side == lower:
			r.q[last] += r.q[j]
			r.m[last] += r.m[j]
		case a.d == forward: // spread over 0 and infinity
			r.lost += worth(j)
			r.zero += r.q[j]
		default:
			r.q[last] += r.q[j]
		}
	}
	r.lo, r.q = r.lo+first, r.q[first:last+1]
	if r.m != nil {
		r.m = r.m[first : last+1]
	}
	return r
}

// ladder is adders on finer and finer lattices, each of half the step of the one before. A sum
// of many ratios needs a finer lattice than its parts, and has a shorter range.
type ladder []*adder

// newLadder returns a ladder that ends at the step h, for sums of up to n ratios.
func newLadder(h, n float64, d direction, s side) ladder {
	out := make(ladder, finer(n)+1)
	for i := range out {
		out[i] = newAdder(math.Ldexp(h, len(out)-1-i), d, s)
	}
	return out
}

// mostFiner caps how often a lattice is made finer.
const mostFiner = 4

// finer returns how often the lattice of one ratio is made finer for a sum of n: what rounding
// adds to the spread of a sum shrinks as its own spread does.
func finer(n float64) int { return min(mostFiner, int(math.Log2(n)/2)) }

// rung returns the place in the ladder at which the law of one of n ratios starts.
func (l ladder) rung(n float64) int { return len(l) - 1 - finer(n) }

// times finds the law of the sum of n independent ratios on the finest lattice, by doubling.
func (l ladder) times(one ratios, n, chance, tail float64, work *effort) (out ratios, err error) {
	at := l.rung(n)
	tail /= 4 * n
	for first, k := true, 1.0; ; k *= 2 {
		if math.Mod(math.Floor(n/k), 2) == 1 {
			if first {
				out, first = one, false
			} else if out, err = l[at].sum(out, one, work); err != nil {
				return out, err
			}
		}
		if 2*k > n {
			break
		}
		if one, err = l[at].sum(one, one, work); err != nil {
			return one, err
		}
		one = l[at].cut(one, chance, tail*k)
		if at < len(l)-1 && n/k < math.Ldexp(1, 2*(len(l)-1-at)) {
			at++
			one = one.finer()
			if !first {
				out = out.finer()
			}
		}
	}
	for ; at < len(l)-1; at++ {
		out = out.finer()
	}
	return l[at].cut(out, chance, tail*n), nil
}

// scaled multiplies a ratio by e^x.
func (a *adder) scaled(r ratios, x float64) ratios {
	off, up, stay := a.place(x / a.h)
	out := ratios{lo: r.lo + off, q: make([]float64, len(r.q)+1), zero: r.zero, lost: r.lost, off: r.off + 1e-15*(1+math.Abs(x))}
	for i, q := range r.q {
		out.q[i] += q * stay
		out.q[i+1] += q * up
	}
	if r.m != nil {
		out.m = make([]float64, len(r.q)+1)
		for i, m := range r.m {
			out.m[i] = m * math.Exp(x)
		}
	}
	return out
}

// sum finds the law of the sum of two independent ratios.
func (a *adder) sum(x, y ratios, work *effort) (ratios, error) {
	apart := max(x.lo+len(x.q)-y.lo, y.lo+len(y.q)-x.lo, 1)
	cost := 4.0
	if a.side == lower {
		cost = 8
	}
	near := float64(min(a.near, apart))
	if err := work.add(50*near + cost*near*float64(min(len(x.q), len(y.q)))); err != nil {
		return ratios{}, err
	}
	a.reach(apart)
	lo := min(x.lo, y.lo)
	top := max(x.lo+len(x.q), y.lo+len(y.q)) + a.off[0] + 2
	out := ratios{lo: lo, q: make([]float64, top-lo), zero: x.zero * y.zero, lost: x.lost + y.lost}
	if a.side == lower {
		out.m = make([]float64, top-lo)
	}
	alone := func(x, y ratios) {
		for i, q := range x.q {
			out.q[x.lo+i-lo] += q * y.zero
		}
		for i, m := range x.m {
			out.m[x.lo+i-lo] += m * y.zero
		}
	}
	alone(x, y)
	alone(y, x)
	a.below(x, y, 0, out)
	a.below(y, x, 1, out)
	// Masses are sums of as many positive products as there are cells.
	fault := 1e-14 + float64(len(x.q)+len(y.q))*4*unit
	if a.side == lower {
		out.off = x.off + y.off + fault
		return out, nil
	}
	return out.times(1 + fault), nil
}

// below adds to out the pairs in which the point of y lies from cells or more below that of x.
func (a *adder) below(x, y ratios, from int, out ratios) {
	for k := from; k < len(a.off); k++ {
		// x at i, y at i-k.
		first := max(x.lo, y.lo+k)
		last := min(x.lo+len(x.q), y.lo+len(y.q)+k)
		if first >= last {
			if x.lo+len(x.q) <= y.lo+k {
				break
			}
			continue
		}
		n, at := last-first, first+a.off[k]-out.lo
		xs, ys := x.q[first-x.lo:][:n], y.q[first-k-y.lo:][:n]
		if a.side == lower {
			xm, ym := x.m[first-x.lo:][:n], y.m[first-k-y.lo:][:n]
			to, means := out.q[at:][:n], out.m[at:][:n]
			for i, q := range xs {
				to[i] += q * ys[i]
				means[i] += q*ym[i] + xm[i]*ys[i]
			}
			continue
		}
		to := out.q[at:][:n+1]
		up, stay := a.up[k], a.stay[k]
		next := to[1:][:n]
		here := to[0]
		for i, q := range xs {
			q *= ys[i]
			to[i], here = here+q*stay, next[i]+q*up
		}
		to[n] = here
	}
	a.far(x, y, max(a.near, from), out)
}

// far adds the pairs in which y lies so far below x that the sum is in the cell above x: one
// mass and one mean of y serve for all of a cell.
func (a *adder) far(x, y ratios, from int, out ratios) {
	// The mean is a share of the cell for an upper bound, else a ratio.
	var mass, mean float64
	shrink, share := math.Exp(-a.h), math.Exp(-float64(from)*a.h)/math.Expm1(a.h)
	j := 0
	for i, q := range x.q {
		if a.side == upper {
			mean *= shrink
		}
		for ; j < len(y.q) && y.lo+j <= x.lo+i-from; j++ {
			mass += y.q[j]
			if a.side == lower {
				mean += y.m[j]
				continue
			}
			mean += y.q[j] * share * math.Exp(-float64(x.lo+i-from-y.lo-j)*a.h)
		}
		at := x.lo + i - out.lo
		if a.side == lower {
			out.q[at] += q * mass
			out.m[at] += q*mean + x.m[i]*mass
			continue
		}
		out.q[at] += q * (math.Max(0, mass-mean) + placeError*mass)
		out.q[at+1] += q * (mean + placeError*mass)
	}
}

// losses returns the measure of the ratio e^shift·r. inf is the mass that only the distribution
// with the unit has.
func (a *adder) losses(r ratios, shift, inf float64) measure {
	if a.side == lower {
		return a.merge(r, shift, inf)
	}
	out := newMeasure(len(r.q))
	n := len(r.q)
	edge := math.Max(math.Abs(float64(r.lo)), math.Abs(float64(r.lo+n)))*a.h + math.Abs(shift)
	slack := 1e-13*a.h + 4e-15*edge
	// What underflowed is less than lost, and masses are right to as much as fault.
	const lost, fault = 1e-120, 1 + 2*massError
	if a.d == forward {
		out.infP, out.infQ = (inf+r.lost)*fault+lost, r.zero
		for j, q := range r.q {
			l := float64(r.lo+j)*a.h + shift + slack
			out.add(l, q*math.Exp(l)*fault)
		}
		return out
	}
	out.infP, out.infQ = r.zero*fault+lost, inf
	for j := n - 1; j >= 0; j-- {
		out.add(-(float64(r.lo+j)*a.h+shift)+slack, r.q[j]*fault)
	}
	return out
}

// merge returns the lower measure of the ratio e^shift·r. Losses are lowered by as much as they
// may be off.
func (a *adder) merge(r ratios, shift, inf float64) measure {
	type atom struct{ loss, mass float64 }
	var atoms []atom
	fault := 1 - 2*massError - 2*r.off
	out := measure{infP: inf * fault}
	if a.d == backward {
		out.infP = r.zero * fault
	}
	for j, q := range r.q {
		if m := r.m[j]; q > 1e-200 && m > 1e-200 {
			l := math.Log(m/q) + shift
			slack := 4*r.off + 4e-15*(math.Abs(l)+math.Abs(shift))
			if a.d == forward {
				atoms = append(atoms, atom{l - slack, m * math.Exp(shift) * fault})
			} else {
				atoms = append(atoms, atom{-l - slack, q * fault})
			}
		}
	}
	slices.SortFunc(atoms, func(a, b atom) int { return cmp.Compare(a.loss, b.loss) })
	for _, a := range atoms {
		out.add(a.loss, a.mass)
	}
	return out
}
