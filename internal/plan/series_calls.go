package plan

import (
	"errors"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/privacy"
)

var (
	errNotGaussian = errors.New("a series in rho needs Gaussian noise: say params: {noise: gaussian}")
	errNotLaplace  = errors.New("a series in epsilon needs Laplace noise: leave noise out of params")
)

// callsOf lists the noise calls of a linear mechanism, which are all Laplace noise in a series in ε and all Gaussian noise in one
// in ρ.
func callsOf(e privacy.Event, pure bool) ([]privacy.Event, error) {
	all, err := calls.Linear(e)
	for _, c := range all {
		if _, laplace := c.(privacy.DiscreteLaplace); laplace != pure {
			err = errNotGaussian
		}
	}
	switch {
	case err == nil:
		return all, nil
	case pure:
		return nil, errNotLaplace
	}
	return nil, errNotGaussian
}
