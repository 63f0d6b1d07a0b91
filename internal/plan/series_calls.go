package plan

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/privacy"
)

var (
	errNotGaussian = errors.New("a series in rho needs Gaussian noise: say params: {noise: gaussian}")
	errNotLaplace  = errors.New("a series in epsilon needs Laplace noise: leave noise out of params")
)

// callsOf lists the noise calls of a linear mechanism, which are all Laplace noise in a series in ε and all Gaussian noise in one
// in ρ.
func callsOf(e privacy.Event, pure bool) (calls []privacy.Event, err error) {
	switch e := e.(type) {
	case privacy.DiscreteGaussian:
		if !pure {
			return []privacy.Event{e}, nil
		}
	case privacy.DiscreteLaplace:
		if pure {
			return []privacy.Event{e}, nil
		}
	case privacy.Compose:
		for _, child := range e.Events {
			more, err := callsOf(child, pure)
			if err != nil {
				return nil, err
			}
			calls = append(calls, more...)
		}
		return calls, nil
	case privacy.Repeat:
		one, err := callsOf(e.Event, pure)
		for range e.N {
			calls = append(calls, one...)
		}
		return calls, err
	}
	if pure {
		return nil, errNotLaplace
	}
	return nil, errNotGaussian
}

// sizeOf returns the parameter of a noise call: σ, or the scale of Laplace noise.
func sizeOf(call privacy.Event) float64 {
	switch e := call.(type) {
	case privacy.DiscreteGaussian:
		return e.Sigma
	case privacy.DiscreteLaplace:
		return e.Scale
	}
	return 0
}

// sized returns a noise call with another parameter.
func sized(call privacy.Event, size float64) privacy.Event {
	switch e := call.(type) {
	case privacy.DiscreteGaussian:
		e.Sigma = size
		return e
	case privacy.DiscreteLaplace:
		e.Scale = size
		return e
	}
	return call
}

// DeviationOf returns the standard deviation of the noise of a call.
func DeviationOf(call privacy.Event) float64 {
	if e, ok := call.(privacy.DiscreteLaplace); ok {
		return 1 / (math.Sqrt2 * math.Sinh(1/(2*e.Scale)))
	}
	return sizeOf(call)
}

// Louder returns a noise call whose noise has so many times the standard deviation.
func Louder(call privacy.Event, times float64) privacy.Event {
	if e, ok := call.(privacy.DiscreteLaplace); ok {
		return sized(e, 1/(2*math.Asinh(1/(math.Sqrt2*times*DeviationOf(e)))))
	}
	return sized(call, times*sizeOf(call))
}
