package pld

import (
	"errors"
	"fmt"
	"math"
)

// Mechanism is a lazy description of a pair of privacy-loss distributions, both
// directions. Nothing is discretised until a query. The interface is sealed: build
// mechanisms with the functions of this package. Wrong parameters are reported by
// the query.
type Mechanism interface{ mechanism() }

// maxDepth is the number of levels to which a mechanism may be nested.
const maxDepth = 64

// invalid is a mechanism that could not be built.
type invalid struct{ err error }

func (invalid) mechanism() {}

// asNode returns the node behind a mechanism, or an error where there is none.
func asNode(m Mechanism) (node, error) {
	switch m := m.(type) {
	case invalid:
		return nil, m.err
	case node:
		if m.depth() > maxDepth {
			return nil, fmt.Errorf("pld: mechanism nested deeper than %d", maxDepth)
		}
		return m, nil
	}
	return nil, errors.New("pld: mechanism is nil")
}

// build makes a node around an inner mechanism, or passes its error on.
func build(inner Mechanism, make func(node) Mechanism) Mechanism {
	n, err := asNode(inner)
	if err != nil {
		return invalid{err}
	}
	return make(n)
}

// Poisson includes each unit independently with probability rate and runs m on the
// sample. m may be a composition: one draw, one amplification (P4).
//
// # Contract
//
// Add-remove. The pair of m is (with the unit, without it) under add-remove on the
// sample. The sample stays secret.
func Poisson(rate float64, m Mechanism) Mechanism {
	if err := checkRate(rate); err != nil {
		return invalid{err}
	}
	return build(m, func(n node) Mechanism {
		if rate == 1 {
			return n
		}
		return poisson{rate, n}
	})
}

// WithoutReplacement draws a fixed-size sample, gamma = n/N, and runs m on it.
//
// # Contract
//
// Replace-one on the population and on the sample. The pair of m must hold for
// replacing a record by any other value of the whole domain (the trap of P3: the
// place of x is taken by any other record). Where the two directions of m differ the
// larger profile of the two is taken, for the same reason.
func WithoutReplacement(gamma float64, m Mechanism) Mechanism {
	if err := checkRate(gamma); err != nil {
		return invalid{err}
	}
	return build(m, func(n node) Mechanism {
		if gamma == 1 {
			return n
		}
		return without{gamma, n}
	})
}

// Mixture is m with probability p, and nothing otherwise; which of the two happened
// is public (P5.3).
//
// # Contract
//
// The coin is independent of the data and of m.
func Mixture(p float64, m Mechanism) Mechanism {
	if err := check(p >= 0 && p <= 1, "mixture: probability must lie in [0, 1] (%v)", p); err != nil {
		return invalid{err}
	}
	return build(m, func(n node) Mechanism {
		if p == 1 {
			return n
		}
		return mixture{p, n}
	})
}

// Repeat runs m n times, independently.
func Repeat(n int64, m Mechanism) Mechanism {
	if err := check(n >= 0 && n <= 1e15, "repeat: count must lie in [0, 1e15] (%v)", n); err != nil {
		return invalid{err}
	}
	return build(m, func(inner node) Mechanism { return newComposition([]term{{inner, float64(n)}}) })
}

// Compose runs its parts one after the other with independent randomness; the plan
// is fixed beforehand (P10).
func Compose(parts ...Mechanism) Mechanism {
	terms := make([]term, 0, len(parts))
	for _, p := range parts {
		n, err := asNode(p)
		if err != nil {
			return invalid{err}
		}
		terms = append(terms, term{n, 1})
	}
	return newComposition(terms)
}

// term is a mechanism with how often it runs.
type term struct {
	node  node
	count float64
}

// newComposition flattens nested compositions, joins equal parts, and composes
// Gaussians in closed form: the sum of squares of 1/sigma.
func newComposition(terms []term) Mechanism {
	var flat []term
	mu2 := 0.0
	at := map[string]int{}
	var put func(n node, count float64)
	put = func(n node, count float64) {
		if count == 0 {
			return
		}
		if c, ok := n.(composition); ok {
			for _, t := range c.terms {
				put(t.node, t.count*count)
			}
			return
		}
		if l, ok := n.(leaf); ok {
			if g, ok := l.pair.(*gaussian); ok {
				mu2 += count * g.mu * g.mu
				return
			}
		}
		k := n.key()
		if i, ok := at[k]; ok {
			flat[i].count += count
			return
		}
		at[k] = len(flat)
		flat = append(flat, term{n, count})
	}
	for _, t := range terms {
		put(t.node, t.count)
	}
	if mu2 > 0 {
		// A hair more than the sum: the rounding of a thousand terms.
		g := leaf{&gaussian{math.Sqrt(mu2) * (1 + 1e-14)}}
		if len(flat) == 0 {
			return g
		}
		flat = append(flat, term{g, 1})
	}
	if len(flat) == 1 && flat[0].count == 1 {
		return flat[0].node
	}
	return composition{flat}
}
