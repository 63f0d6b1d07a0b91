package privacy

import (
	"fmt"
	"math"
)

const (
	// leastRate is the smallest number that has all its digits: below it math.Log is
	// off by up to 36, on amd64.
	leastRate = 0x1p-1022

	maxDepth  = 100         // events inside events
	maxEvents = 1_000_000   // events in one expression
	maxRepeat = 1e12        // runs in one repeat
	maxRuns   = int64(1e15) // runs of one event, all repeats around it multiplied
)

// Error says which part of an expression is wrong, and what to do.
type Error struct {
	Path    string // "compose[1].poisson.rate"
	Message string
}

// Error is the path and the message.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Validate checks an expression: every parameter in range, nothing missing,
// nested no deeper than a hundred events. The error is an [*Error] that names the
// sub-expression.
func Validate(e Event) error {
	v := validator{}
	return v.event(e, "", 1, 1)
}

type validator struct{ events int }

// join extends a location by a field or a kind.
func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func wrong(path, format string, args ...any) error {
	return &Error{Path: path, Message: fmt.Sprintf(format, args...)}
}

func (v *validator) event(e Event, at string, depth int, runs int64) error {
	if e == nil {
		return wrong(at, "event is missing")
	}
	if depth > maxDepth {
		return wrong(shorten(at), "nested more than %d events deep", maxDepth)
	}
	if v.events++; v.events > maxEvents {
		return wrong(shorten(at), "more than %d events in one expression", maxEvents)
	}
	here := join(at, e.Kind())
	switch e := e.(type) {
	case Compose:
		if len(e.Events) == 0 {
			return wrong(here, "must hold at least one event")
		}
		for i, p := range e.Events {
			if err := v.event(p, fmt.Sprintf("%s[%d]", here, i), depth+1, runs); err != nil {
				return err
			}
		}
		return nil
	case Repeat:
		if e.N < 1 || e.N > maxRepeat {
			return wrong(here+".n", "must lie between 1 and %g (%d)", float64(maxRepeat), e.N)
		}
		if runs > maxRuns/e.N {
			return wrong(here+".n", "repeats multiply to more than %g runs", float64(maxRuns))
		}
		return v.event(e.Event, here+".event", depth+1, runs*e.N)
	case Sampling:
		if err := draw(e, here); err != nil {
			return err
		}
		return v.event(e.Inner(), here+".event", depth+1, 1)
	case Shuffled:
		if e.N < 1 {
			return wrong(here+".n", "must be at least 1 (%d)", e.N)
		}
		return v.event(e.Event, here+".event", depth+1, 1)
	}
	return leaf(e, here)
}

// shorten keeps the path of a very deep expression readable.
func shorten(at string) string {
	if len(at) > 80 {
		return at[:40] + "…"
	}
	return at
}

// draw checks the parameters of a sampling event, not what is run on it.
func draw(s Sampling, here string) error {
	switch s := s.(type) {
	case Poisson:
		if !(s.Rate > 0 && s.Rate <= 1) {
			return wrong(here+".rate", "must lie in (0, 1] (%g)", s.Rate)
		}
		if s.Rate < leastRate {
			return wrong(here+".rate", "is too small to calculate with (%g): a larger one charges more", s.Rate)
		}
	case WithoutReplacement:
		if err := counts(s.Take, s.Of, here); err != nil {
			return err
		}
		if s.Take > s.Of {
			return wrong(here+".n", "must be at most N (%d > %d)", s.Take, s.Of)
		}
	case WithReplacement:
		return counts(s.Take, s.Of, here)
	case Multistage:
		if err := design(s).Validate(); err != nil {
			return wrong(here, "%v", err)
		}
	default:
		return wrong(here, "unknown sampling event %T: use the types of this package, by value", s)
	}
	return nil
}

func counts(take, of int64, here string) error {
	if take < 1 {
		return wrong(here+".n", "must be at least 1 (%d)", take)
	}
	if of < 1 {
		return wrong(here+".N", "must be at least 1 (%d)", of)
	}
	return nil
}

// leaf checks an event that holds no other.
func leaf(e Event, here string) error {
	switch e := e.(type) {
	case Gaussian:
		return noise(here, "sigma", e.Sigma, e.Sensitivity, false)
	case Laplace:
		return noise(here, "scale", e.Scale, e.Sensitivity, false)
	case DiscreteGaussian:
		if e.Coordinates < 0 {
			return wrong(here+".coordinates", "must be at least 1 (%d)", e.Coordinates)
		}
		return noise(here, "sigma", e.Sigma, e.Sensitivity, false)
	case DiscreteLaplace:
		return noise(here, "scale", e.Scale, e.Sensitivity, true)
	case Pure:
		return amount(here+".eps", e.Eps)
	case Approx:
		if !(e.Delta >= 0 && e.Delta < 1) {
			return wrong(here+".delta", "must lie in [0, 1) (%g)", e.Delta)
		}
		return amount(here+".eps", e.Eps)
	case ZCDP:
		return amount(here+".rho", e.Rho)
	case RandomizedResponse:
		if e.K < 2 {
			return wrong(here+".k", "must be at least 2 (%d)", e.K)
		}
		return amount(here+".eps0", e.Eps0)
	case LastIterate:
		return iteration(e, here)
	}
	return wrong(here, "unknown event %T: use the types of this package, by value", e)
}

// amount checks a privacy parameter.
func amount(path string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 1) {
		return wrong(path, "must be finite and not negative (%g)", x)
	}
	return nil
}

// noise checks a noise event.
func noise(here, field string, scale float64, s Sensitivity, whole bool) error {
	if !(scale > 0) || math.IsInf(scale, 1) {
		return wrong(here+"."+field, "must be positive and finite (%g)", scale)
	}
	for name, x := range map[string]float64{"add-remove": s.AddRemove, "replace-one": s.ReplaceOne} {
		path := here + ".sensitivity." + name
		if !(x >= 0) || math.IsInf(x, 1) {
			return wrong(path, "must be positive and finite (%g)", x)
		}
		if whole && (x != math.Floor(x) || x > 1<<52) {
			return wrong(path, "must be a whole number of lattice steps below 2^52 (%g)", x)
		}
	}
	if s.AddRemove > 0 && s.ReplaceOne > 2*s.AddRemove {
		return wrong(here+".sensitivity.replace-one", "cannot exceed twice the add-remove sensitivity: a replacement is a removal and an addition (%g > 2·%g)", s.ReplaceOne, s.AddRemove)
	}
	return nil
}
