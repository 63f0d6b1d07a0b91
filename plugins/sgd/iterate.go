package sgd

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/iterate"
)

// The charge for rounding, as a share of how far a record moves a step. All rounding
// errors of a step may amount to a quarter of it, for each of the two neighbours. Full
// batches add it to their sensitivity. Batches in turn pay it in every step, also in
// those without the record, so their share is smaller.
const (
	slack     = 0x1p-16
	turnSlack = 0x1p-20
)

// prepareLast prepares a descent that releases its last iterate only (P9): it clips
// nothing, averages nothing, and stays in a ball of a public radius. The penalty
// includes the intercept, which makes the loss strongly convex.
func (l *layout) prepareLast(req sdk.PlanRequest) error {
	p := l.params
	for _, c := range []struct {
		fails bool
		why   string
	}{
		{req.Public.Relation != privacy.ReplaceOne || req.Public.Population == 0,
			"the bound is about a public number of records; use relation: replace-one, or accounting: steps"},
		{len(req.Public.SampleRelations) != 1 || req.Public.SampleRelations[0] != privacy.ReplaceOne, "the bound holds under replace-one only"},
		{!p.inTurn() && l.schedule.rate != 1, "every step must take all records: rate 1. Random batches have accounting: steps; " +
			"batches: cyclic and one-pass take the records in turn"},
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
	return math.Ldexp(e.constant, -rowBits) * math.Sqrt(1+float64(len(e.Features))) * (1 + 0x1p-50)
}

// residual bounds the difference between a target and a prediction inside the ball.
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
	strong := l.params.L2 > 0
	e := privacy.LastIterate{
		Sigma: sigma, N: int64(l.schedule.rows), Sensitivity: 2 * l.residual() * norm,
		Smooth: (curvature*norm*norm + l.params.L2) * (1 + 0x1p-40), StrongConvexity: l.params.L2,
	}
	switch {
	case l.params.Batches == onePass:
		e.Variant, e.Early = "one-pass", l.params.early()
	case l.params.Batches == cyclicBatches && strong:
		e.Variant = "cyclic-strongly-convex"
	case l.params.Batches == cyclicBatches:
		e.Variant = "cyclic-convex"
	case strong:
		e.Variant = "full-batch-strongly-convex"
	default:
		e.Variant = "full-batch-convex"
	}
	if l.params.inTurn() {
		e.Batch, e.Sensitivity = l.schedule.batch, e.Sensitivity*(1+0x1p-36)
		e.Rounding = e.Sensitivity / float64(e.Batch) * turnSlack
	} else {
		e.Steps, e.Sensitivity = l.schedule.steps, e.Sensitivity*(1+slack)
	}
	if l.params.Batches == cyclicBatches {
		e.Epochs = l.schedule.epochs
	}
	if l.params.Batches != onePass {
		e.Diameter = 2 * *l.params.Radius * (1 + slack)
	}
	e.StepSize = 1 / e.Smooth
	if l.params.StepSize != nil {
		e.StepSize = *l.params.StepSize
	}
	return e
}

// calibrateLast finds the noise for the last iterate. Its error names the condition of
// the bound that fails.
func (l *layout) calibrateLast(req sdk.PlanRequest) error {
	e := l.iterate
	err := e.Holds()
	var r *iterate.Refusal
	if errors.As(err, &r) {
		return fmt.Errorf("accounting: last-iterate: %s: %s", inJob[r.Field], r.Condition)
	}
	if err != nil {
		return err
	}
	one := e.Sensitivity / l.divisor()
	multiplier, err := sdk.GaussianMultiplier(func(x float64) privacy.Event { return l.bound(x * one) }, req.Public.SampleRelations,
		req.Target)
	if err != nil {
		return fmt.Errorf("noise: %w", err)
	}
	l.iterate = l.bound(multiplier * one)
	return l.precise()
}

// inJob maps the conditions of the bound to the parameters of a job.
var inJob = map[string]string{"Eta": "step_size", "Steps": "steps", "Epochs": "epochs", "Batch": "batch_size", "Early": "early_noise",
	"StrongConvexity": "l2", "Smoothness": "l2", "Diameter": "radius", "N": "size", "Sensitivity": "radius"}

// divisor is the public divisor of every step's sum: the number of records, or the size
// of a batch, also for the last batch of a pass, which may hold fewer.
func (l *layout) divisor() float64 {
	if l.params.inTurn() {
		return float64(l.schedule.batch)
	}
	return l.schedule.rows
}

// lattice is the step of the lattice on which the host adds noise to the sum of the
// gradients.
func (l *layout) lattice() float64 {
	return l.iterate.Sigma * l.divisor() / l.iterate.Step().Sigma
}

// precise checks that rounding stays within the slack. It computes a generous bound on
// κ, in steps of the lattice (../../privacy/iterate/rounding.proof.md, lastiterate.proof.md).
func (l *layout) precise() error {
	n, d := l.divisor(), float64(l.encoder.Width+1)
	norm, reach := l.encoder.rowNorm(), 1+*l.params.Radius*l.encoder.rowNorm()
	h, steps := l.lattice(), *l.params.Radius/l.walkStep()
	computed := n * norm * l.residual() * reach * (d + 100) * 0x1p-50 / h
	rounded := (n/together + 2*mostWorkers) * math.Sqrt(d) / 2
	after := math.Sqrt(d) * (2 + 0x1p-48*steps)
	allowed := slack / 4 * l.iterate.Step().Sensitivity.ReplaceOne
	if l.params.inTurn() {
		allowed = turnSlack / 4 * l.iterate.Step().Sensitivity.ReplaceOne * (1 - turnSlack)
	}
	if !(computed+rounded+after <= allowed) || !(n*norm*l.residual()/h < 0x1p61) || !(steps < 0x1p60) {
		return fmt.Errorf("accounting: last-iterate: %.0f records in a step are too many for the precision that the bound needs; "+
			"use smaller batches, or accounting: steps", n)
	}
	return nil
}

// walk is a descent that pays for its last iterate only. Its iterates are whole multiples
// of the distance by which one lattice step of the noise moves them. So an iterate is a
// function of where the noise put it, and its last digits hold nothing of earlier
// iterates (P16).
type walk struct {
	at     []int64   // the iterate, in steps
	float  []float64 // the same as coefficients
	step   float64   // a lattice step of the noise, divided by the size of a batch, times the step size
	shrink float64   // step size times penalty
	radius float64
}

func (l *layout) newWalk() *walk {
	n := l.encoder.Width + 1
	return &walk{
		at: make([]int64, n), float: make([]float64, n), step: l.walkStep(), shrink: l.iterate.StepSize * l.params.L2, radius: *l.params.Radius,
	}
}

// walkStep is the distance by which one lattice step of a sum moves the iterate.
func (l *layout) walkStep() float64 {
	return l.iterate.StepSize * (l.lattice() / l.divisor())
}

// move takes a noisy sum. The penalty is part of the gradient, and the iterate is
// projected on the ball. Everything but the noise is a function of the iterate, and a
// whole number before the noise is added.
func (w *walk) move(sum []int64) {
	squares := 0.0
	for j, v := range sum {
		penalty := math.RoundToEven(w.shrink * float64(w.at[j]))
		w.at[j] -= v + int64(penalty)
		x := float64(w.at[j]) * w.step
		squares += x * x
	}
	// Truncation towards zero keeps the iterate in the ball.
	if norm := math.Sqrt(squares); norm > w.radius {
		for j, x := range w.at {
			w.at[j] = int64(float64(x) * (w.radius / norm))
		}
	}
	for j, x := range w.at {
		w.float[j] = float64(x) * w.step
	}
}
