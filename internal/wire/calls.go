package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/dprelease/dprelease/privacy"
)

// MaxCalls bounds the noise calls of one release.
const MaxCalls = 1 << 32

// ErrCall says that a noise call is not the one that the plan has next.
var ErrCall = errors.New("noise call differs from the plan")

// Calls walks through a plan's event and compares every noise call with the next
// leaf: from left to right, repeats unrolled, a sampling node first as the call
// that draws it. A last iterate is its steps; where they do not use all records, each
// step is the call for its batch, and then its noise. After one call that differs, every further call is refused.
// Calls is not safe for concurrent use.
type Calls struct {
	stack  []frame
	failed bool
	step   int64         // of the last iterate that the last call belongs to
	top    privacy.Event // what the finished root amounted to
}

type frame struct {
	event privacy.Event
	at    int64           // children or repeats begun; for a leaf or a draw, calls made
	did   []privacy.Event // what the children amounted to
}

// NewCalls checks that every leaf of e is an event that a host can cause, and
// returns a walk that stands before the first.
func NewCalls(e privacy.Event) (*Calls, error) {
	if _, err := countCalls(e, 0); err != nil {
		return nil, err
	}
	c := &Calls{}
	c.push(e)
	return c, nil
}

// Next takes one noise call. Shuffled is the number of users where the leaf
// stands below a shuffler, else 0.
func (c *Calls) Next(e privacy.Event) (shuffled int64, err error) {
	want, f := c.next()
	if c.failed || want == nil || !reflect.DeepEqual(want, e) {
		c.failed = true
		return 0, ErrCall
	}
	if l, ok := f.event.(privacy.LastIterate); ok {
		c.step, _ = stepOf(l, f.at)
	}
	f.at++
	if n := len(c.stack); n > 1 {
		if s, ok := c.stack[n-2].event.(privacy.Shuffled); ok {
			return s.N, nil
		}
	}
	return 0, nil
}

// Step is the step of its own last iterate, from 0, that the last call belongs to: a
// plan may hold several, and the batches of one say nothing of those of the next (P9).
func (c *Calls) Step() int64 { return c.step }

// Done returns an error unless exactly the planned calls were made.
func (c *Calls) Done() error {
	if want, _ := c.next(); want != nil || c.failed {
		return ErrCall
	}
	return nil
}

// Happened is what the calls so far amount to, or nil for none. After Done it
// equals the plan's event.
func (c *Calls) Happened() privacy.Event {
	c.next()
	out := c.top
	for i := len(c.stack) - 1; i >= 0; i-- {
		f := c.stack[i]
		did := f.did
		if out != nil {
			did = append(did[:len(did):len(did)], out)
		}
		out = partial(f, did)
	}
	return out
}

func (c *Calls) push(e privacy.Event) { c.stack = append(c.stack, frame{event: e}) }

// pop closes the innermost frame and hands what it amounted to to its parent.
func (c *Calls) pop() {
	n := len(c.stack) - 1
	did := whole(c.stack[n])
	c.stack = c.stack[:n]
	if n == 0 {
		c.top = did
		return
	}
	parent := &c.stack[n-1]
	if r, ok := parent.event.(privacy.Repeat); ok {
		// Equal runs are counted, so that a million steps take no memory.
		if k := len(parent.did); k > 0 && reflect.DeepEqual(parent.did[k-1].(privacy.Repeat).Event, did) {
			last := parent.did[k-1].(privacy.Repeat)
			last.N++
			parent.did[k-1] = last
			return
		}
		r.N, r.Event = 1, did
		did = r
	}
	parent.did = append(parent.did, did)
}

// next moves to the next call and returns its event and frame, or nil at the end.
func (c *Calls) next() (privacy.Event, *frame) {
	for len(c.stack) > 0 {
		f := &c.stack[len(c.stack)-1]
		switch e := f.event.(type) {
		case privacy.Compose:
			if f.at == int64(len(e.Events)) {
				c.pop()
				continue
			}
			f.at++
			c.push(e.Events[f.at-1])
		case privacy.Repeat:
			if f.at == e.N {
				c.pop()
				continue
			}
			f.at++
			c.push(e.Event)
		case privacy.Shuffled:
			if f.at == 1 {
				c.pop()
				continue
			}
			f.at++
			c.push(e.Event)
		case privacy.Sampling:
			switch f.at {
			case 0:
				return e, f
			case 1:
				f.at++
				c.push(e.Inner())
			default:
				c.pop()
			}
		case privacy.LastIterate:
			if k, batch := stepOf(e, f.at); k < e.Calls() {
				if batch {
					return e, f
				}
				return e.StepAt(k), f
			}
			c.pop()
		default:
			if f.at == 0 {
				return e, f
			}
			c.pop()
		}
	}
	return nil, nil
}

// whole is what a finished frame amounted to.
func whole(f frame) privacy.Event {
	switch e := f.event.(type) {
	case privacy.Compose:
		return privacy.Compose{Events: f.did}
	case privacy.Repeat:
		if len(f.did) == 1 {
			return f.did[0]
		}
		return privacy.Compose{Events: f.did}
	case privacy.Shuffled:
		e.Event = f.did[0]
		return e
	case privacy.Sampling:
		return e.With(f.did[0])
	default:
		return e
	}
}

// partial is what an unfinished frame amounted to, or nil for nothing.
func partial(f frame, did []privacy.Event) privacy.Event {
	switch e := f.event.(type) {
	case privacy.Compose, privacy.Repeat:
		if len(did) == 0 {
			return nil
		}
		return privacy.Compose{Events: did}
	case privacy.Shuffled:
		if len(did) == 0 {
			return nil
		}
		e.Event = did[0]
		return e
	case privacy.Sampling:
		if len(did) == 0 {
			return nil // a draw from which nothing was released
		}
		return e.With(did[0])
	case privacy.LastIterate:
		// Steps were taken and no last iterate came of them.
		k, _ := stepOf(e, f.at)
		return e.Began(k)
	}
	if f.at == 0 {
		return nil
	}
	return f.event
}

// countCalls is the number of calls of an event, or an error for an event that a
// host cannot cause.
func countCalls(e privacy.Event, depth int) (int64, error) {
	if depth >= MaxDepth {
		return 0, errEventDeep
	}
	depth++
	switch e := e.(type) {
	case nil:
		return 0, errEventMissing
	case privacy.DiscreteLaplace:
		return 1, drawable("discrete_laplace.scale", e.Scale)
	case privacy.DiscreteGaussian:
		return 1, drawable("discrete_gaussian.sigma", e.Sigma)
	case privacy.Approx:
		return 1, positive("approx.eps", e.Eps)
	case privacy.Pure:
		return 1, positive("pure.eps", e.Eps)
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
			if sum += n; sum > MaxCalls {
				return 0, fmt.Errorf("event has more than %d noise calls", int64(MaxCalls))
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
		case e.N > MaxCalls/n:
			return 0, fmt.Errorf("event has more than %d noise calls", int64(MaxCalls))
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
			err = fmt.Errorf("%s must hold a noise call", e.Kind())
		}
		return n + 1, err
	}
	return 0, fmt.Errorf("%s is no event that the host can cause", e.Kind())
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
			e.Batches() > MaxCalls/2/max(e.Epochs, 1) {
			return 0, fmt.Errorf("last_iterate must have batches of records, epochs unless it is one pass, and at most %d steps", int64(MaxCalls)/2)
		}
		if e.Early != 0 && !(onePass && e.Early >= leastEarly && e.Early <= 1) {
			return 0, fmt.Errorf("last_iterate can have less noise in early steps only in one pass, and at least 2^-20 of it")
		}
		if !(e.Rounding > 0) {
			return 0, fmt.Errorf("last_iterate must say what rounding adds: steps that a host draws are not exact")
		}
	case e.Variant != "full-batch-strongly-convex" && e.Variant != "full-batch-convex":
		return 0, fmt.Errorf("last_iterate has no variant %q", e.Variant)
	case e.N < 1 || e.Batch != 0 && e.Batch != e.N || e.Epochs != 0 || e.Steps < 1 || e.Steps > MaxCalls || e.Early != 0:
		return 0, fmt.Errorf("last_iterate must have records, and between 1 and %d steps", int64(MaxCalls))
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
