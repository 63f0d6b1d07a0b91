package pld

import (
	"cmp"
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

// maxShares bounds the number of different parts.
const maxShares = 64

// gather joins equal parts. total is the sum of all weights.
func gather(parts []Part) (out []share, total float64, err error) {
	at := map[string]int{}
	for _, p := range parts {
		n, err := asNode(p.Mechanism)
		if err == nil {
			err = check(p.Weight >= 1 && p.Weight == math.Floor(p.Weight) && p.Count >= 1 && p.Weight*float64(p.Count) < 1<<50,
				"allotment: weights must be whole numbers (%v)", p.Weight)
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
	slices.SortFunc(atoms, func(a, b atom) int { return cmp.Compare(a.loss, b.loss) })
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
// mostShift caps how far the sums of many ratios may lie from the ratios, in cells.
const (
	sumCells  = 3000
	mostShift = 1 << 18
)

// coarser bounds the step at which sums of many ratios are rounded, as a multiple of the step of
// the lattice that their measure is put on, which aims far below the tolerance.
const coarser = 4

// farthest is the largest logarithm of a ratio that is kept, so that no mass underflows.
const farthest = 250

func (o oneOf) measure(d direction, r request) (measure, error) {
	parts := o.parts()
	stages := float64(len(o.groups)) + 2*math.Log2(parts)
	lo, hi := o.reach(d, r.tail)
	lo, hi = math.Max(lo, -farthest), math.Min(hi, farthest)
	most := 0.0
	for _, g := range o.groups {
		most = max(most, g.count)
	}
	h := math.Max(math.Min(coarser, math.Sqrt(parts))*r.grid.h/math.Sqrt(stages), math.Log(parts)/mostShift)
	// The range of a sum of many is shorter than that of one.
	h = math.Max(h, (hi-lo)/sumCells/math.Ldexp(1, max(0, finer(most)-1)))
	if !(h > 0) || math.IsInf(h, 0) {
		return measure{}, errors.New("pld: no lattice fits the range of the losses")
	}
	l := newLadder(h, most, d, r.side)
	end := l[len(l)-1]
	var all ratios
	inf := 0.0 // mass that only one of the two distributions has, but for the atom at 0
	for i, g := range o.groups {
		first := l[l.rung(g.count)]
		inner := request{side: r.side, grid: newGrid(0, first.h), tail: r.tail / parts, maxCells: r.maxCells, work: r.work}
		one, lost, err := first.ratios(g.node, d, inner)
		if err == nil {
			one, err = l.times(one, g.count, g.weight/o.total, r.tail/float64(len(o.groups)), r.work)
		}
		if err == nil && i > 0 {
			if err = r.work.add(4 * float64(len(one.q))); err == nil {
				one = end.scaled(one, math.Log(g.weight/o.groups[0].weight))
				all, err = end.sum(all, one, r.work)
			}
		} else {
			all = one
		}
		if err != nil {
			return measure{}, err
		}
		inf += lost * (g.weight * g.count / o.total)
	}
	return end.losses(all, math.Log(o.groups[0].weight/o.total), inf), nil
}
