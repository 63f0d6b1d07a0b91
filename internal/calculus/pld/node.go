package pld

import "math"

// node is the building block of every mechanism.
type node interface {
	Mechanism
	// measure discretises the pair read in direction d.
	measure(d direction, r request) (measure, error)
	// profile is the value of the profile at a real eps with a relative error below
	// profileError(eps), and ok false where there is no closed form.
	profile(d direction, eps float64) (delta float64, ok bool)
	// reach is a range of losses. At most tail of the mass of either distribution lies
	// outside it.
	reach(d direction, tail float64) (lo, hi float64)
	// symmetric says that both directions have the same profile.
	symmetric() bool
	// gaps lists distances between isolated atoms of loss; a lattice that divides them keeps the atoms where they are.
	gaps(d direction) []gap
	// depth of the expression.
	depth() int
	// key tells equal mechanisms from different ones.
	key() string
}

// gap is the distance of an isolated atom from origin. With only, all losses are
// origin plus multiples of width; with pair, there are just these two.
type gap struct {
	origin, width float64
	only, pair    bool
}

// pair is a leaf: a symmetric pair of distributions.
type pair interface {
	measure(r request) (measure, error)
	profile(eps float64) (float64, bool)
	reach(tail float64) float64 // losses lie in [-reach, reach] up to tail
	gaps() []gap
	key() string
}

// leaf makes a node of a symmetric pair: both directions are the same.
type leaf struct{ pair }

// newLeaf is the leaf of a pair, or a mechanism that reports wrong parameters.
func newLeaf(p pair, wrong error) Mechanism {
	if wrong != nil {
		return invalid{wrong}
	}
	return leaf{p}
}

func (l leaf) mechanism() {}

func (l leaf) measure(_ direction, r request) (measure, error) { return l.pair.measure(r) }

func (l leaf) profile(_ direction, eps float64) (float64, bool) { return l.pair.profile(eps) }

func (l leaf) reach(_ direction, tail float64) (lo, hi float64) {
	hi = l.pair.reach(tail)
	return -hi, hi
}

func (l leaf) symmetric() bool        { return true }
func (l leaf) gaps(_ direction) []gap { return l.pair.gaps() }
func (l leaf) depth() int             { return 1 }
func (l leaf) key() string            { return l.pair.key() }

// continuum is a leaf whose losses have a density between two ends. All leaves
// are symmetric pairs: (P, Q) and (Q, P) have the same profile.
type continuum interface {
	// cell returns P(a < L < b) and the surplus ∫(1-e^(a-L))dP over the cell.
	cell(a, b float64) (p, surplus float64)
	// ends returns the support of the continuous part; where it is finite, atoms of
	// mass pLo and pHi (under P) lie on the ends.
	ends() (lo, hi, pLo, pHi float64)
	// above and below return the mass of the losses above (below) l under P and Q.
	above(l float64) (p, q float64)
	// offset is the constant that the place of a loss adds to it in rounding: the
	// boundary of a cell at l is wrong by at most 2^-52·(|l|+offset).
	offset() float64
}

// deepest is the lowest loss that is kept: below it the mass under P of what has
// mass 1 under Q would underflow. What lies lower is spread to minus infinity.
const deepest = 600

// massError is the relative error allowed to one atom of a leaf, per step.
const massError = 1e-13

// discretise builds the measure of a continuum: cell by cell, each cell is spread
// over its two ends (upper) or merged into one outcome (lower).
func discretise(c continuum, lo, hi float64, r request) (measure, error) {
	nodes, err := r.nodes(lo, hi)
	if err != nil {
		return measure{}, err
	}
	endLo, endHi, pLo, pHi := c.ends()
	floor, ceiling := endLo > -deepest, !math.IsInf(endHi, 1)
	for len(nodes) > 0 && (nodes[0] < -deepest || floor && nodes[0] <= endLo) {
		nodes = nodes[1:]
	}
	for len(nodes) > 0 && ceiling && nodes[len(nodes)-1] >= endHi {
		nodes = nodes[:len(nodes)-1]
	}
	if floor {
		nodes = append([]float64{endLo}, nodes...)
	} else if len(nodes) == 0 {
		nodes = append(nodes, math.Max(lo, -deepest))
	}
	if ceiling {
		nodes = append(nodes, endHi)
	} else if len(nodes) == 1 && hi > nodes[0] {
		nodes = append(nodes, hi)
	}
	out := newMeasure(len(nodes) + 2)
	carry := 0.0 // mass waiting for the node at hand
	first := nodes[0]
	if floor {
		out.add(first, pLo)
	} else {
		// By symmetry P(L<=l) = Q(L>=-l) and the other way round.
		q, p := c.above(-first)
		if r.side == upper {
			carry = p
			out.infQ = math.Max(0, q-p*math.Exp(-first)) + q*1e-15
		} else if p > 0 && q > 0 {
			out.add(math.Min(math.Log(p/q), first), p)
		}
	}
	for i := 0; i+1 < len(nodes); i++ {
		a, b := nodes[i], nodes[i+1]
		p, s := c.cell(a, b)
		// The boundaries of neighbouring cells differ by rounding: pay for the gap.
		e := 1e-15 * (math.Max(math.Abs(a), math.Abs(b)) + c.offset()) / (b - a)
		if r.side == lower {
			e = -math.Min(e, 1)
		}
		p, s = p*(1+e), s*(1+e)
		if r.side == upper {
			up := math.Min(p, s/-math.Expm1(a-b))
			out.add(a, carry+(p-up)+1e-15*p)
			carry = up
		} else if p > 0 {
			out.add(math.Min(b, a-math.Log1p(-math.Min(s/p, -math.Expm1(a-b)))), p)
		}
	}
	last := nodes[len(nodes)-1]
	if ceiling {
		out.add(last, carry+pHi)
	} else {
		p, q := c.above(last)
		if r.side == upper {
			atom := math.Min(p, q*math.Exp(last))
			if !(atom >= 0) {
				atom = 0 // e^last overflows: all of the tail counts as infinite
			}
			out.add(last, carry+atom)
			out.infP = (p-atom)*(1+1e-12) + p*1e-12
		} else if p > 0 && q > 0 {
			out.add(math.Max(last, math.Log(p/q)), p)
		}
	}
	if r.side == upper {
		return out.scaled(1 + massError), nil
	}
	return out.scaled(1 - massError), nil
}
