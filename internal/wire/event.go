package wire

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/privacy"
)

var (
	errEventMissing = errors.New("event is missing")
	errEventLarge   = fmt.Errorf("event has more than %d nodes", MaxNodes)
	errEventDeep    = fmt.Errorf("event is nested more than %d deep", MaxDepth)
)

// FromEvent returns the message for an event tree.
func FromEvent(e privacy.Event) (*Event, error) {
	c := codec{nodes: MaxNodes}
	out := c.from(e, 0)
	if c.err != nil {
		return nil, c.err
	}
	return out, nil
}

// ToEvent returns the event tree of a message. The result is well formed (finite
// numbers, no missing inner event), which does not mean that it makes sense.
func ToEvent(e *Event) (privacy.Event, error) {
	if e == nil {
		return nil, errEventMissing
	}
	if err := Known(e); err != nil {
		return nil, err
	}
	c := codec{nodes: MaxNodes}
	out := c.to(e, 0)
	if c.err != nil {
		return nil, c.err
	}
	return out, nil
}

// codec carries the first error and the nodes that are left.
type codec struct {
	nodes int
	err   error
}

func (c *codec) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// enter counts a node and reports whether to go on.
func (c *codec) enter(depth int) bool {
	if c.nodes--; c.nodes < 0 {
		c.fail(errEventLarge)
	}
	if depth >= MaxDepth {
		c.fail(errEventDeep)
	}
	return c.err == nil
}

func (c *codec) finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		c.fail(errors.New("event holds a number that is not finite"))
	}
	return x
}

func (c *codec) fromSens(s privacy.Sensitivity) *Sensitivity {
	if s == (privacy.Sensitivity{}) {
		return nil
	}
	return &Sensitivity{AddRemove: c.finite(s.AddRemove), ReplaceOne: c.finite(s.ReplaceOne)}
}

func (c *codec) toSens(s *Sensitivity) privacy.Sensitivity {
	return privacy.Sensitivity{AddRemove: c.finite(s.GetAddRemove()), ReplaceOne: c.finite(s.GetReplaceOne())}
}

func (c *codec) from(e privacy.Event, depth int) *Event {
	if !c.enter(depth) {
		return nil
	}
	depth++
	f := c.finite
	switch e := e.(type) {
	case nil:
		c.fail(errEventMissing)
	case privacy.Gaussian:
		return &Event{Kind: &Event_Gaussian{&Gaussian{Sigma: f(e.Sigma), Sensitivity: c.fromSens(e.Sensitivity)}}}
	case privacy.Laplace:
		return &Event{Kind: &Event_Laplace{&Laplace{Scale: f(e.Scale), Sensitivity: c.fromSens(e.Sensitivity)}}}
	case privacy.DiscreteGaussian:
		return &Event{Kind: &Event_DiscreteGaussian{&DiscreteGaussian{
			Sigma: f(e.Sigma), Sensitivity: c.fromSens(e.Sensitivity), Coordinates: e.Coordinates}}}
	case privacy.DiscreteLaplace:
		return &Event{Kind: &Event_DiscreteLaplace{&DiscreteLaplace{Scale: f(e.Scale), Sensitivity: c.fromSens(e.Sensitivity)}}}
	case privacy.Pure:
		return &Event{Kind: &Event_Pure{&Pure{Eps: f(e.Eps)}}}
	case privacy.Approx:
		return &Event{Kind: &Event_Approx{&Approx{Eps: f(e.Eps), Delta: f(e.Delta)}}}
	case privacy.ZCDP:
		return &Event{Kind: &Event_Zcdp{&ZCDP{Rho: f(e.Rho)}}}
	case privacy.RandomizedResponse:
		return &Event{Kind: &Event_RandomizedResponse{&RandomizedResponse{K: int64(e.K), Eps0: f(e.Eps0)}}}
	case privacy.Compose:
		out := &Compose{}
		for _, child := range e.Events {
			out.Events = append(out.Events, c.from(child, depth))
			if c.err != nil {
				return nil
			}
		}
		return &Event{Kind: &Event_Compose{out}}
	case privacy.Repeat:
		return &Event{Kind: &Event_Repeat{&Repeat{N: e.N, Event: c.from(e.Event, depth)}}}
	case privacy.Poisson:
		return &Event{Kind: &Event_Poisson{&Poisson{Rate: f(e.Rate), Event: c.from(e.Event, depth)}}}
	case privacy.WithoutReplacement:
		return &Event{Kind: &Event_WithoutReplacement{&WithoutReplacement{Take: e.Take, Of: e.Of, Event: c.from(e.Event, depth)}}}
	case privacy.WithReplacement:
		return &Event{Kind: &Event_WithReplacement{&WithReplacement{Take: e.Take, Of: e.Of, Event: c.from(e.Event, depth)}}}
	case privacy.Multistage:
		out := &Multistage{Event: c.from(e.Event, depth)}
		for _, s := range e.Stages {
			out.Stages = append(out.Stages, &Stage{Take: s.Take, Of: s.Of, MaxTake: s.MaxTake})
		}
		return &Event{Kind: &Event_Multistage{out}}
	case privacy.Shuffled:
		return &Event{Kind: &Event_Shuffled{&Shuffled{N: e.N, Event: c.from(e.Event, depth)}}}
	case privacy.LastIterate:
		return &Event{Kind: &Event_LastIterate{&LastIterate{
			Variant: e.Variant, Sigma: f(e.Sigma), Sensitivity: f(e.Sensitivity), N: e.N, Batch: e.Batch,
			Steps: e.Steps, Epochs: e.Epochs, StepSize: f(e.StepSize), Smooth: f(e.Smooth),
			StrongConvexity: f(e.StrongConvexity), Diameter: f(e.Diameter), Early: f(e.Early), Rounding: f(e.Rounding)}}}
	default:
		c.fail(fmt.Errorf("event %q has no form in version 1 of the protocol", e.Kind()))
	}
	return nil
}

func (c *codec) to(e *Event, depth int) privacy.Event {
	if !c.enter(depth) {
		return nil
	}
	depth++
	f := c.finite
	switch k := e.GetKind().(type) {
	case *Event_Gaussian:
		return privacy.Gaussian{Sigma: f(k.Gaussian.GetSigma()), Sensitivity: c.toSens(k.Gaussian.GetSensitivity())}
	case *Event_Laplace:
		return privacy.Laplace{Scale: f(k.Laplace.GetScale()), Sensitivity: c.toSens(k.Laplace.GetSensitivity())}
	case *Event_DiscreteGaussian:
		g := k.DiscreteGaussian
		return privacy.DiscreteGaussian{Sigma: f(g.GetSigma()), Sensitivity: c.toSens(g.GetSensitivity()), Coordinates: g.GetCoordinates()}
	case *Event_DiscreteLaplace:
		return privacy.DiscreteLaplace{Scale: f(k.DiscreteLaplace.GetScale()), Sensitivity: c.toSens(k.DiscreteLaplace.GetSensitivity())}
	case *Event_Pure:
		return privacy.Pure{Eps: f(k.Pure.GetEps())}
	case *Event_Approx:
		return privacy.Approx{Eps: f(k.Approx.GetEps()), Delta: f(k.Approx.GetDelta())}
	case *Event_Zcdp:
		return privacy.ZCDP{Rho: f(k.Zcdp.GetRho())}
	case *Event_RandomizedResponse:
		n := k.RandomizedResponse.GetK()
		if n < 0 || n > math.MaxInt32 {
			c.fail(errors.New("randomized response over an impossible number of categories"))
		}
		return privacy.RandomizedResponse{K: int(n), Eps0: f(k.RandomizedResponse.GetEps0())}
	case *Event_Compose:
		var events []privacy.Event
		for _, child := range k.Compose.GetEvents() {
			events = append(events, c.to(child, depth))
			if c.err != nil {
				return nil
			}
		}
		return privacy.Compose{Events: events}
	case *Event_Repeat:
		return privacy.Repeat{N: k.Repeat.GetN(), Event: c.to(k.Repeat.GetEvent(), depth)}
	case *Event_Poisson:
		return privacy.Poisson{Rate: f(k.Poisson.GetRate()), Event: c.to(k.Poisson.GetEvent(), depth)}
	case *Event_WithoutReplacement:
		w := k.WithoutReplacement
		return privacy.WithoutReplacement{Take: w.GetTake(), Of: w.GetOf(), Event: c.to(w.GetEvent(), depth)}
	case *Event_WithReplacement:
		w := k.WithReplacement
		return privacy.WithReplacement{Take: w.GetTake(), Of: w.GetOf(), Event: c.to(w.GetEvent(), depth)}
	case *Event_Multistage:
		var stages []privacy.Stage
		for _, s := range k.Multistage.GetStages() {
			stages = append(stages, privacy.Stage{Take: s.GetTake(), Of: s.GetOf(), MaxTake: s.GetMaxTake()})
		}
		return privacy.Multistage{Stages: stages, Event: c.to(k.Multistage.GetEvent(), depth)}
	case *Event_Shuffled:
		return privacy.Shuffled{N: k.Shuffled.GetN(), Event: c.to(k.Shuffled.GetEvent(), depth)}
	case *Event_LastIterate:
		l := k.LastIterate
		return privacy.LastIterate{
			Variant: l.GetVariant(), Sigma: f(l.GetSigma()), Sensitivity: f(l.GetSensitivity()), N: l.GetN(), Batch: l.GetBatch(),
			Steps: l.GetSteps(), Epochs: l.GetEpochs(), StepSize: f(l.GetStepSize()), Smooth: f(l.GetSmooth()),
			StrongConvexity: f(l.GetStrongConvexity()), Diameter: f(l.GetDiameter()), Early: f(l.GetEarly()), Rounding: f(l.GetRounding())}
	}
	c.fail(errEventMissing)
	return nil
}
