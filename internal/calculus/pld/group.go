package pld

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/cluster"
)

// shape is a node as a member of a family that its parameters order: of two members,
// one that has no smaller parameter dominates the other (group.proof.md).
type shape struct {
	family string
	at     []float64
	build  func(at []float64) node
}

// shapeOf is the family of n; ok is false where no order is proven.
func shapeOf(n node) (s shape, ok bool) {
	switch n := n.(type) {
	case leaf:
		return leafShape(n)
	case poisson:
		return around(n.inner, "poisson", n.q, func(q float64, in node) node { return poisson{q, in} })
	case without:
		return around(n.inner, "without", n.gamma, func(g float64, in node) node { return without{g, in} })
	case mixture:
		return around(n.inner, "mixture", n.p, func(p float64, in node) node { return mixture{p, in} })
	case reversed:
		return around(n.inner, "reversed", 0, func(_ float64, in node) node { return reversed{in} })
	case poissonReplace:
		return n.shape()
	case composition:
		return n.shape()
	}
	return shape{}, false
}

func (p poissonReplace) shape() (shape, bool) {
	a, okA := shapeOf(p.a)
	r, okR := shapeOf(p.r)
	own := 1 + len(a.at)
	return shape{"poisson replace(" + a.family + "," + r.family + ")", slices.Concat([]float64{p.q}, a.at, r.at),
		func(at []float64) node { return poissonReplace{at[0], a.build(at[1:own]), r.build(at[own:])} }}, okA && okR
}

// around is the family of a draw with the given rate around n.
func around(n node, kind string, rate float64, build func(rate float64, inner node) node) (shape, bool) {
	in, ok := shapeOf(n)
	if !ok {
		return in, false
	}
	return shape{kind + "(" + in.family + ")", append([]float64{rate}, in.at...),
		func(at []float64) node { return build(at[0], in.build(at[1:])) }}, true
}

func (c composition) shape() (shape, bool) {
	out := shape{family: "compose("}
	var parts []shape
	for _, t := range c.terms {
		s, ok := shapeOf(t.node)
		if !ok {
			return s, false
		}
		out.family += fmt.Sprintf("%v*%s,", t.count, s.family)
		out.at = append(out.at, s.at...)
		parts = append(parts, s)
	}
	out.family += ")"
	out.build = func(at []float64) node {
		terms := make([]term, len(parts))
		for i, s := range parts {
			terms[i] = term{s.build(at[:len(s.at)]), c.terms[i].count}
			at = at[len(s.at):]
		}
		return composition{terms}
	}
	return out, true
}

// leafShape is the family of a leaf. Scales are turned over, so that more is worse.
func leafShape(l leaf) (shape, bool) {
	one := func(family string, x float64, p func(x float64) pair) (shape, bool) {
		return shape{family, []float64{x}, func(at []float64) node { return leaf{p(at[0])} }}, true
	}
	switch p := l.pair.(type) {
	case *gaussian:
		return one("gaussian", p.mu, func(x float64) pair { return &gaussian{x} })
	case *laplace:
		return one("laplace", p.top, func(x float64) pair { return &laplace{x} })
	case *boundedRange:
		return one("bounded range", p.top, func(x float64) pair { return newBoundedRange(x) })
	case *discreteLaplace:
		return one(fmt.Sprintf("discrete laplace %d", p.shift), -p.scale, func(x float64) pair {
			return &discreteLaplace{-x, p.shift}
		})
	case *points:
		return pointsShape(p)
	}
	return shape{}, false
}

// maxTerms is the number of different parts that are composed as they are; of more, those that
// are nearly equal are joined, and maxApart is the number that may be left that cannot be.
const (
	maxTerms = 512
	maxApart = 512
)

// join makes one composition above c and one below it of at most limit terms and
// those that no order is known of. Where c is short enough it is both.
func join(c composition, limit int) (above, below composition, err error) {
	if len(c.terms) <= limit {
		return c, c, nil
	}
	var apart []term
	var shapes []shape
	var items []cluster.Item
	families := map[string]bool{}
	for _, t := range c.terms {
		s, ok := shapeOf(t.node)
		if !ok {
			apart = append(apart, t)
			continue
		}
		families[s.family] = true
		shapes, items = append(shapes, s), append(items, cluster.Item{Family: s.family, At: s.at, Weight: t.count})
	}
	if n := len(apart) + len(families); n > maxApart {
		return c, c, fmt.Errorf("%w: %d different mechanisms that cannot be joined, at most %d are composed", ErrNotCertified, n, maxApart)
	}
	above.terms, below.terms = slices.Clone(apart), slices.Clone(apart)
	for _, g := range cluster.Groups(items, max(1, limit-len(apart))) {
		lo, hi, runs := slices.Clone(items[g[0]].At), slices.Clone(items[g[0]].At), 0.0
		for _, i := range g {
			for x, v := range items[i].At {
				lo[x], hi[x] = math.Min(lo[x], v), math.Max(hi[x], v)
			}
			runs += items[i].Weight
		}
		build := shapes[g[0]].build
		above.terms, below.terms = append(above.terms, term{build(hi), runs}), append(below.terms, term{build(lo), runs})
	}
	return above, below, nil
}
