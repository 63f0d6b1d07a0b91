package serve

import (
	"context"
	"io"
	"slices"

	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// remoteHost is the host as a mechanism sees it, over gRPC.
type remoteHost struct{ c wire.NoiseClient }

// largeMessages lifts the limit of what a noise call may carry on the plugin's side.
var largeMessages = grpc.MaxCallRecvMsgSize(wire.MaxNoiseMessage)

func (h *remoteHost) AddLaplace(ctx context.Context, ev privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	return h.add(ctx, ev, values, h.c.AddLaplace)
}

func (h *remoteHost) AddGaussian(ctx context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	return h.add(ctx, ev, values, h.c.AddGaussian)
}

func (h *remoteHost) add(ctx context.Context, ev privacy.Event, values []int64,
	call func(context.Context, *wire.AddNoiseRequest, ...grpc.CallOption) (*wire.AddNoiseResponse, error)) ([]int64, error) {
	e, err := wire.FromEvent(ev)
	if err != nil {
		return nil, err
	}
	out, err := call(ctx, &wire.AddNoiseRequest{Event: e, Values: values}, largeMessages)
	if err != nil || len(out.GetValues()) != len(values) {
		return nil, sdk.ErrHost
	}
	return out.GetValues(), nil
}

func (h *remoteHost) SmoothLaplace(ctx context.Context, ev privacy.Approx, value, scale, granularity float64) (float64, error) {
	e, err := wire.FromEvent(ev)
	if err != nil {
		return 0, err
	}
	out, err := h.c.SmoothLaplace(ctx, &wire.SmoothLaplaceRequest{Event: e, Value: value, Scale: scale, Granularity: granularity})
	if err != nil {
		return 0, sdk.ErrHost
	}
	return out.GetValue(), nil
}

func (h *remoteHost) Select(ctx context.Context, ev privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	e, err := wire.FromEvent(ev)
	if err != nil {
		return 0, err
	}
	req := &wire.SelectRequest{Event: e, Rate: rate, Pieces: make([]*wire.Piece, len(pieces))}
	for i, p := range pieces {
		req.Pieces[i] = &wire.Piece{Lo: p.Lo, Hi: p.Hi, Score: p.Score, Slope: p.Slope}
	}
	out, err := h.c.Select(ctx, req)
	if err != nil {
		return 0, sdk.ErrHost
	}
	return out.GetPoint(), nil
}

func (h *remoteHost) RandomizeCategories(ctx context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error) {
	e, err := wire.FromEvent(ev)
	if err != nil {
		return nil, err
	}
	out, err := h.c.RandomizeCategories(ctx, &wire.RandomizeRequest{Event: e, Codes: codes}, largeMessages)
	if err != nil || len(out.GetCodes()) != len(codes) {
		return nil, sdk.ErrHost
	}
	return out.GetCodes(), nil
}

func (h *remoteHost) NextSample(ctx context.Context, ev privacy.Sampling) ([]int64, error) {
	return h.rows(ctx, ev)
}

func (h *remoteHost) NextBatch(ctx context.Context, ev privacy.LastIterate) ([]int64, error) {
	return h.rows(ctx, ev)
}

// rows asks for rows by their indices.
func (h *remoteHost) rows(ctx context.Context, ev privacy.Event) ([]int64, error) {
	e, err := wire.FromEvent(ev)
	if err != nil {
		return nil, err
	}
	stream, err := h.c.NextSample(ctx, &wire.NextSampleRequest{Event: e}, largeMessages)
	if err != nil {
		return nil, sdk.ErrHost
	}
	rows, at := []int64{}, int64(-1)
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, sdk.ErrHost
		}
		rows = slices.Grow(rows, len(m.GetGaps()))
		for _, gap := range m.GetGaps() {
			at += 1 + int64(gap)
			rows = append(rows, at)
		}
	}
}
