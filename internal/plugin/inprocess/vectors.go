package inprocess

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var errCalls = errors.New("the mechanism makes other noise calls than it planned")

// Sums has a linear mechanism turn rows into vectors. It returns, for each noise call, the sum without noise, as a
// run.Summer. The mechanism's own result is dropped: it saw zeros.
func (ms Mechanisms) Sums(ctx context.Context, rel *planned.Release, _ bool,
	feed func(context.Context, host.RowWriter) error) ([][]int64, error) {
	req := rel.Request()
	if len(req.Plan.Queries) > 0 {
		return host.Queried(ctx, req, feed)
	}
	calls, err := calls.Linear(req.Plan.Event)
	if err != nil {
		return nil, err
	}
	h := &adder{sums: make([][]int64, len(calls))}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := newHand(ctx)
	read := make(chan error, 1)
	go func() {
		defer close(rows.gone)
		read <- guard.Do(func() error {
			_, err := ms[rel.Job.Mechanism].Release(ctx, req, rows, h)
			if err == nil && h.at != len(h.sums) {
				err = errCalls
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

// adder keeps the vectors and answers with zeros. A linear mechanism makes no other calls.
type adder struct {
	sdk.Host
	sums [][]int64
	at   int // the next call
}

func (h *adder) take(values []int64) ([]int64, error) {
	if h.at == len(h.sums) {
		return nil, sdk.ErrHost
	}
	sum := h.sums[h.at : h.at+1]
	h.at++
	_, err := host.AddVectors(sum, [][]int64{values})
	return make([]int64, len(values)), err
}

// AddLaplace takes a vector.
func (h *adder) AddLaplace(_ context.Context, _ privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	return h.take(values)
}

// AddGaussian takes a vector.
func (h *adder) AddGaussian(_ context.Context, _ privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	return h.take(values)
}
