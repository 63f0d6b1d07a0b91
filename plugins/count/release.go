package count

import (
	"context"
	"errors"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var errOverflow = errors.New("a cell does not fit the lattice")

// Release adds up the cells and has the host add the noise to all of them.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest())
	if err != nil {
		return sdk.Result{}, err
	}
	cells := make([]int64, l.cells)
	if err := sdk.Each(rows, func(b *sdk.Batch) error { return l.add(b, cells) }); err != nil {
		return sdk.Result{}, err
	}
	switch ev := l.event.(type) {
	case privacy.DiscreteLaplace:
		cells, err = host.AddLaplace(ctx, ev, cells)
	case privacy.DiscreteGaussian:
		cells, err = host.AddGaussian(ctx, ev, cells)
	}
	if err != nil {
		return sdk.Result{}, err
	}
	return l.result(cells), nil
}

// add adds one batch to the cells.
func (l *layout) add(b *sdk.Batch, cells []int64) error {
	codes := make([][]int32, len(l.groups))
	for i := range l.groups {
		codes[i] = b.Codes(i)
	}
	var values []float64
	if l.Sum != "" {
		values = b.Float64(len(l.groups))
	}
	weights := b.Weights
	for row := range b.Rows {
		cell := 0
		for i, g := range l.groups {
			if c := int(codes[i][row]); c >= 0 && cell >= 0 {
				cell = cell*len(g.Domain) + c
			} else {
				cell = -1
			}
		}
		if cell < 0 || values != nil && !b.IsValid(len(l.groups), row) {
			continue
		}
		y, w := 1.0, 1.0
		if values != nil {
			y = values[row]
		}
		if weights != nil {
			w = math.Min(weights[row], l.maxWeight)
		}
		sum := cells[cell] + l.value(y, w)
		if (cells[cell] >= 0) == (y >= 0) && (sum >= 0) != (y >= 0) {
			return errOverflow
		}
		cells[cell] = sum
	}
	return nil
}
