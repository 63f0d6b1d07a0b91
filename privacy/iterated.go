package privacy

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/privacy/iterate"
)

// variants are the names of [LastIterate.Variant].
var variants = map[string]iterate.Kind{
	"full-batch-strongly-convex": iterate.FullStronglyConvex,
	"full-batch-convex":          iterate.FullConvex,
	"cyclic-strongly-convex":     iterate.CyclicStronglyConvex,
	"cyclic-convex":              iterate.CyclicConvex,
	"one-pass":                   iterate.OnePass,
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
		Kind: variants[e.Variant], Sensitivity: e.Sensitivity, Sigma: e.Sigma, Early: e.Early, Rounding: e.Rounding, N: e.N, Batch: e.Batch, Steps: e.Steps, Epochs: e.Epochs,
		Eta: e.StepSize, StrongConvexity: e.StrongConvexity, Smoothness: e.Smooth, Diameter: e.Diameter,
	}
}

// iterateFields names the event's fields as users write them.
var iterateFields = map[string]string{
	"Kind": "variant", "Sensitivity": "sensitivity", "Sigma": "sigma", "N": "n", "Batch": "batch", "Steps": "steps", "Epochs": "epochs",
	"Early": "early", "Rounding": "rounding", "Eta": "step_size", "StrongConvexity": "strong_convexity", "Smoothness": "smooth", "Diameter": "diameter",
}

// iteration checks a last-iterate event. Conditions of the theorems that fail are
// errors only where plain composition does not hold either.
func iteration(e LastIterate, here string) error {
	if _, ok := variants[e.Variant]; !ok {
		return wrong(here+".variant", "must be full-batch-strongly-convex, full-batch-convex, cyclic-strongly-convex, cyclic-convex or one-pass (%q)", e.Variant)
	}
	_, _, err := iterate.Best(e.params())
	var r *iterate.Refusal
	if errors.As(err, &r) {
		return wrong(here+"."+iterateFields[r.Field], "%s", r.Condition)
	}
	if err != nil {
		return wrong(here, "%v", err)
	}
	for name, x := range map[string]float64{"strong_convexity": e.StrongConvexity, "diameter": e.Diameter} {
		if !(x >= 0) || math.IsInf(x, 1) {
			return wrong(here+"."+name, "must be finite and not negative (%g)", x)
		}
	}
	return nil
}

// ByPosition is the privacy of the records of each batch, at no more than the given
// number of batches from the first to the last: in a pass, records that are used
// early are the more private (P9). It is nil where every step uses all records.
func (e LastIterate) ByPosition(delta float64, points int) ([]iterate.Position, error) {
	if e.Full() {
		return nil, nil
	}
	return iterate.Curve(e.params(), delta, points)
}

// Full reports whether every step uses all records.
func (e LastIterate) Full() bool {
	k := variants[e.Variant]
	return k == iterate.FullStronglyConvex || k == iterate.FullConvex
}

// Holds says whether the conditions of the event's bound hold: nil, or an
// [iterate.Refusal] that names the one that fails. Where it fails, plain composition
// is all that is charged.
func (e LastIterate) Holds() error {
	_, err := iterate.Mu(e.params())
	return err
}
