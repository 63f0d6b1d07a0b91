package regression

import (
	"context"
	"errors"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var errTooLarge = errors.New("the table has too many records")

// Release adds up the products in one pass, has the host add the noise, and solves
// for the coefficients.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest())
	if err != nil {
		return sdk.Result{}, err
	}
	if err := l.planned(req.Plan.Event); err != nil {
		return sdk.Result{}, err
	}
	total, err := l.add(rows)
	if err != nil {
		return sdk.Result{}, err
	}
	switch ev := l.event.(type) {
	case privacy.DiscreteLaplace:
		total, err = host.AddLaplace(ctx, ev, total)
	case privacy.DiscreteGaussian:
		total, err = host.AddGaussian(ctx, ev, total)
	}
	if err != nil {
		return sdk.Result{}, err
	}
	fit, err := l.solve(total)
	if err != nil {
		return sdk.Result{}, err
	}
	return l.result(fit), nil
}

// add returns the sums over all rows.
func (l *layout) add(rows sdk.Rows) ([]int64, error) {
	total := make([]int64, l.sums.n)
	n := int64(0)
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		if n += int64(b.Rows); n > maxRows {
			return errTooLarge
		}
		l.addBatch(total, b)
		return nil
	})
	return total, err
}

// addBatch adds the rows of a batch. A row that lacks a value adds nothing.
func (l *layout) addBatch(total []int64, b *sdk.Batch) {
	v := make([]float64, l.sums.size)
	v[0] = 1
	last, weights := len(l.set.Features), b.Weights
	var nonzero []int
rows:
	for row := range b.Rows {
		nonzero = append(nonzero[:0], 0)
		for k := range l.set.Features {
			f := &l.set.Features[k]
			at := f.First + 1
			if f.Column.Type == sdk.Category {
				code := int(b.Codes(k)[row])
				if code < 0 {
					continue rows
				}
				if code > 0 { // 0 is the reference
					at += code - 1
					v[at], nonzero = 1, append(nonzero, at)
				}
				continue
			}
			if !b.IsValid(k, row) {
				continue rows
			}
			if v[at] = f.Scaled(b.Float64(k)[row]); v[at] != 0 {
				nonzero = append(nonzero, at)
			}
		}
		if !b.IsValid(last, row) {
			continue
		}
		y := l.sums.size - 1
		if v[y] = l.target.Scaled(b.Float64(last)[row]); v[y] != 0 {
			nonzero = append(nonzero, y)
		}
		weight := 1.0
		if weights != nil {
			// The host's weights are at most the design's largest; the bound needs it.
			weight = math.Max(0, math.Min(1, weights[row]/l.weight))
		}
		l.sums.add(total, v, nonzero, weight)
	}
}
