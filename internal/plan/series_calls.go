package plan

import (
	"errors"

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
