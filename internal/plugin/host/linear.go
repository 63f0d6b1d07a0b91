package host

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// maxLinearCalls bounds the noise calls of a linear mechanism.
const maxLinearCalls = 1024

// linearCalls lists the events of the noise calls of a linear mechanism, in order. It fails for
// calls that a linear mechanism does not make.
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

// Vectors has a built-in linear mechanism turn rows into vectors, in this process. It returns, for
// each noise call, the sum without noise. AddVectors adds the sums of several parts of the rows,
// and Finish makes the result of the whole. The mechanism's own result is dropped: it saw zeros.
func Vectors(ctx context.Context, m sdk.Mechanism, req sdk.ReleaseRequest,
	feed func(ctx context.Context, w RowWriter) error) ([][]int64, error) {
	calls, err := linearCalls(nil, req.Plan.Event)
	if err != nil {
		return nil, err
	}
	h := &localHost{sums: make([][]int64, len(calls))}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := newHand(ctx)
	read := make(chan error, 1)
	go func() {
		defer close(rows.gone)
		read <- guard.Do(func() error {
			_, err := m.Release(ctx, req, rows, h)
			if err == nil && h.at != len(h.sums) {
				err = errVector // calls are missing
			}
			return err
		})
	}()
	fedErr := feed(ctx, rows)
	if fedErr != nil {
		cancel()
	}
	close(rows.rows)
	switch err := <-read; {
	case fedErr != nil && !errors.Is(fedErr, errGone):
		return nil, fedErr
	case err != nil:
		return nil, err
	}
	return h.sums, nil
}

// localHost keeps the vectors and answers with zeros. A linear mechanism makes no other calls.
type localHost struct {
	sdk.Host
	sums [][]int64
	at   int // the next call
}

func (h *localHost) take(values []int64) ([]int64, error) {
	if h.at == len(h.sums) {
		return nil, sdk.ErrHost
	}
	h.at++
	return make([]int64, len(values)), plus(&h.sums[h.at-1], values)
}

// AddLaplace takes a vector.
func (h *localHost) AddLaplace(_ context.Context, _ privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	return h.take(values)
}

// AddGaussian takes a vector.
func (h *localHost) AddGaussian(_ context.Context, _ privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	return h.take(values)
}

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
