package pld

import (
	"fmt"
	"math"
	"slices"
)

// worse is a pair whose profile is the larger of those of a and b, in each direction.
type worse struct{ a, b node }

// Larger dominates a run of a or of b: neighbours of one kind have the pair of a, those of
// another kind the pair of b. Its lower bound is that of a.
//
// # Contract
//
// Every ordered pair of neighbours is dominated by a or by b. Proof:
// transform.proof.md.
func Larger(a, b Mechanism) Mechanism {
	return build(a, func(a node) Mechanism {
		return build(b, func(b node) Mechanism {
			if c, ok := b.(composition); ok &&
				slices.ContainsFunc(c.terms, func(t term) bool { return t.count >= 1 && t.node.key() == a.key() }) || a.key() == b.key() {
				return b // which runs a, and more
			}
			return worse{a, b}
		})
	})
}

func (w worse) mechanism()           {}
func (w worse) symmetric() bool      { return w.a.symmetric() && w.b.symmetric() }
func (w worse) gaps(direction) []gap { return nil }
func (w worse) depth() int           { return max(w.a.depth(), w.b.depth()) + 1 }
func (w worse) key() string          { return fmt.Sprintf("larger(%s,%s)", w.a.key(), w.b.key()) }

func (w worse) measure(d direction, r request) (measure, error) {
	m, err := w.a.measure(d, r)
	if err != nil || r.side == lower {
		return m, err
	}
	other, err := w.b.measure(d, r)
	if err != nil {
		return m, err
	}
	return larger(m, other), nil
}

func (w worse) profile(d direction, eps float64) (float64, bool) {
	x, ok := w.a.profile(d, eps)
	y, also := w.b.profile(d, eps)
	return math.Max(x, y), ok && also
}

func (w worse) reach(d direction, tail float64) (lo, hi float64) {
	lo, hi = w.a.reach(d, tail)
	lo2, hi2 := w.b.reach(d, tail)
	return math.Min(lo, lo2), math.Max(hi, hi2)
}
