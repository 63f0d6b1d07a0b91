package calls

import (
	"errors"

	"github.com/dprelease/dprelease/privacy"
)

// maxLinear bounds the noise calls of a linear mechanism.
const maxLinear = 1024

// Linear lists the events of the noise calls of a linear mechanism, in order. It fails for
// calls that a linear mechanism does not make.
func Linear(e privacy.Event) ([]privacy.Event, error) { return linear(nil, e) }

func linear(calls []privacy.Event, e privacy.Event) ([]privacy.Event, error) {
	var err error
	switch e := e.(type) {
	case privacy.DiscreteLaplace, privacy.DiscreteGaussian:
		calls = append(calls, e)
	case privacy.Compose:
		for _, child := range e.Events {
			if calls, err = linear(calls, child); err != nil {
				return nil, err
			}
		}
	case privacy.Repeat:
		for range min(e.N, maxLinear+1) {
			if calls, err = linear(calls, e.Event); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errors.New("a linear mechanism adds Laplace or Gaussian noise, and nothing else")
	}
	if len(calls) > maxLinear {
		return nil, errors.New("a linear mechanism makes at most 1024 noise calls")
	}
	return calls, nil
}
