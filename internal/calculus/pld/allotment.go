package pld

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Part is one of several things of which exactly one happens to a unit. It has the
// chance Weight over the sum of the weights of all parts; Count parts are alike.
type Part struct {
	Weight float64 // a whole number
	Count  int64
	Mechanism
}

// OneOf allots each unit to one part at random, by itself, and runs every part on the
// units that it got (P34). The allotment is never told.
//
// # Contract
//
// Add-remove. The pair of each part is (with the unit, without it). Later parts may be
// chosen after the outputs of earlier ones were seen, as long as their pairs are those
// that are given here. Proof: allotment.proof.md.
func OneOf(parts ...Part) Mechanism {
	groups, total, err := gather(parts)
	if err != nil {
		return invalid{err}
	}
	if len(groups) == 1 && groups[0].count == 1 {
		return groups[0].node
	}
	return oneOf{groups, total}
}

// Known allots as OneOf does, and tells everybody the part of the unit.
func Known(parts ...Part) Mechanism {
	groups, total, err := gather(parts)
	if err != nil {
		return invalid{err}
	}
	if len(groups) == 1 {
		return groups[0].node
	}
	return known{groups, total}
}

// share is count parts that are alike.
type share struct {
	node   node
	weight float64 // of one of them
	count  float64
}

// maxShares is how many different parts there may be.
const maxShares = 64

// gather joins equal parts. total is the sum of all weights.
func gather(parts []Part) (out []share, total float64, err error) {
	at := map[string]int{}
	for _, p := range parts {
		n, err := asNode(p.Mechanism)
		if err == nil {
			err = check(p.Weight >= 1 && p.Weight == math.Floor(p.Weight) && p.Count >= 1 && p.Weight*float64(p.Count) < 1<<50, "allotment: weights must be whole numbers (%v)", p.Weight)
		}
		if err != nil {
			return nil, 0, err
		}
		total += p.Weight * float64(p.Count)
		k := fmt.Sprintf("%v %s", p.Weight, n.key())
		if i, ok := at[k]; ok {
			out[i].count += float64(p.Count)
			continue
		}
		at[k] = len(out)
		out = append(out, share{n, p.Weight, float64(p.Count)})
	}
	switch {
	case len(out) == 0:
		err = errors.New("pld: allotment: there is no part")
	case len(out) > maxShares || total >= 1<<50:
		err = fmt.Errorf("%w: an allotment to more than %d different parts", ErrNotCertified, maxShares)
	}
	return out, total, err
}

// among writes the key of an allotment.
func among(name string, groups []share) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "%v*%v*%s,", g.count, g.weight, g.node.key())
	}
	return name + "(" + b.String() + ")"
}

// depthOf returns the depth of a node around the parts.
func depthOf(groups []share) (d int) {
	for _, g := range groups {
		d = max(d, g.node.depth())
	}
	return d + 1
}

// widest returns the range of the losses of all parts: a mean of likelihood ratios lies
// between the smallest and the largest.
func widest(groups []share, d direction, tail float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, g := range groups {
		a, b := g.node.reach(d, tail)
		lo, hi = math.Min(lo, a), math.Max(hi, b)
	}
	return lo, hi
}

// known is a pair of which everybody sees the part.
type known struct {
	groups []share
	total  float64
}

func (k known) mechanism() {}

func (k known) symmetric() bool {
	return !slices.ContainsFunc(k.groups, func(g share) bool { return !g.node.symmetric() })
}
func (k known) gaps(direction) []gap                       { return nil }
func (k known) depth() int                                 { return depthOf(k.groups) }
func (k known) key() string                                { return among("known", k.groups) }
func (k known) profile(direction, float64) (float64, bool) { return 0, false }

func (k known) reach(d direction, tail float64) (lo, hi float64) { return widest(k.groups, d, tail) }

// measure averages the measures of the parts.
func (k known) measure(d direction, r request) (measure, error) {
	type atom struct{ loss, mass float64 }
	var atoms []atom
	var out measure
	for _, g := range k.groups {
		m, err := g.node.measure(d, r)
		if err != nil {
			return measure{}, err
		}
		p := g.weight * g.count / k.total
		if r.side == upper {
			p *= 1 + massError
		} else {
			p *= 1 - massError
		}
		for i, l := range m.loss {
			atoms = append(atoms, atom{l, p * m.mass[i]})
		}
		out.infP += p * m.infP
		out.infQ += p * m.infQ
	}
	slices.SortFunc(atoms, func(a, b atom) int {
		switch {
		case a.loss < b.loss:
			return -1
		case a.loss > b.loss:
			return 1
		}
		return 0
	})
	for _, a := range atoms {
		out.add(a.loss, a.mass)
	}
	return out, nil
}

// oneOf is the pair of a mixture over the parts against nothing: its likelihood ratio is
// Σ chance·R over independent ratios R, one of each part.
type oneOf struct {
	groups []share
	total  float64
}

func (o oneOf) mechanism()                                 {}
func (o oneOf) symmetric() bool                            { return false }
func (o oneOf) gaps(direction) []gap                       { return nil }
func (o oneOf) depth() int                                 { return depthOf(o.groups) }
func (o oneOf) key() string                                { return among("one of", o.groups) }
func (o oneOf) profile(direction, float64) (float64, bool) { return 0, false }

func (o oneOf) parts() (n float64) {
	for _, g := range o.groups {
		n += g.count
	}
	return n
}

func (o oneOf) reach(d direction, tail float64) (lo, hi float64) {
	return widest(o.groups, d, tail/o.parts())
}

// sumCells caps the lattice on which ratios are added: the work grows with its square.
// mostShift caps how far the sums of many ratios may lie from the ratios.
const (
	sumCells  = 3000
	mostShift = 1 << 15
)

// farthest is the largest logarithm of a ratio that is kept, so that no mass underflows.
const farthest = 250

func (o oneOf) measure(d direction, r request) (measure, error) {
	parts := o.parts()
	stages := float64(len(o.groups)) + 2*math.Log2(parts)
	lo, hi := o.reach(d, r.tail)
	lo, hi = math.Max(lo, -farthest), math.Min(hi, farthest)
	h := math.Max(r.grid.h/math.Sqrt(stages), math.Max((hi-lo)/sumCells, math.Log(parts)/mostShift))
	if !(h > 0) || math.IsInf(h, 0) {
		return measure{}, errors.New("pld: no lattice fits the range of the losses")
	}
	a := newAdder(h, d, r.side)
	var all ratios
	inf := 0.0 // mass that only one of the two distributions has, but for the atom at 0
	for i, g := range o.groups {
		one, lost, err := a.ratios(g.node, d, request{side: r.side, grid: newGrid(0, h), tail: r.tail / parts, maxCells: r.maxCells, work: r.work})
		if err == nil {
			one, err = a.times(one, g.count, r.work)
		}
		if err == nil && i > 0 {
			if err = r.work.add(4 * float64(len(one.q))); err == nil {
				one = a.scaled(one, math.Log(g.weight/o.groups[0].weight))
				all, err = a.sum(all, one, r.work)
			}
		} else {
			all = one
		}
		if err != nil {
			return measure{}, err
		}
		inf += lost * (g.weight * g.count / o.total)
	}
	return a.losses(all, math.Log(o.groups[0].weight/o.total), inf), nil
}

// ratios is the law of a likelihood ratio under the distribution without the unit: q[j] is
// the mass at e^((lo+j)h), zero that at 0.
type ratios struct {
	lo   int
	q    []float64
	zero float64
}

// adder adds independent ratios on a lattice of logarithms. For an upper bound a sum that
// falls between two points is spread over both so that its mean stays, which raises the
// expectation of every convex function; for a lower bound it is moved to the one that lowers
// the profile (allotment.proof.md).
type adder struct {
	h    float64
	d    direction
	side side
	off  []int     // by the distance of two points: how far above the larger one their sum falls
	up   []float64 // the share of it that goes to the point above
	stay []float64 // and to the point itself
}

// smallMass is so little that it does not matter where it is.
const smallMass = 1e-8

// placeError is more than the absolute error of a share that is spread.
const placeError = 1e-10

func newAdder(h float64, d direction, s side) *adder {
	a := &adder{h: h, d: d, side: s}
	// From the distance on at which e^-x < e^h - 1, sums stay in the cell of the larger.
	n := int(math.Ceil(-math.Log(math.Expm1(h))/h)) + 1
	for k := range max(n, 1) {
		off, up, stay := a.place(math.Log1p(math.Exp(-float64(k)*h)) / h)
		a.off, a.up, a.stay = append(a.off, off), append(a.up, up), append(a.stay, stay)
	}
	return a
}

// place puts a mass at v cells on the lattice: off points up, or one more.
func (a *adder) place(v float64) (off int, up, stay float64) {
	switch {
	case a.side == upper:
		off = int(math.Floor(v))
		f := math.Expm1((v-float64(off))*a.h) / math.Expm1(a.h)
		return off, math.Min(1, f+placeError), math.Min(1, 1-f+placeError)
	case a.d == forward: // a smaller ratio is less
		return int(math.Floor(v - placeError)), 0, 1
	}
	return int(math.Floor(v + placeError)), 1, 0
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
	var l lattice
	if a.side == upper {
		l, err = m.spread(0, a.h, r.maxCells)
	} else {
		l, err = m.merge(0, a.h, r.maxCells, r.work.theta)
	}
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
		case at > most && d == forward && a.side == upper:
			lost += p // as if only who is there could cause it
		case at > most && (d == forward || a.side == upper):
			// A ratio this large is at least the largest that is kept.
			out.q[len(out.q)-1] += math.Min(q, 1)
		case at > most: // worth nothing backward
		case at < -most && d == backward && a.side == upper, at < -most && d == forward && a.side == lower:
			out.zero += q
		case at < -most:
			out.q[0] += math.Min(q, 1)
		default:
			out.q[at-out.lo] += q
		}
	}
	total := 0.0
	for _, q := range out.q {
		total += q
	}
	fault := 1e-13 + float64(len(out.q))*4*unit
	switch {
	case math.IsNaN(total) || math.IsInf(total, 0):
		return ratios{}, 0, fmt.Errorf("%w: a mass is not a number", ErrNotCertified)
	case a.side == upper && d == forward:
		// All mass must be there. What is nowhere else may have the smallest ratio.
		if rest := math.Max(0, 1-total) + fault; rest < smallMass {
			out.q[0] += rest
		} else {
			out.zero = rest
		}
		out = out.times(1 + fault)
	case a.side == upper:
		out = out.times(1 + fault)
	default:
		out = out.times((1 - fault) / math.Max(1, total+out.zero))
		if d == forward {
			out.zero = math.Max(0, 1-total-2*fault)
		}
	}
	return out, lost, nil
}

// times multiplies every mass by c.
func (r ratios) times(c float64) ratios {
	for i := range r.q {
		r.q[i] *= c
	}
	r.zero *= c
	return r
}

// times finds the law of the sum of n independent ratios, by doubling.
func (a *adder) times(one ratios, n float64, work *effort) (out ratios, err error) {
	for first := true; ; {
		if math.Mod(n, 2) == 1 {
			if first {
				out, first = one, false
			} else if out, err = a.sum(out, one, work); err != nil {
				return out, err
			}
		}
		if n = math.Floor(n / 2); n == 0 {
			return out, nil
		}
		if one, err = a.sum(one, one, work); err != nil {
			return one, err
		}
	}
}

// scaled multiplies a ratio by e^x.
func (a *adder) scaled(r ratios, x float64) ratios {
	off, up, stay := a.place(x / a.h)
	out := ratios{lo: r.lo + off, q: make([]float64, len(r.q)+1), zero: r.zero}
	for i, q := range r.q {
		out.q[i] += q * stay
		out.q[i+1] += q * up
	}
	return out
}

// sum finds the law of the sum of two independent ratios.
func (a *adder) sum(x, y ratios, work *effort) (ratios, error) {
	near := len(a.off)
	if err := work.add(4 * float64(min(near, len(x.q)+len(y.q))) * float64(min(len(x.q), len(y.q)))); err != nil {
		return ratios{}, err
	}
	lo := min(x.lo, y.lo)
	top := max(x.lo+len(x.q), y.lo+len(y.q)) + a.off[0] + 2
	out := ratios{lo: lo, q: make([]float64, top-lo), zero: x.zero * y.zero}
	for i, q := range x.q {
		out.q[x.lo+i-lo] += q * y.zero
	}
	for i, q := range y.q {
		out.q[y.lo+i-lo] += q * x.zero
	}
	a.below(x, y, 0, out)
	a.below(y, x, 1, out)
	// Masses are sums of as many positive products as there are cells.
	fault := 1e-14 + float64(len(x.q)+len(y.q))*4*unit
	if a.side == lower {
		fault = -fault
	}
	return out.times(1 + fault), nil
}

// below adds to out the pairs in which the point of y lies from cells or more below that of x.
func (a *adder) below(x, y ratios, from int, out ratios) {
	near := len(a.off)
	for k := from; k < near; k++ {
		// x at i, y at i-k.
		first := max(x.lo, y.lo+k)
		last := min(x.lo+len(x.q), y.lo+len(y.q)+k)
		if first >= last {
			continue
		}
		xs := x.q[first-x.lo : last-x.lo]
		ys := y.q[first-k-y.lo:][:len(xs)]
		to := out.q[first+a.off[k]-out.lo:][:len(xs)+1]
		up, stay := a.up[k], a.stay[k]
		next := to[1:][:len(xs)]
		here := to[0]
		for i, q := range xs {
			q *= ys[i]
			to[i], here = here+q*stay, next[i]+q*up
		}
		to[len(xs)] = here
	}
	// Farther below, the sum lies in the cell above x. mass and mean are those of y there, the
	// mean as a share of the cell.
	var mass, mean float64
	shrink, share := math.Exp(-a.h), math.Exp(-float64(max(near, from))*a.h)/math.Expm1(a.h)
	j := 0
	for i, q := range x.q {
		mean *= shrink
		for ; j < len(y.q) && y.lo+j <= x.lo+i-max(near, from); j++ {
			distance := float64(x.lo+i-max(near, from)-y.lo-j) * a.h
			mass += y.q[j]
			mean += y.q[j] * share * math.Exp(-distance)
		}
		at := x.lo + i - out.lo
		switch {
		case a.side == upper:
			out.q[at] += q * (math.Max(0, mass-mean) + placeError*mass)
			out.q[at+1] += q * (mean + placeError*mass)
		case a.d == forward:
			out.q[at] += q * mass
		default:
			out.q[at+1] += q * mass
		}
	}
}

// losses returns the measure of the ratio e^shift·r. inf is the mass that only the distribution
// with the unit has.
func (a *adder) losses(r ratios, shift, inf float64) measure {
	out := newMeasure(len(r.q))
	n := len(r.q)
	edge := math.Max(math.Abs(float64(r.lo)), math.Abs(float64(r.lo+n)))*a.h + math.Abs(shift)
	slack := 1e-13*a.h + 4e-15*edge
	if a.side == lower {
		slack = -slack
	}
	// What underflowed is less than this, and masses are right to as much.
	lost, fault := 0.0, 1+2*massError
	if a.side == upper {
		lost = 1e-120
	} else {
		fault = 1 - 2*massError
	}
	if a.d == forward {
		out.infP, out.infQ = inf*fault+lost, r.zero
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
