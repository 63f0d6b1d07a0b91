package pld

import (
	"fmt"
	"math"
)

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
