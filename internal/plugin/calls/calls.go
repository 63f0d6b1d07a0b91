package calls

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/privacy"
)

// The largest events that a host carries out.
const (
	maxCalls = 1 << 32 // noise calls of one release
	maxDepth = 32      // levels of nesting
)

// ErrDiffers says that a noise call is not the one that the plan has next.
var ErrDiffers = errors.New("noise call differs from the plan")

// Walk goes through a plan's event and compares the canonical bytes of every noise call
// with those of the next leaf. Leaves come from left to right, with every repeat unrolled. A sampling node
// comes first as the call that draws it, then as the calls of its inner event. A last
// iterate comes as its steps; where a step does not use all records, the call for its
// batch comes before its noise. After one call that differs, Walk refuses every
// further call. A Walk is not safe for concurrent use.
type Walk struct {
	stack  []frame
	failed bool
	step   int64 // of the last iterate that the last call belongs to
}

type frame struct {
	event privacy.Event
	at    int64 // children or repeats begun; for a leaf or a draw, calls made
}

// New returns a walk that stands before the first call of e. It fails if e holds an
// event that a host cannot cause.
func New(e privacy.Event) (*Walk, error) {
	if _, err := countCalls(e, 0); err != nil {
		return nil, err
	}
	w := &Walk{}
	w.push(e)
	return w, nil
}

// Next takes one noise call. Shuffled is the number of users where the leaf
// stands below a shuffler, else 0.
func (w *Walk) Next(e privacy.Event) (shuffled int64, err error) {
	want, f := w.next()
	if w.failed || want == nil || !privacy.Equal(want, e) {
		w.failed = true
		return 0, ErrDiffers
	}
	if l, ok := f.event.(privacy.LastIterate); ok {
		w.step, _ = stepOf(l, f.at)
	}
	f.at++
	if n := len(w.stack); n > 1 {
		if s, ok := w.stack[n-2].event.(privacy.Shuffled); ok {
			return s.N, nil
		}
	}
	return 0, nil
}

// Step is the step of its own last iterate, from 0, that the last call belongs to: a
// plan may hold several, and the batches of one say nothing of those of the next (P9).
func (w *Walk) Step() int64 { return w.step }

// Done returns an error unless exactly the planned calls were made.
func (w *Walk) Done() error {
	if want, _ := w.next(); want != nil || w.failed {
		return ErrDiffers
	}
	return nil
}

func (w *Walk) push(e privacy.Event) { w.stack = append(w.stack, frame{event: e}) }

// next moves to the next call and returns its event and frame, or nil at the end.
func (w *Walk) next() (privacy.Event, *frame) {
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		call, inner := f.next()
		switch {
		case call != nil:
			return call, f
		case inner != nil:
			f.at++
			w.push(inner)
		default:
			w.stack = w.stack[:len(w.stack)-1]
		}
	}
	return nil, nil
}

// next returns the next call of an event, or else the next event inside it, and nil for both at its end.
func (f *frame) next() (call, inner privacy.Event) {
	switch e := f.event.(type) {
	case privacy.Compose:
		if f.at < int64(len(e.Events)) {
			return nil, e.Events[f.at]
		}
	case privacy.Repeat:
		if f.at < e.N {
			return nil, e.Event
		}
	case privacy.Shuffled:
		if f.at == 0 {
			return nil, e.Event
		}
	case privacy.Sampling:
		switch f.at {
		case 0:
			return e, nil
		case 1:
			return nil, e.Inner()
		}
	case privacy.LastIterate:
		if k, batch := stepOf(e, f.at); k < e.Calls() {
			if batch {
				return e, nil
			}
			return e.StepAt(k), nil
		}
	default:
		if f.at < draws(e) {
			return e, nil
		}
	}
	return nil, nil
}

// draws returns the number of calls that a leaf stands for.
func draws(leaf privacy.Event) int64 {
	if e, ok := leaf.(privacy.BoundedRange); ok {
		return max(1, e.Parts)
	}
	return 1
}

// countCalls is the number of calls of an event, or an error for an event that a
// host cannot cause.
func countCalls(e privacy.Event, depth int) (int64, error) {
	if depth >= maxDepth {
		return 0, fmt.Errorf("event is nested more than %d deep", maxDepth)
	}
	depth++
	switch e := e.(type) {
	case nil:
		return 0, errors.New("event is missing")
	case privacy.DiscreteLaplace:
		return 1, drawable("discrete_laplace.scale", e.Scale)
	case privacy.DiscreteGaussian:
		return 1, drawable("discrete_gaussian.sigma", e.Sigma)
	case privacy.Approx:
		return 1, positive("approx.eps", e.Eps)
	case privacy.BoundedRange:
		if e.Parts < 0 || e.Parts > maxCalls {
			return 0, fmt.Errorf("bounded_range.parts must lie between 1 and %d", int64(maxCalls))
		}
		return draws(e), positive("bounded_range.eps", e.Eps)
	case privacy.Selection:
		return 1, positive(privacy.Name(e)+".eps", e.Epsilon())
	case privacy.RandomizedResponse:
		if e.K < 2 {
			return 0, fmt.Errorf("randomized_response.k must be at least 2")
		}
		return 1, positive("randomized_response.eps0", e.Eps0)
	case privacy.Compose:
		var sum int64
		for _, child := range e.Events {
			n, err := countCalls(child, depth)
			if err != nil {
				return 0, err
			}
			if sum += n; sum > maxCalls {
				return 0, fmt.Errorf("event has more than %d noise calls", int64(maxCalls))
			}
		}
		return sum, nil
	case privacy.Repeat:
		n, err := countCalls(e.Event, depth)
		switch {
		case err != nil:
			return 0, err
		case e.N < 1 || n == 0:
			return 0, fmt.Errorf("repeat must run something at least once")
		case e.N > maxCalls/n:
			return 0, fmt.Errorf("event has more than %d noise calls", int64(maxCalls))
		}
		return e.N * n, nil
	case privacy.Shuffled:
		if _, ok := e.Event.(privacy.RandomizedResponse); !ok || e.N < 1 {
			return 0, fmt.Errorf("shuffled must hold a randomized_response of at least one user")
		}
		return countCalls(e.Event, depth)
	case privacy.LastIterate:
		return countSteps(e)
	case privacy.Sampling:
		n, err := countCalls(e.Inner(), depth)
		if err == nil && n == 0 {
			err = fmt.Errorf("%s must hold a noise call", privacy.Name(e))
		}
		return n + 1, err
	}
	return 0, fmt.Errorf("%s is no event that the host can cause", privacy.Name(e))
}

// stepOf is the step that call at belongs to, and whether it asks for its batch.
func stepOf(e privacy.LastIterate, at int64) (step int64, batch bool) {
	if e.Full() {
		return at, false
	}
	return at / 2, at%2 == 0
}

// leastEarly is the smallest share of the noise that steps may have: the closeness of
// discrete and continuous noise needs noise of many lattice steps.
const leastEarly = 0x1p-20

// countSteps is the number of calls of a last iterate.
func countSteps(e privacy.LastIterate) (int64, error) {
	onePass := e.Variant == "one-pass"
	cyclic := e.Variant == "cyclic-strongly-convex" || e.Variant == "cyclic-convex"
	switch {
	case onePass || cyclic:
		if e.N < 1 || e.Batch < 1 || e.Batch > e.N || e.Steps != 0 || onePass != (e.Epochs == 0) || e.Epochs < 0 ||
			e.Batches() > maxCalls/2/max(e.Epochs, 1) {
			return 0, fmt.Errorf("last_iterate must have batches of records, epochs unless it is one pass, and at most %d steps", int64(maxCalls)/2)
		}
		if e.Early != 0 && !(onePass && e.Early >= leastEarly && e.Early <= 1) {
			return 0, fmt.Errorf("last_iterate can have less noise in early steps only in one pass, and at least 2^-20 of it")
		}
		if !(e.Rounding > 0) {
			return 0, fmt.Errorf("last_iterate must say what rounding adds: steps that a host draws are not exact")
		}
	case e.Variant != "full-batch-strongly-convex" && e.Variant != "full-batch-convex":
		return 0, fmt.Errorf("last_iterate has no variant %q", e.Variant)
	case e.N < 1 || e.Batch != 0 && e.Batch != e.N || e.Epochs != 0 || e.Steps < 1 || e.Steps > maxCalls || e.Early != 0:
		return 0, fmt.Errorf("last_iterate must have records, and between 1 and %d steps", int64(maxCalls))
	}
	step := e.Step()
	if s := step.Sensitivity.ReplaceOne; !(s > 0) || math.IsInf(s, 1) {
		return 0, fmt.Errorf("last_iterate must have a positive sigma and sensitivity")
	}
	if !e.Full() {
		return 2 * e.Calls(), nil
	}
	return e.Steps, nil
}

// MinScale and MaxScale are the least and the greatest noise that a host draws, in
// lattice steps: less would be zero for ever, more would leave int64.
const (
	MinScale = 0x1p-40
	MaxScale = 0x1p50
)

// drawable refuses noise that would fail after the budget was spent.
func drawable(what string, x float64) error {
	if !(x >= MinScale && x <= MaxScale) {
		return fmt.Errorf("%s must lie between 2^-40 and 2^50 lattice steps: choose another lattice, or a guarantee that is less extreme", what)
	}
	return nil
}

func positive(what string, x float64) error {
	if !(x > 0) {
		return fmt.Errorf("%s must be positive", what)
	}
	return nil
}
