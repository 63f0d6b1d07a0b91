package host

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Vectors has a built-in linear mechanism turn rows into vectors, in this process. It returns, for
// each noise call, the sum without noise. AddVectors adds the sums of several parts of the rows,
// and Finish makes the result of the whole. The mechanism's own result is dropped: it saw zeros.
func Vectors(ctx context.Context, m sdk.Mechanism, req sdk.ReleaseRequest, feed func(ctx context.Context, w RowWriter) error) ([][]int64, error) {
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
		_, err := m.Release(ctx, req, rows, h)
		if err == nil && h.at != len(h.sums) {
			err = errVector // calls are missing
		}
		read <- err
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

// Finish makes the release of a linear mechanism from sums that others added up. The process sees
// no row: the host replaces its zeros by the sums and adds the noise, once. Errors and the event
// are those of Release.
func (p *Plugin) Finish(ctx context.Context, req sdk.ReleaseRequest, vectors [][]int64, drawer Drawer) (sdk.Result, privacy.Event, error) {
	calls, err := linearCalls(nil, req.Plan.Event)
	if err != nil || len(calls) != len(vectors) {
		return sdk.Result{}, nil, p.fault(CodePlan)
	}
	none := func(context.Context, RowWriter) error { return nil }
	return p.Release(ctx, req, none, &finisher{Drawer: drawer, sums: vectors})
}
