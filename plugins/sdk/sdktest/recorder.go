package sdktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// recorder compares every call with the plan, notes it, and hands it on.
type recorder struct {
	to    sdk.Host
	rows  *rows
	calls *calls.Walk // nil: self-noising
	made  []Call
	err   error
}

func (r *recorder) take(c Call) error {
	if r.err != nil {
		return r.err
	}
	if r.calls == nil {
		r.err = errors.New("a self-noising mechanism made a noise call")
	} else if _, err := r.calls.Next(c.Event); err != nil {
		r.err = fmt.Errorf("call %d, %s of %+v: %w", len(r.made)+1, c.Method, c.Event, err)
	}
	r.made = append(r.made, c)
	return r.err
}

func (r *recorder) AddLaplace(ctx context.Context, ev privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	if err := r.take(Call{Method: "AddLaplace", Event: ev, Values: slices.Clone(values)}); err != nil {
		return nil, err
	}
	return r.to.AddLaplace(ctx, ev, slices.Clone(values))
}

func (r *recorder) AddGaussian(ctx context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	if err := r.take(Call{Method: "AddGaussian", Event: ev, Values: slices.Clone(values)}); err != nil {
		return nil, err
	}
	return r.to.AddGaussian(ctx, ev, slices.Clone(values))
}

func (r *recorder) SmoothLaplace(ctx context.Context, ev privacy.Approx, value, scale, granularity float64) (float64, error) {
	if err := r.take(Call{Method: "SmoothLaplace", Event: ev, Value: value, Scale: scale, Granularity: granularity}); err != nil {
		return 0, err
	}
	if r.err = checkSmooth(value, scale, granularity); r.err != nil {
		return 0, r.err
	}
	return r.to.SmoothLaplace(ctx, ev, value, scale, granularity)
}

// checkSmooth holds a call of SmoothLaplace to what a host can draw.
func checkSmooth(value, scale, granularity float64) error {
	if frac, _ := math.Frexp(granularity); !(scale > 0) || math.IsInf(scale, 0) || frac != 0.5 || math.IsNaN(value) || math.IsInf(value, 0) {
		return errors.New("SmoothLaplace needs a finite value, a positive scale, and a power of two as granularity")
	}
	return nil
}

func (r *recorder) Select(ctx context.Context, ev privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	if err := r.take(Call{Method: "Select", Event: ev, Pieces: slices.Clone(pieces), Rate: rate}); err != nil {
		return 0, err
	}
	if r.err = checkPieces(pieces, rate); r.err != nil {
		return 0, r.err
	}
	return r.to.Select(ctx, ev, pieces, rate)
}

// checkPieces holds a selection to what a host can draw.
func checkPieces(pieces []sdk.Piece, rate float64) error {
	for i, p := range pieces {
		if p.Lo > p.Hi || i > 0 && (p.Lo == math.MinInt64 || p.Lo-1 != pieces[i-1].Hi) {
			return errors.New("Select needs pieces that tile one range in ascending order")
		}
	}
	if len(pieces) == 0 || !(rate > 0) {
		return errors.New("Select needs a piece and a positive rate")
	}
	return nil
}

func (r *recorder) RandomizeCategories(ctx context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error) {
	if err := r.take(Call{Method: "RandomizeCategories", Event: ev, Codes: slices.Clone(codes)}); err != nil {
		return nil, err
	}
	for _, c := range codes {
		if c < 0 || int(c) >= ev.K {
			r.err = errors.New("RandomizeCategories needs codes in 0..k-1")
			return nil, r.err
		}
	}
	return r.to.RandomizeCategories(ctx, ev, slices.Clone(codes))
}

func (r *recorder) NextSample(ctx context.Context, ev privacy.Sampling) ([]int64, error) {
	if err := r.take(Call{Method: "NextSample", Event: ev}); err != nil {
		return nil, err
	}
	if !r.rows.read {
		r.err = errors.New("NextSample comes after the last row")
		return nil, r.err
	}
	return r.to.NextSample(ctx, ev)
}

func (r *recorder) NextBatch(ctx context.Context, ev privacy.LastIterate) ([]int64, error) {
	if err := r.take(Call{Method: "NextBatch", Event: ev}); err != nil {
		return nil, err
	}
	if !r.rows.read {
		r.err = errors.New("NextBatch comes after the last row")
		return nil, r.err
	}
	rows, err := r.to.NextBatch(ctx, ev)
	r.made[len(r.made)-1].Rows = slices.Clone(rows)
	return rows, err
}

// NoNoise answers every call without noise: what went in comes back, Select takes
// the first of the best points, and every sample is all rows. It is for tests of a
// query, and private in no way.
type NoNoise struct{ Rows int }

var _ sdk.Host = NoNoise{}

// NextBatch returns all rows, as if a batch held them all.
func (n NoNoise) NextBatch(ctx context.Context, _ privacy.LastIterate) ([]int64, error) {
	return n.NextSample(ctx, nil)
}

// AddLaplace returns the values.
func (NoNoise) AddLaplace(_ context.Context, _ privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	return values, nil
}

// AddGaussian returns the values.
func (NoNoise) AddGaussian(_ context.Context, _ privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	return values, nil
}

// SmoothLaplace returns the value on the lattice.
func (NoNoise) SmoothLaplace(_ context.Context, _ privacy.Approx, value, scale, granularity float64) (float64, error) {
	return math.RoundToEven(value/granularity) * granularity, checkSmooth(value, scale, granularity)
}

// Select returns the first point of lowest score.
func (NoNoise) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	if err := checkPieces(pieces, rate); err != nil {
		return 0, err
	}
	return best(pieces), nil
}

// RandomizeCategories returns the codes.
func (NoNoise) RandomizeCategories(_ context.Context, _ privacy.RandomizedResponse, codes []int32) ([]int32, error) {
	return codes, nil
}

// NextSample returns all rows.
func (n NoNoise) NextSample(context.Context, privacy.Sampling) ([]int64, error) {
	out := make([]int64, n.Rows)
	for i := range out {
		out[i] = int64(i)
	}
	return out, nil
}

// best is the first point with the lowest score.
func best(pieces []sdk.Piece) int64 {
	low := func(p sdk.Piece) int64 { // at one of its ends
		if p.Slope < 0 {
			return p.Hi
		}
		return p.Lo
	}
	p := slices.MinFunc(pieces, func(a, b sdk.Piece) int { return cmp.Compare(a.At(low(a)), b.At(low(b))) })
	return low(p)
}
