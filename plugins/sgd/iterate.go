package sgd

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/iterate"
)

// slack is what is added, as a share, to the sensitivity for rounding: of it a
// quarter is what all errors of a step may amount to, once for each neighbour.
const slack = 0x1p-16

// lastIterate prepares noisy gradient descent on all records of which only the last
// iterate is released (P9): no clipping, no mean of iterates, a ball of a public
// radius. The penalty includes the intercept, so that it makes the loss strongly
// convex.
func (l *layout) lastIterate(req sdk.PlanRequest) error {
	p := l.params
	for _, c := range []struct {
		fails bool
		why   string
	}{
		{req.Public.Relation != privacy.ReplaceOne || req.Public.Population == 0, "the bound is about a public number of records; use relation: replace-one, or accounting: steps"},
		{len(req.Public.SampleRelations) != 1 || req.Public.SampleRelations[0] != privacy.ReplaceOne, "the bound holds under replace-one only"},
		{l.schedule.rate != 1, "every step must take all records: rate 1. Random batches have accounting: steps; batches in a fixed cycle are not offered, because their bound does not cover rounding"},
		{p.Clip != nil, "clip: a clipped gradient is not that of a convex smooth loss; leave clip out"},
		{p.Average != nil && *p.Average, "average: only the last iterate may leave; leave average out"},
		{p.Radius == nil, "radius: the iterates must be confined to a ball; give its radius, in scaled units"},
	} {
		if c.fails {
			return fmt.Errorf("accounting: last-iterate: %s", c.why)
		}
	}
	l.iterate = l.bound(1)
	return nil
}

// rowNorm bounds the norm of a row: the intercept and one coordinate of each feature.
func (e *encoder) rowNorm() float64 {
	return math.Ldexp(e.constant, -rowBits) * math.Sqrt(1+float64(len(e.features))) * (1 + 0x1p-50)
}

// residual bounds what a prediction inside the ball misses its target by.
func (l *layout) residual() float64 {
	if l.encoder.logistic {
		return 1
	}
	return 1 + *l.params.Radius*l.encoder.rowNorm()
}

// bound is the event of all steps with the given noise on the mean gradient.
func (l *layout) bound(sigma float64) privacy.LastIterate {
	norm := l.encoder.rowNorm()
	curvature := 1.0
	if l.encoder.logistic {
		curvature = 0.25
	}
	e := privacy.LastIterate{
		Variant: "full-batch-convex", Sigma: sigma, N: int64(l.schedule.rows), Steps: l.schedule.steps,
		Sensitivity: 2 * l.residual() * norm * (1 + slack), Diameter: 2 * *l.params.Radius * (1 + slack),
		Smooth: (curvature*norm*norm + l.params.L2) * (1 + 0x1p-40), StrongConvexity: l.params.L2,
	}
	if l.params.L2 > 0 {
		e.Variant = "full-batch-strongly-convex"
	}
	e.StepSize = 1 / e.Smooth
	if l.params.StepSize != nil {
		e.StepSize = *l.params.StepSize
	}
	return e
}

// calibrateLast finds the noise for the last iterate, or says which condition of
// the bound fails.
func (l *layout) calibrateLast(req sdk.PlanRequest) error {
	kind := iterate.FullConvex
	if l.params.L2 > 0 {
		kind = iterate.FullStronglyConvex
	}
	e := l.iterate
	_, err := iterate.Mu(iterate.Params{
		Kind: kind, Sensitivity: e.Sensitivity, Sigma: e.Sigma, N: e.N, Steps: e.Steps,
		Eta: e.StepSize, StrongConvexity: e.StrongConvexity, Smoothness: e.Smooth, Diameter: e.Diameter,
	})
	var r *iterate.Refusal
	if errors.As(err, &r) {
		return fmt.Errorf("accounting: last-iterate: %s: %s", inJob[r.Field], r.Condition)
	}
	if err != nil {
		return err
	}
	one := e.Sensitivity / float64(e.N)
	multiplier, err := sdk.GaussianMultiplier(func(x float64) privacy.Event { return l.bound(x * one) }, req.Public.SampleRelations, req.Target)
	if err != nil {
		return fmt.Errorf("noise: %w", err)
	}
	l.iterate = l.bound(multiplier * one)
	return l.precise()
}

// inJob names the conditions of the bound as jobs do.
var inJob = map[string]string{"Eta": "step_size", "Steps": "steps", "StrongConvexity": "l2", "Smoothness": "l2", "Diameter": "radius", "N": "size", "Sensitivity": "radius"}

// lattice is the step of the lattice on which the sum of the gradients is given to
// the host.
func (l *layout) lattice() float64 {
	return l.iterate.Sigma * float64(l.iterate.N) / l.iterate.Step().Sigma
}

// precise checks that rounding stays within the slack, by bounds that are far from
// sharp (iterate/rounding.proof.md, lastiterate.proof.md): κ in steps of the lattice.
func (l *layout) precise() error {
	n, d := float64(l.iterate.N), float64(l.encoder.width+1)
	norm, reach := l.encoder.rowNorm(), 1+*l.params.Radius*l.encoder.rowNorm()
	h := l.lattice()
	computed := n * norm * l.residual() * reach * (d + 100) * 0x1p-50 / h
	rounded := (n/together + 2*mostWorkers) * math.Sqrt(d) / 2
	after := math.Sqrt(d) * (1.5 + 0x1p-48*(*l.params.Radius/l.iterate.StepSize*n/h+n*norm*l.residual()/h))
	most := l.iterate.Step().Sensitivity.ReplaceOne
	if !(computed+rounded+after <= slack/4*most) || !(n*norm*l.residual()/h < 0x1p61) {
		return fmt.Errorf("accounting: last-iterate: %.0f records are too many for the precision that the bound needs; use accounting: steps", n)
	}
	return nil
}

// confine projects on the ball of the given radius.
func (d *descent) confine(radius float64) {
	squares := 0.0
	for _, x := range d.at {
		squares += x * x
	}
	if norm := math.Sqrt(squares); norm > radius {
		for j := range d.at {
			d.at[j] *= radius / norm
		}
	}
}

// stepInside is a step of the last-iterate descent: the penalty is part of the
// gradient, and the iterate is projected on the ball.
func (d *descent) stepInside(sum []int64, unit, radius float64) {
	for j, v := range sum {
		d.at[j] -= d.stepSize * (unit*float64(v) + d.l2*d.at[j])
		d.at[j] = math.Max(-farthest, math.Min(farthest, d.at[j]))
	}
	d.confine(radius)
}
