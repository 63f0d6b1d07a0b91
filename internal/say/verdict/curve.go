package verdict

import (
	"math"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/privacy"
)

// Curve holds δ at some rising ε: an upper bound on a privacy profile.
type Curve struct{ Epsilon, Delta []float64 }

// The first part of a curve costs points evaluations, and fewPoints where the event is so large
// that each is slow.
const (
	points     = 17
	fewPoints  = 9
	largeEvent = 32 << 10 // bytes of its JSON
)

// pointsFor returns how finely to evaluate an event whose JSON has so many bytes.
func pointsFor(size int) int {
	if size > largeEvent {
		return fewPoints
	}
	return points
}

// reachOf is the end of the first part of a curve, as a multiple of the charged ε.
const reachOf = 1.25

// Profile holds upper bounds on δ(ε) of one event, each evaluated once: a report asks for most of
// the points that its page draws.
type Profile struct {
	event privacy.Event
	rel   privacy.Relation
	text  string // the canonical form of the event
	mu    sync.Mutex
	known map[point]float64
}

// point is an ε, and whether only exactMethods were asked.
type point struct {
	epsilon float64
	exact   bool
}

// recent holds the profiles that this process asked for last, the newest last: the steps of a
// series, and repeated runs of a job, have one event.
var recent struct {
	sync.Mutex
	profiles []*Profile
}

// mostRecent bounds recent.
const mostRecent = 32

// ProfileOf returns the profile of an event, with what is known of it already.
func ProfileOf(e privacy.Event, rel privacy.Relation) *Profile {
	p := &Profile{event: e, rel: rel, known: map[point]float64{}}
	text, err := privacy.Canonical(e)
	if err != nil {
		return p
	}
	p.text = string(text)
	recent.Lock()
	defer recent.Unlock()
	all := recent.profiles
	if i := slices.IndexFunc(all, func(o *Profile) bool { return o.rel == rel && o.text == p.text }); i >= 0 {
		p = all[i]
		all = slices.Delete(all, i, i+1)
	} else if len(all) == mostRecent {
		all = slices.Delete(all, 0, 1)
	}
	recent.profiles = append(all, p)
	return p
}

// Trace evaluates the profile up to right, more finely where it is charged.
func (p *Profile) Trace(at privacy.Point, right float64) (Curve, bool) {
	c := Curve{Epsilon: grid(at.Epsilon, right, pointsFor(len(p.text)))}
	c.Delta = make([]float64, len(c.Epsilon))
	by := privacy.DeltaCurve(p.event, p.rel, privacy.Options{Methods: exactMethods})
	exact := p.delta(point{at.Epsilon, true}, by) < 1
	if !exact {
		by = privacy.DeltaCurve(p.event, p.rel, privacy.Options{})
	}
	for i, eps := range slices.Backward(c.Epsilon) { // the largest needs the finest composition
		c.Delta[i] = p.delta(point{eps, exact}, by)
	}
	for i := range c.Delta {
		if c.Epsilon[i] >= at.Epsilon {
			c.Delta[i] = math.Min(c.Delta[i], at.Delta) // what was charged holds, too
		}
		if i > 0 {
			c.Delta[i] = math.Min(c.Delta[i], c.Delta[i-1]) // a profile never rises
		}
	}
	return c, c.Delta[len(c.Delta)-1] < 1
}

// grid returns the points at which a curve is evaluated: evenly a little beyond the
// charged point, closely around it, and coarsely up to the right end.
func grid(charged, right float64, n int) []float64 {
	near := math.Min(reachOf*charged, right)
	if !(near > 0) {
		near = right
	}
	out := make([]float64, 0, n+12)
	for i := range n {
		out = append(out, near*float64(i)/float64(n-1))
	}
	for i := range 5 {
		out = append(out, near+(right-near)*float64(i)/4)
	}
	for _, f := range []float64{0.03, 0.1, 0.97, 0.99, 0.999, 1} {
		out = append(out, f*charged)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// exactMethods are the methods whose bounds are never far from the truth. Rényi bounds
// take longer, so a curve asks for them only where none of these methods has a bound.
var exactMethods = []string{"basic", "pld", "shuffle", "iterate"}

// delta returns the smallest δ that any of the methods certifies. Where no method has a
// bound it returns 1, which every mechanism guarantees.
func (p *Profile) delta(at point, by func(eps float64) (privacy.Answer, error)) float64 {
	p.mu.Lock()
	d, ok := p.known[at]
	p.mu.Unlock()
	if ok {
		return d
	}
	d = 1
	if a, err := by(at.epsilon); err == nil && a.Delta <= 1 {
		d = a.Delta
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[at] = d
	return d
}

// Detection returns the largest chance with which an attacker detects a unit, if the
// attacker accepts a false alarm with chance alpha. The profile holds in both directions,
// so each of its points bounds the chance twice:
//
//	detection ≤ δ + e^ε·alpha  and  1 − alpha ≤ δ + e^ε·(1 − detection).
func (c Curve) Detection(alpha float64) float64 {
	best := 1.0
	for i, eps := range c.Epsilon {
		d := c.Delta[i]
		best = math.Min(best, d+math.Exp(eps)*alpha)
		best = math.Min(best, 1-math.Exp(-eps)*(1-d-alpha))
	}
	return math.Min(math.Max(best, alpha), 1)
}

// Near is a bound on δ at eps: that of the next evaluated point to the left, or
// the chord's, which bounds it too: δ is convex in e^ε.
func (c Curve) Near(eps float64) float64 {
	for i, e := range c.Epsilon {
		switch {
		case e == eps:
			return c.Delta[i]
		case e > eps && i > 0:
			l, r := math.Exp(c.Epsilon[i-1]), math.Exp(e)
			t := (math.Exp(eps) - l) / (r - l)
			if !(t >= 0 && t <= 1) {
				return c.Delta[i-1]
			}
			return c.Delta[i-1] + t*(c.Delta[i]-c.Delta[i-1])
		}
	}
	return c.Delta[len(c.Delta)-1]
}

// Reach is the ε of an event at δ, or what it was allowed where none is certified.
func Reach(e privacy.Event, rel privacy.Relation, delta, allowed float64) float64 {
	a, err := privacy.EpsilonWith(e, rel, delta, privacy.Options{Quick: true, Methods: exactMethods})
	if err != nil || !(a.Epsilon > 0) {
		return allowed
	}
	return a.Epsilon
}
