package inprocess

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// hand passes batches from a feed in one goroutine to a reader in another.
type hand struct {
	ctx  context.Context // of the reader
	rows chan sdk.Batch
	took chan struct{} // the reader is done with a batch
	gone chan struct{} // nobody reads any more
	now  sdk.Batch
	have bool // the reader holds now
}

func newHand(ctx context.Context) *hand {
	return &hand{ctx: ctx, rows: make(chan sdk.Batch), took: make(chan struct{}), gone: make(chan struct{})}
}

var errGone = errors.New("the plugin takes no more rows")

// Write waits until the reader is done with the batch.
func (h *hand) Write(b sdk.Batch) error {
	select {
	case h.rows <- b:
	case <-h.gone:
		return errGone
	}
	select {
	case <-h.took:
		return nil
	case <-h.gone:
		return errGone
	}
}

// Next gives the batch before back, and takes the next one. It returns io.EOF after the last.
func (h *hand) Next() (*sdk.Batch, error) {
	if h.have {
		h.have = false
		select {
		case h.took <- struct{}{}:
		case <-h.ctx.Done():
			return nil, h.ctx.Err()
		}
	}
	select {
	case b, more := <-h.rows:
		if !more {
			return nil, cmp.Or(h.ctx.Err(), io.EOF) // vectors ends the context of a feed that failed
		}
		h.now, h.have = b, true
		return &h.now, nil
	case <-h.ctx.Done():
		return nil, h.ctx.Err()
	}
}
