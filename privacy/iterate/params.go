package iterate

import (
	"fmt"
	"math"
	"slices"
)

// Kind names one of the five settings for which a bound is known, as in an event. The zero value is invalid.
type Kind string

// The settings of P9.
const (
	// FullStronglyConvex: every step uses all records, losses strongly convex, any number of steps.
	FullStronglyConvex Kind = "full-batch-strongly-convex"
	// FullConvex: every step uses all records, losses convex, iterates confined to a set of known diameter, enough steps.
	FullConvex Kind = "full-batch-convex"
	// CyclicStronglyConvex: batches in a fixed cyclic order, losses strongly convex, any number of epochs.
	CyclicStronglyConvex Kind = "cyclic-strongly-convex"
	// CyclicConvex: batches in a fixed cyclic order, losses convex, iterates confined, enough epochs.
	CyclicConvex Kind = "cyclic-convex"
	// OnePass: batches in a fixed order, each used once, with the same noise in every step or less of it in all but the last.
	OnePass Kind = "one-pass"
)

// Kinds returns the five settings.
func Kinds() []Kind {
	return []Kind{FullStronglyConvex, FullConvex, CyclicStronglyConvex, CyclicConvex, OnePass}
}

func (k Kind) full() bool { return k == FullStronglyConvex || k == FullConvex }

func (k Kind) strong() bool { return k == FullStronglyConvex || k == CyclicStronglyConvex }

// Params describes one run of noisy projected gradient descent, x ← Π(x − η(mean gradient + N(0, σ²))).
type Params struct {
	Kind Kind
	// Sensitivity is L = sup ‖∇f_i − ∇f_i'‖ over the records that may replace each other and the points of the set: twice the
	// Lipschitz constant at most.
	Sensitivity float64
	// Sigma is the standard deviation, in each coordinate, of the noise that is added to the mean gradient.
	Sigma float64
	// Early is the noise of all steps but the last of a one-pass run, as a share of Sigma in (0, 1]; 0 stands for 1.
	Early float64
	// Rounding bounds what rounding adds in one step to the distance of two runs, divided by Eta; 0 for exact steps.
	Rounding float64
	// N is the number of records, public.
	N int64
	// Batch is the largest number of records in a batch, and the divisor of their sum; the last batch of a pass may hold fewer.
	// It is N for the full-batch kinds, where 0 stands for N.
	Batch int64
	// Steps is the number of steps of a full-batch run; Epochs the number of passes of a cyclic run, at most 1 for one pass.
	Steps, Epochs int64
	// Eta is the step size η, at most 2/Smoothness.
	Eta float64
	// StrongConvexity is m, Smoothness is M: the losses satisfy m·I <= ∇²f <= M·I. StrongConvexity is used by the strongly convex kinds,
	// and by one pass where it is positive.
	StrongConvexity, Smoothness float64
	// Diameter is that of the set on which iterates are projected; used by the convex kinds.
	Diameter float64
	_        struct{}
}

// Refusal names a condition of the theorem that does not hold.
type Refusal struct {
	// Field is the parameter at fault, named as in [Params].
	Field string
	// Condition is the condition of the theorem.
	Condition string
}

// Error implements error.
func (r *Refusal) Error() string { return "iterate: " + r.Field + ": " + r.Condition }

func refuse(field, format string, args ...any) error {
	return &Refusal{Field: field, Condition: fmt.Sprintf(format, args...)}
}

// positive refuses numbers that are not finite and above zero.
func positive(field string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return refuse(field, "must be finite and positive (got %g)", x)
	}
	return nil
}

// normal checks everything but the number of steps and returns the parameters with Batch filled in.
func (p Params) normal() (Params, error) {
	if !slices.Contains(Kinds(), p.Kind) {
		return p, refuse("Kind", "must be one of the five settings (got %q)", p.Kind)
	}
	for _, x := range []struct {
		field string
		value float64
	}{{"Sensitivity", p.Sensitivity}, {"Sigma", p.Sigma}, {"Eta", p.Eta}, {"Smoothness", p.Smoothness}} {
		if err := positive(x.field, x.value); err != nil {
			return p, err
		}
	}
	if p.N < 1 {
		return p, refuse("N", "must be at least 1 (got %d)", p.N)
	}
	if err := p.checkBatch(); err != nil {
		return p, err
	}
	if !(p.Rounding >= 0) || math.IsInf(p.Rounding, 1) {
		return p, refuse("Rounding", "must be finite and not negative (got %g)", p.Rounding)
	}
	if p.Kind.full() {
		// Every step uses the record, so rounding only makes its part larger.
		p.Batch = p.N
		p.Sensitivity += p.Rounding * float64(p.N) * (1 + margin)
		p.Rounding = 0
	}
	if err := p.checkEarly(); err != nil {
		return p, err
	}
	if p.Early == 0 {
		p.Early = 1
	}
	if p.Eta*p.Smoothness > 2 {
		return p, refuse("Eta", "must be at most 2/Smoothness = %g for a step not to expand distances (got %g)", 2/p.Smoothness, p.Eta)
	}
	if p.Kind.strong() {
		return p, p.checkStrong()
	}
	if p.Kind == OnePass {
		return p, p.checkModulus()
	}
	return p, positive("Diameter", p.Diameter)
}

func (p Params) checkEarly() error {
	switch {
	case p.Early == 0 || p.Kind == OnePass && p.Early > 0 && p.Early <= 1:
		return nil
	case p.Kind == OnePass:
		return refuse("Early", "must be above 0 and at most 1 (got %g)", p.Early)
	}
	return refuse("Early", "less noise in early steps has a bound for one pass only (got %g)", p.Early)
}

func (p Params) checkModulus() error {
	if !(p.StrongConvexity >= 0 && p.StrongConvexity <= p.Smoothness) {
		return refuse("StrongConvexity", "must be between 0 and Smoothness = %g (got %g)", p.Smoothness, p.StrongConvexity)
	}
	return nil
}

func (p Params) checkBatch() error {
	if p.Kind.full() {
		switch {
		case p.Batch != 0 && p.Batch != p.N:
			return refuse("Batch", "a full-batch run uses all %d records in every step (got %d)", p.N, p.Batch)
		case p.Steps < 1:
			return refuse("Steps", "must be at least 1 (got %d)", p.Steps)
		}
		return nil
	}
	switch {
	case p.Batch < 1 || p.Batch > p.N:
		return refuse("Batch", "must be between 1 and N = %d (got %d)", p.N, p.Batch)
	case p.Kind == OnePass && (p.Epochs < 0 || p.Epochs > 1):
		return refuse("Epochs", "one pass is one epoch (got %d)", p.Epochs)
	case p.Kind != OnePass && p.Epochs < 1:
		return refuse("Epochs", "must be at least 1 (got %d)", p.Epochs)
	}
	return nil
}

func (p Params) checkStrong() error {
	if err := positive("StrongConvexity", p.StrongConvexity); err != nil {
		return err
	}
	if p.StrongConvexity > p.Smoothness {
		return refuse("StrongConvexity", "must be at most Smoothness = %g (got %g)", p.Smoothness, p.StrongConvexity)
	}
	if p.Eta*p.Smoothness >= 2 {
		return refuse("Eta", "must be below 2/Smoothness = %g for a step to contract (got %g)", 2/p.Smoothness, p.Eta)
	}
	return nil
}

// batches returns how many steps a pass has, ⌈N/Batch⌉.
func (p Params) batches() int64 { return (p.N-1)/p.Batch + 1 }

// defect is 1 − c, c = max{|1 − ηm|, |1 − ηM|} the contraction factor of a step, rounded down and without cancellation for c close
// to 1: an ηm above 1 leaves the second term the smaller.
func (p Params) defect() float64 {
	return math.Min(p.Eta*p.StrongConvexity, math.FMA(-p.Eta, p.Smoothness, 2)) * (1 - 4e-16)
}
