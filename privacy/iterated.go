package privacy

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/privacy/amplify"
	"github.com/dprelease/dprelease/privacy/iterate"
)

// LastIterate is noisy gradient descent that releases only its last iterate
// (P9). Variant names the bound: "full-batch-strongly-convex",
// "full-batch-convex", "cyclic-strongly-convex", "cyclic-convex" or "one-pass".
// In a cyclic run and in one pass a record is in one batch, which does not depend
// on any value.
type LastIterate struct {
	Variant         string  `event:"kind"`
	Sigma           float64 // standard deviation of the noise added to the averaged gradient
	Sensitivity     float64 // L: sup‖∇f_i − ∇f_i'‖
	Early           float64 // noise of all steps but the last, as a share of Sigma (one pass; 0: 1)
	Rounding        float64 // what rounding adds to the distance of two runs in a step, divided by η (0: exact)
	N, Batch        int64   // records, and the most in a batch, which its sum is divided by (Batch 0: all)
	Steps           int64   // steps (full batch)
	Epochs          int64   // passes (cyclic)
	StepSize        float64 `event:"step_size"` // η
	Smooth          float64 // M
	StrongConvexity float64 `event:"strong_convexity"` // m, 0 where only convex
	Diameter        float64 // D of the public convex set, 0 where unconstrained
}

func (LastIterate) kind() string { return "last_iterate" }

// variants are the values of [LastIterate.Variant].
var variants = func() (names []string) {
	for _, k := range iterate.Kinds() {
		names = append(names, string(k))
	}
	return names
}()

// The variant decides which fields an event has. A text with a field that its variant does
// not use is refused, so that nobody believes that the field counted.
var lastIterateKind = declare[LastIterate](Kind{
	About: "noisy gradient descent that releases only its last iterate",
	Also:  []string{"sgd", "iterate"},
	Fields: []Field{
		{Name: "kind", Words: variants, Example: "one of " + strings.Join(variants, ", "), Also: []string{"variant"}},
		sigma(),
		number("sensitivity", "", positive).hidden().most(1e-9, 1e9).also("L"),
		number("n", "n=", atLeastOne).also("users", "count"),
		number("step_size", "", positive).hidden().also("eta", "learning_rate", "lr"),
		number("smooth", "", positive).hidden().also("M", "smoothness"),
		number("steps", "steps=", atLeastOne).optional().most(1, 1e12).also("iterations").
			need(func(v iterate.Kind) Need { return only(isFull(v), Required) }),
		number("batch", "batch=", atLeastOne).optional().also("batch_size").
			need(func(v iterate.Kind) Need { return only(!isFull(v), Required) }),
		number("epochs", "epochs=", atLeastOne).optional().most(1, 1e12).also("epoch", "passes").
			need(func(v iterate.Kind) Need { return only(!isFull(v) && v != iterate.OnePass, Required) }),
		number("strong_convexity", "", positive).hidden().optional().also("m").need(func(v iterate.Kind) Need {
			if v == iterate.OnePass {
				return Allowed
			}
			return only(v == iterate.FullStronglyConvex || v == iterate.CyclicStronglyConvex, Required)
		}),
		number("diameter", "", positive).hidden().optional().also("D").need(func(v iterate.Kind) Need {
			if v == iterate.FullConvex || v == iterate.CyclicConvex {
				return Required
			}
			return only(v != iterate.OnePass, Allowed)
		}),
		number("early", "early=", func(x float64) string {
			if !(x > 0 && x <= 1) {
				return "must be above 0 and at most 1: the share of the noise that all steps but the last have"
			}
			return ""
		}).optional().need(func(v iterate.Kind) Need { return only(v == iterate.OnePass, Allowed) }),
		number("rounding", "", positive).hidden().optional(),
	},
	// Conditions of the theorems that fail are errors only where plain composition does
	// not hold either.
	loose: true,
	check: on(iteration),
	written: on(func(e LastIterate, wrong complain) {
		if e.Batch > e.N {
			wrong("batch", "must be at most n (%d > %d)", e.Batch, e.N)
		}
		if e.Smooth > 0 && e.StepSize > 2/e.Smooth {
			wrong("step_size", "must be at most 2/smooth = %g: a longer step is no contraction", 2/e.Smooth)
		}
		if e.Smooth > 0 && e.StrongConvexity > e.Smooth {
			wrong("strong_convexity", "must be at most smooth (%g > %g)", e.StrongConvexity, e.Smooth)
		}
	}),
})

func isFull(v iterate.Kind) bool {
	return v == iterate.FullStronglyConvex || v == iterate.FullConvex
}

// only is need where a variant uses the field.
func only(uses bool, need Need) Need {
	if uses {
		return need
	}
	return Unused
}

// need sets which variants of a last iterate need a field.
func (f Field) need(of func(iterate.Kind) Need) Field {
	f.Needed = func(e Event) Need {
		l, _ := e.(LastIterate)
		return of(iterate.Kind(l.Variant))
	}
	return f
}

// runIterate answers for an expression that is one last iterate (P9).
func runIterate(e Event, rel Relation, at Point, q query, _ Options) (bracket, *Unsupported) {
	ts := terms(e, "")
	l, ok := ts[0].event.(LastIterate)
	if !ok || len(ts) > 1 || ts[0].runs > 1 {
		return bracket{}, refuse("", "the expression is not one last iterate")
	}
	mu, u := iterateShift(l, rel, ts[0].path())
	if u != nil {
		return bracket{}, u
	}
	p := gaussianProfile(mu)
	if q == epsilonQuery {
		return bracket{upper: p.epsilon(at.Delta).upper}, nil
	}
	return bracket{upper: p.delta(at.Epsilon)}, nil
}

// iterateShift is the μ of Gaussian differential privacy that the last iterate
// has: the smaller of the last-iterate bound, where its conditions hold, and
// plain composition.
func iterateShift(e LastIterate, rel Relation, here string) (float64, *Unsupported) {
	if rel != ReplaceOne {
		return 0, refuse(here, replaceOnly)
	}
	mu, _, err := iterate.Best(e.params())
	if err != nil {
		return 0, refuse(here, err.Error())
	}
	return mu, nil
}

// params are e's in the terms of the numeric package.
func (e LastIterate) params() iterate.Params {
	return iterate.Params{
		Kind: iterate.Kind(e.Variant), Sensitivity: e.Sensitivity, Sigma: e.Sigma, Early: e.Early, Rounding: e.Rounding, N: e.N,
		Batch: e.Batch, Steps: e.Steps, Epochs: e.Epochs,
		Eta: e.StepSize, StrongConvexity: e.StrongConvexity, Smoothness: e.Smooth, Diameter: e.Diameter,
	}
}

// iterateFields names the event's fields as users write them.
var iterateFields = map[string]string{
	"Kind": "kind", "Sensitivity": "sensitivity", "Sigma": "sigma", "N": "n", "Batch": "batch", "Steps": "steps", "Epochs": "epochs",
	"Early": "early", "Rounding": "rounding", "Eta": "step_size", "StrongConvexity": "strong_convexity", "Smoothness": "smooth",
	"Diameter": "diameter",
}

// iteration checks a last-iterate event.
func iteration(e LastIterate, wrong complain) {
	if !slices.Contains(variants, e.Variant) {
		wrong("kind", "must be one of %s (%q)", strings.Join(variants, ", "), e.Variant)
		return
	}
	_, _, err := iterate.Best(e.params())
	var r *iterate.Refusal
	if errors.As(err, &r) {
		wrong(iterateFields[r.Field], "%s", r.Condition)
	} else if err != nil {
		wrong("", "%v", err)
	}
	if !(e.StrongConvexity >= 0) || math.IsInf(e.StrongConvexity, 1) {
		wrong("strong_convexity", "must be finite and not negative (%g)", e.StrongConvexity)
	}
	if !(e.Diameter >= 0) || math.IsInf(e.Diameter, 1) {
		wrong("diameter", "must be finite and not negative (%g)", e.Diameter)
	}
}

func (e LastIterate) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	mu, u := iterateShift(e, rel, here)
	if u != nil {
		return profile{}, u
	}
	p := gaussianProfile(amplify.GroupEpsilon(k, mu))
	p.exact = false
	return p, nil
}

func (e LastIterate) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	mu, u := iterateShift(e, rel, here)
	if u != nil {
		return renyiBound{}, u
	}
	return renyiBound{curve: rdp.Gaussian(below(1 / mu)), mirror: true}, nil
}

func (e LastIterate) pair(rel Relation, here string) (lossPair, *Unsupported) {
	mu, u := iterateShift(e, rel, here)
	if u != nil {
		return lossPair{}, u
	}
	return lossPair{mech: pld.Gaussian(below(1 / mu))}, nil
}

// PositionEpsilon is the ε of the records of one batch.
type PositionEpsilon struct {
	At      int64 // the position of the batch, from 1
	Epsilon float64
}

// ByPosition is the privacy of the records of each batch, at no more than the given
// number of batches from the first to the last: in a pass, records that are used
// early are the more private (P9). It is nil where every step uses all records.
func (e LastIterate) ByPosition(delta float64, points int) ([]PositionEpsilon, error) {
	if e.Full() {
		return nil, nil
	}
	if !(delta > 0 && delta < 1) {
		return nil, wrong("delta", "must be between 0 and 1 (%g)", delta)
	}
	curve, err := iterate.Curve(e.params(), points)
	var out []PositionEpsilon
	for _, at := range curve {
		out = append(out, PositionEpsilon{at.At, gaussianProfile(at.Mu).epsilon(delta).upper})
	}
	return out, err
}

// Full reports whether every step uses all records.
func (e LastIterate) Full() bool {
	return isFull(iterate.Kind(e.Variant))
}

// Holds reports whether the conditions of the event's bound hold: nil, or an
// [iterate.Refusal] that names the one that fails. Where it fails, plain composition is
// all that is charged.
func (e LastIterate) Holds() error {
	_, err := iterate.Mu(e.params())
	return err
}
