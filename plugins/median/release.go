package median

import (
	"context"
	"errors"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var errOverflow = errors.New("the table is too large")

// Release reads the column and has the host draw every quantile, in the order of
// the parameters.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	var estimates []float64
	if l.Method == smoothLaplace {
		estimates, err = l.smooth(ctx, rows, host)
	} else {
		estimates, err = l.choose(ctx, rows, host)
	}
	if err != nil {
		return sdk.Result{}, err
	}
	return l.result(estimates), nil
}

func (l *layout) smooth(ctx context.Context, rows sdk.Rows, host sdk.Host) ([]float64, error) {
	values, err := l.read(rows)
	if err != nil {
		return nil, err
	}
	slices.Sort(values)
	t := table{sorted: values, lower: l.column.Lower, upper: l.column.Upper}
	ev := privacy.Approx{Eps: l.share.Epsilon, Delta: l.share.Delta}
	out := make([]float64, len(l.ranks))
	for i, r := range l.ranks {
		m := r.place(len(values))
		s := t.smoothSensitivity(m, l.smoothing.beta, l.step)
		// P13, P19: the scale is private; this call is the only place it goes to.
		if out[i], err = host.SmoothLaplace(ctx, ev, t.at(m), s/l.smoothing.shift, l.step); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read collects the values that are present.
func (l *layout) read(rows sdk.Rows) ([]float64, error) {
	var values []float64
	if n := l.design.LargestCount; n > 0 && n <= 1<<28 {
		values = make([]float64, 0, n)
	}
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		if b.Columns[0].Valid == nil {
			values = append(values, b.Float64(0)...)
			return nil
		}
		for row, y := range b.Float64(0) {
			if b.IsValid(0, row) {
				values = append(values, y)
			}
		}
		return nil
	})
	return values, err
}

func (l *layout) choose(ctx context.Context, rows sdk.Rows, host sdk.Host) ([]float64, error) {
	counts, err := l.count(rows)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(l.ranks))
	for i, r := range l.ranks {
		rate := sdk.SelectRate(l.share.Epsilon, l.grid.sensitivity(r, l.under))
		point, err := host.Select(ctx, l.selection(l.share.Epsilon), r.pieces(counts), rate)
		if err != nil {
			return nil, err
		}
		out[i] = l.grid.value(point)
	}
	return out, nil
}

// count adds up the weight on every point of the grid.
func (l *layout) count(rows sdk.Rows) ([]int64, error) {
	counts := make([]int64, l.grid.points)
	var all int64
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		for row, y := range b.Float64(0) {
			if !b.IsValid(0, row) {
				continue
			}
			w := int64(1)
			if b.Weights != nil {
				w = l.grid.weigh(b.Weights[row])
			}
			// Scores reach den ≤ 10^4 times this.
			if all += w; all > 1<<49 {
				return errOverflow
			}
			counts[l.grid.nearest(y)] += w
		}
		return nil
	})
	return counts, err
}
