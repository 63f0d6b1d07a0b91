package pld

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// profiled is a pair known by its profile, which both directions have: right for one
// that is the worst over all ordered pairs of neighbours.
type profiled struct {
	f  func(float64) float64
	id *int
}

// profileTrust bounds the relative error of the values; below eps = 0 it is relative
// to 1.
const profileTrust = 1e-12

// FromProfile is any pair with the profile delta, which must be defined for every
// real eps: convex in e^eps, falling, at least 1-e^eps.
//
// # Contract
//
// delta is an upper bound on the true profile in both directions (connect-the-dots keeps
// it one); the function is pure. Values are right to a relative 1e-12.
func FromProfile(delta func(eps float64) float64) Mechanism {
	if delta == nil {
		return invalid{errors.New("pld: profile: function is nil")}
	}
	return profiled{delta, new(int)}
}

func (p profiled) mechanism()           {}
func (p profiled) symmetric() bool      { return true }
func (p profiled) gaps(direction) []gap { return nil }
func (p profiled) depth() int           { return 1 }
func (p profiled) key() string          { return fmt.Sprintf("profile(%p)", p.id) }

func (p profiled) profile(direction, float64) (float64, bool) { return 0, false }

// values are an upper and a lower bound on the profile.
func (p profiled) values(eps float64) (lo, up float64) {
	v, floor := p.f(eps), math.Max(0, -math.Expm1(eps))
	if math.IsNaN(v) {
		return floor, 1
	}
	return math.Max(floor, v*(1-profileTrust)), math.Max(floor, math.Min(1, v*(1+profileTrust)))
}

func (p profiled) reach(_ direction, tail float64) (lo, hi float64) {
	tail = math.Max(tail, 1e-300)
	final, _ := p.values(deepest)
	for hi = 1e-9; hi < deepest; hi *= 1.5 {
		if _, v := p.values(hi); v <= tail || v <= final {
			break
		}
	}
	for lo = -1e-9; lo > -deepest; lo *= 1.5 {
		// The profile of the other direction at -lo, down to rounding.
		if _, v := p.values(lo); v+math.Expm1(lo) <= math.Exp(lo)*math.Max(tail, 2*profileTrust)+2*profileTrust {
			break
		}
	}
	return lo, hi
}

func (p profiled) measure(_ direction, r request) (measure, error) {
	lo, hi := p.reach(forward, r.tail)
	nodes, err := r.nodes(lo, hi)
	if err != nil {
		return measure{}, err
	}
	if len(nodes) < 3 {
		nodes = []float64{lo, 0, hi}
	}
	if r.side == upper {
		v := vertices{{math.Inf(-1), 1}}
		for _, l := range nodes {
			_, u := p.values(l)
			v = append(v, vertex{l, u})
		}
		return v.hull(), nil
	}
	final, _ := p.values(deepest)
	return p.minorant(nodes, final).hull(), nil
}

// minorant lists the vertices of a piecewise linear function (of α = e^eps) below
// the profile: in each cell the two neighbouring chords, extended, which lie below a
// convex function.
func (p profiled) minorant(nodes []float64, final float64) vertices {
	n := len(nodes)
	lo, up := make([]float64, n), make([]float64, n)
	for i, l := range nodes {
		lo[i], up[i] = p.values(l)
	}
	v := vertices{{math.Inf(-1), 1}, {nodes[0], math.Min(lo[0], -math.Expm1(nodes[0]))}}
	for i := 1; i+2 < n; i++ {
		v = append(v, vertex{nodes[i], lo[i]})
		// In units of α_i from α_i on: g from the left, h from the right.
		width := math.Expm1(nodes[i+1] - nodes[i])
		g := (lo[i] - up[i-1]) / -math.Expm1(nodes[i-1]-nodes[i])
		h := (up[i+2] - lo[i+1]) / (math.Exp(nodes[i+1]-nodes[i]) * math.Expm1(nodes[i+2]-nodes[i+1]))
		x := (lo[i] - lo[i+1] + h*width) / (h - g)
		if h > g && x > 0 && x < width {
			v = append(v, vertex{nodes[i] + math.Log1p(x), lo[i] + g*x})
		} else {
			v = append(v, vertex{nodes[i+1], math.Min(lo[i+1], lo[i]+g*width)})
		}
	}
	// Beyond the last cell only that the profile falls no lower than its end value.
	return append(v, vertex{nodes[n-2], final})
}

// vertex is a point of a function of eps; vertices are sorted by eps.
type vertex struct{ l, v float64 }
type vertices []vertex

// hull is the measure whose profile is the lower convex hull, in α = e^eps, of the
// vertices: a convex function below them stays below it.
func (vs vertices) hull() measure {
	sort.SliceStable(vs, func(i, j int) bool { return vs[i].l < vs[j].l })
	var st vertices
	// slope of the chord a-b in units of 1/α of the point at.
	slope := func(a, b, at vertex) float64 {
		if math.IsInf(a.l, -1) {
			return (b.v - a.v) / math.Exp(b.l-at.l)
		}
		return (b.v - a.v) / (math.Exp(a.l-at.l) * math.Expm1(b.l-a.l))
	}
	least := 1.0
	for _, p := range vs {
		if p.v = math.Min(p.v, least); p.v < least {
			least = p.v
		}
		if n := len(st); n > 0 && st[n-1].l == p.l {
			if p.v >= st[n-1].v {
				continue
			}
			st = st[:n-1]
		}
		for len(st) >= 2 && slope(st[len(st)-2], st[len(st)-1], st[len(st)-1]) >= slope(st[len(st)-1], p, st[len(st)-1]) {
			st = st[:len(st)-1]
		}
		st = append(st, p)
	}
	m := newMeasure(len(st))
	m.infP = st[len(st)-1].v
	for i := 1; i < len(st); i++ {
		mass := -slope(st[i-1], st[i], st[i])
		if i+1 < len(st) {
			mass += slope(st[i], st[i+1], st[i])
		}
		m.add(st[i].l, math.Max(0, mass))
	}
	if len(st) > 1 {
		m.infQ = math.Max(0, 1+(st[1].v-st[0].v)/math.Exp(st[1].l))
	}
	return m
}

// larger is an upper measure for the larger of two profiles: chords of their maximum
// over all losses of either.
func larger(a, b measure) measure {
	at := append(append([]float64(nil), a.loss...), b.loss...)
	sort.Sort(sort.Reverse(sort.Float64Slice(at)))
	x, y := a.profiles(at), b.profiles(at)
	v := vertices{{math.Inf(-1), 1}}
	last := math.Inf(1)
	for i, l := range at {
		if last-l < 1e-11*(1e-6+math.Abs(l)) {
			continue // a chord over two cells lies higher still
		}
		last = l
		v = append(v, vertex{l, math.Min(1, math.Max(x[i], y[i])*(1+1e-12))})
	}
	m := v.hull()
	m.infQ = math.Max(m.infQ, math.Max(a.infQ, b.infQ))
	return m
}

// profiles is the profile of m at falling values of eps, in one walk down.
func (m measure) profiles(at []float64) []float64 {
	out := make([]float64, len(at))
	mass, sum, here := 0.0, 0.0, math.Inf(1)
	move := func(to float64) {
		if mass > 0 {
			sum = -mass*math.Expm1(to-here) + math.Exp(to-here)*sum
		}
		here = to
	}
	i := len(m.loss) - 1
	for k, eps := range at {
		for ; i >= 0 && m.loss[i] > eps; i-- {
			move(m.loss[i])
			mass += m.mass[i]
		}
		move(eps)
		out[k] = sum + m.infP
	}
	return out
}
