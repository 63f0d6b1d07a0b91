package privacy

import (
	"fmt"
	"math"
	"slices"
)

// term is one kind of event of a composition and how often it runs.
type term struct {
	event Event
	runs  int64
	at    string // its location
	// changed says that event only dominates the event that ran.
	changed bool
}

func (t term) path() string { return join(t.at, t.event.kind()) }

// terms flattens nested compositions and repetitions and gathers equal events.
// The order of what runs on the same data does not matter to any bound.
func terms(e Event, at string) []term {
	g := gatherer{index: map[string]int{}}
	g.add(e, at, 1, false)
	return g.terms
}

type gatherer struct {
	terms []term
	index map[string]int
}

func (g *gatherer) add(e Event, at string, runs int64, changed bool) {
	switch x := e.(type) {
	case Compose:
		for i, p := range x.Events {
			g.add(p, fmt.Sprintf("%s[%d]", join(at, x.kind()), i), runs, changed)
		}
		return
	case Repeat:
		g.add(x.Event, join(at, x.kind())+".event", runs*x.N, changed)
		return
	case alike:
		g.add(x.Event, join(at, x.kind())+".event", runs, changed || x.changed)
		return
	}
	switch x := e.(type) {
	case Poisson:
		p, path := thinned(x, at)
		if p.Rate == 1 { // everybody is in the sample
			g.add(p.Event, join(path, p.kind())+".event", runs, changed)
			return
		}
		e, at = p, path
	case WithoutReplacement:
		e, at = redrawn(x, at)
	case RowsOfUnit:
		if x.Rows == 1 && x.Units == 0 { // the draw itself
			g.add(x.Event, join(at, x.kind())+".event", runs, changed)
			return
		}
	case BoundedRange: // neither the number of its selections nor another relation changes its cost
		x.Parts, x.Come = 0, 0
		e = x
	}
	if len(g.terms) == 0 {
		// The usual case is a single term: put off writing its key.
		g.terms = append(g.terms, term{e, runs, at, changed})
		return
	}
	if len(g.terms) == 1 && len(g.index) == 0 {
		g.index[key(g.terms[0].event)] = 0
	}
	k := key(e)
	if i, ok := g.index[k]; ok && g.terms[i].runs <= maxRuns-runs {
		g.terms[i].runs += runs
		g.terms[i].changed = g.terms[i].changed || changed
		return
	}
	g.index[k] = len(g.terms)
	g.terms = append(g.terms, term{e, runs, at, changed})
}

// thinned joins Poisson samples of Poisson samples: keeping a unit with probability
// a and then with probability b keeps it with probability ab. The location
// becomes that of the innermost one.
func thinned(p Poisson, at string) (Poisson, string) {
	for {
		inner, ok := p.Event.(Poisson)
		if !ok {
			return p, at
		}
		rate := p.Rate * inner.Rate
		if math.FMA(p.Rate, inner.Rate, -rate) > 0 || rate < leastRate {
			rate = math.Max(math.Nextafter(rate, 1), leastRate)
		}
		p, at = Poisson{rate, inner.Event}, join(at, p.kind())+".event"
	}
}

// redrawn joins simple random samples of simple random samples: n of N, and then m
// of those n, are m of N.
func redrawn(w WithoutReplacement, at string) (Event, string) {
	for {
		inner, ok := w.Event.(WithoutReplacement)
		if !ok || inner.Of != w.Take {
			return w, at
		}
		w, at = WithoutReplacement{inner.Take, w.Of, inner.Event}, join(at, w.kind())+".event"
	}
}

// drawn reports whether a sample is drawn anywhere in e, on the data or on its groups.
func drawn(e Event) bool {
	return slices.ContainsFunc(terms(e, ""), func(t term) bool {
		switch e := t.event.(type) {
		case ByGroup:
			return drawn(e.Event)
		case Sampling:
			return true
		}
		return false
	})
}

// key writes an event so that equal events, and only those, have equal keys:
// %#v spells out types and writes floats so that they read back exactly.
func key(e Event) string { return fmt.Sprintf("%#v", e) }

// refusals that every method shares.
const (
	responseCount = "publishes one answer for every unit, so that the number of answers is not hidden under add-remove"
	unknownSize   = "is about a fixed number of units, but runs on a sample whose size is not fixed"
	pointInSample = "an (epsilon, delta) point inside a sample has no Rényi curve"
	twoPhase      = "is a sample drawn from a sample"
	replaceOnly   = "is proven under replace-one only"
)

// spread is the L2 shift of Gaussian noise in standard deviations, rounded up, or
// 0 if e is not Gaussian noise or its sensitivity is not known under rel.
func spread(e Event, rel Relation) float64 {
	if g, ok := e.(Gaussian); ok {
		return ratioUp(g.Sensitivity.Under(rel), g.Sigma)
	}
	return 0
}

// ratioUp is a/b rounded up.
func ratioUp(a, b float64) float64 {
	q := a / b
	if a == 0 || math.IsInf(q, 1) || math.FMA(q, b, -a) == 0 && q > 1e-290 {
		return q
	}
	return math.Nextafter(q, math.Inf(1))
}

// above is x moved up by a relative margin that covers rounding.
func above(x, margin float64) float64 {
	if x <= 0 || math.IsInf(x, 1) {
		return x
	}
	return math.Nextafter(x*(1+margin), math.Inf(1))
}
