package host

import (
	"errors"

	"github.com/dprelease/dprelease/privacy"
)

// maxLinearCalls bounds the noise calls of a linear mechanism.
const maxLinearCalls = 1024

// LinearCalls lists the events of the noise calls of a linear mechanism, in order. It fails for
// calls that a linear mechanism does not make.
func LinearCalls(e privacy.Event) ([]privacy.Event, error) { return linearCalls(nil, e) }

func linearCalls(calls []privacy.Event, e privacy.Event) ([]privacy.Event, error) {
	var err error
	switch e := e.(type) {
	case privacy.DiscreteLaplace, privacy.DiscreteGaussian:
		calls = append(calls, e)
	case privacy.Compose:
		for _, child := range e.Events {
			if calls, err = linearCalls(calls, child); err != nil {
				return nil, err
			}
		}
	case privacy.Repeat:
		for range min(e.N, maxLinearCalls+1) {
			if calls, err = linearCalls(calls, e.Event); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errors.New("a linear mechanism adds Laplace or Gaussian noise, and nothing else")
	}
	if len(calls) > maxLinearCalls {
		return nil, errors.New("a linear mechanism makes at most 1024 noise calls")
	}
	return calls, nil
}

var errVector = errors.New("the vector cannot be added")

// AddVectors adds the vectors of more rows to a sum. A nil sum is the first one.
func AddVectors(sum, more [][]int64) ([][]int64, error) {
	if sum == nil {
		sum = make([][]int64, len(more))
	}
	if len(sum) != len(more) {
		return nil, errVector
	}
	for i, v := range more {
		if err := plus(&sum[i], v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// plus adds a vector to a sum, which begins as nil.
func plus(sum *[]int64, values []int64) error {
	if *sum == nil {
		*sum = make([]int64, len(values))
	}
	if len(*sum) != len(values) {
		return errVector
	}
	for i, v := range values {
		next := (*sum)[i] + v
		if (next < v) != ((*sum)[i] < 0) {
			return errVector // it overflows
		}
		(*sum)[i] = next
	}
	return nil
}
