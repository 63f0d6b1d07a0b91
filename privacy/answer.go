package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/calculus/pld"
)

// Bound is one method's upper bound.
type Bound = Point

// Unsupported says why a method has no bound for an expression. Path names the
// sub-expression it stumbled over.
type Unsupported struct {
	Method string `json:"method"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
}

// Text is the reason with the path.
func (u Unsupported) Text() string { return strings.TrimPrefix(u.Path+": ", ": ") + u.Reason }

// Error is the reason with the method and the path.
func (u Unsupported) Error() string { return strings.TrimPrefix(u.Method+": ", ": ") + u.Text() }

// Claim is a published figure that is shown beside the charged one.
type Claim struct {
	Source  string  `json:"source"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Charged bool    `json:"charged"`
	Why     string  `json:"why"`
}

// Answer is a charged guarantee and how it came about.
type Answer struct {
	Relation Relation
	// Epsilon and Delta are the charged guarantee.
	Epsilon, Delta float64
	// Lower and Upper bracket the ε or δ that was asked for. Upper is charged. No sound
	// accountant can go below Lower, which is 0 where nothing is known.
	Lower, Upper float64
	// Method has the smallest bound: "basic", "rdp", "pld", "shuffle" or "iterate".
	Method string
	// Methods holds the bound of every method that supports the expression. A
	// bound that is not finite is absent and listed in Unsupported.
	Methods     map[string]Bound
	Unsupported []Unsupported
	Claimed     []Claim
	Warnings    []string
}

// Options narrows what a query evaluates. The zero value evaluates everything.
type Options struct {
	// Methods are the methods to run; none means all of them.
	Methods []string
	// Quick skips lower bounds, published claims, and all methods after one whose bound is 0.
	Quick bool

	laws *pld.Laws // of a curve
	_    struct{}
}

func (o Options) wants(method string) bool {
	return len(o.Methods) == 0 || slices.Contains(o.Methods, method)
}

// ErrUnbounded is the error where no method has a finite epsilon. The answer beside it
// holds the reasons.
var ErrUnbounded = errors.New("no method certifies a finite epsilon")

// EpsilonAt evaluates the smallest epsilon that e is known to guarantee at delta,
// under rel, by every method that supports it.
//
// # Contract
//
// Everything that was done to the data is in e, and everything done with one draw
// of a sample is inside one sampling event (P4).
func EpsilonAt(e Event, rel Relation, delta float64) (Answer, error) {
	return EpsilonWith(e, rel, delta, Options{})
}

// DeltaAt evaluates the smallest delta that e is known to guarantee at eps.
//
// # Contract
//
// That of [EpsilonAt].
func DeltaAt(e Event, rel Relation, eps float64) (Answer, error) {
	return DeltaWith(e, rel, eps, Options{})
}

// EpsilonWith is [EpsilonAt] with options.
func EpsilonWith(e Event, rel Relation, delta float64, o Options) (Answer, error) {
	if !(delta >= 0 && delta < 1) {
		return Answer{}, wrong("delta", "must lie in [0, 1) (%g)", delta)
	}
	if delta < 0x1p-1022 {
		// Subnormal numbers have lost digits, and math.Log of them is off by up to 36 on
		// amd64. A δ of 0 is the stronger guarantee (P17).
		delta = 0
	}
	return evaluate(e, rel, Point{Delta: delta}, epsilonQuery, o)
}

// DeltaWith is [DeltaAt] with options.
func DeltaWith(e Event, rel Relation, eps float64, o Options) (Answer, error) {
	if !(eps >= 0) || math.IsInf(eps, 1) {
		return Answer{}, wrong("epsilon", "must be finite and not negative (%g)", eps)
	}
	return evaluate(e, rel, Point{Epsilon: eps}, deltaQuery, o)
}

// DeltaCurve returns [DeltaWith] of one event for many eps: what one query composes, later ones read off. Where several
// laws would serve, which one does follows from the order of the queries.
//
// # Contract
//
// That of [EpsilonAt].
func DeltaCurve(e Event, rel Relation, o Options) func(eps float64) (Answer, error) {
	o.Quick, o.laws = true, &pld.Laws{}
	return func(eps float64) (Answer, error) { return DeltaWith(e, rel, eps, o) }
}

type query int

const (
	epsilonQuery query = iota
	deltaQuery
)

// bracket is a method's answer: an upper bound that may be charged and a lower
// bound on the truth, 0 where none is known.
type bracket struct {
	lower, upper float64
	warning      string
}

// methods run in this order, so that a tie is charged to the simplest one.
var methods = []struct {
	name string
	run  method
}{
	{"basic", runBasic},
	{"rdp", orSmoothed(runRenyi)},
	{"pld", orSmoothed(runDistribution)},
	{"shuffle", runShuffle},
	{"iterate", runIterate},
}

func evaluate(e Event, rel Relation, at Point, q query, o Options) (Answer, error) {
	if !rel.Valid() {
		return Answer{}, wrong("relation", "must be add-remove or replace-one, there is no default")
	}
	if err := Validate(e); err != nil {
		return Answer{}, err
	}
	e = grouped(e, rel)
	a := Answer{Relation: rel, Epsilon: at.Epsilon, Delta: at.Delta, Methods: map[string]Bound{}}
	best := math.Inf(1)
	cheapest := math.Inf(1) // epsilon of basic and rdp
	for _, m := range methods {
		if !o.wants(m.name) {
			continue
		}
		if o.Quick && best == 0 {
			break // no method goes below
		}
		var b bracket
		var u *Unsupported
		if m.name == "pld" && hopeless(cheapest, e, rel, at, q, o) {
			u = refuse("", tooHopeless)
		} else if b, u = m.run(e, rel, at, q, o); u == nil && q == epsilonQuery && b.upper < cheapest {
			cheapest = b.upper
		}
		if u == nil && !(b.upper >= 0 && !math.IsInf(b.upper, 1)) {
			u = &Unsupported{Reason: fmt.Sprintf("certifies no finite epsilon at delta %g", at.Delta)}
		}
		if u != nil {
			u.Method = m.name
			a.Unsupported = append(a.Unsupported, *u)
			continue
		}
		p := at
		if q == epsilonQuery {
			p.Epsilon = b.upper
		} else {
			b.upper = math.Min(b.upper, 1)
			p.Delta = b.upper
		}
		if b.warning != "" {
			a.Warnings = append(a.Warnings, b.warning)
		}
		a.Methods[m.name] = p
		a.Lower = math.Max(a.Lower, b.lower)
		if b.upper < best {
			best, a.Method = b.upper, m.name
		}
	}
	if a.Method == "" && q == deltaQuery && len(a.Unsupported) > 0 {
		// Any mechanism at all guarantees delta = 1, which is worth nothing.
		best = 1
	}
	a.Upper = best
	if q == epsilonQuery {
		a.Epsilon = best
	} else {
		a.Delta = best
	}
	a.Lower = math.Min(a.Lower, a.Upper)
	if !o.Quick {
		a.Claimed = compared(claims(e, rel, at, q), a.Upper)
	}
	if a.Method == "" {
		return a, unbounded(a.Unsupported)
	}
	return a, nil
}

// unbounded gathers the methods' reasons in one error.
func unbounded(us []Unsupported) error {
	reasons := make([]string, 0, len(us))
	for _, u := range us {
		reasons = append(reasons, u.Error())
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "no such method")
	}
	return fmt.Errorf("%w: %s", ErrUnbounded, strings.Join(reasons, "; "))
}
