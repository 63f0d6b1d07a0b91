package conformance

import (
	"context"
	"slices"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// bridge lets the suite's noise answer a plugin's calls, which the host has compared with the
// plan, and notes them.
type bridge struct {
	ctx  context.Context
	to   sdk.Host
	made []sdktest.Call
	err  error
}

var _ host.Drawer = (*bridge)(nil)

// note keeps a call and how it ended.
func (b *bridge) note(c sdktest.Call, err error) error {
	b.made, b.err = append(b.made, c), err
	return err
}

func (b *bridge) Add(ev privacy.Event, values []int64) (err error) {
	c := sdktest.Call{Event: ev, Values: slices.Clone(values)}
	var out []int64
	switch ev := ev.(type) {
	case privacy.DiscreteLaplace:
		c.Method = "AddLaplace"
		out, err = b.to.AddLaplace(b.ctx, ev, values)
	case privacy.DiscreteGaussian:
		c.Method = "AddGaussian"
		out, err = b.to.AddGaussian(b.ctx, ev, values)
	}
	copy(values, out)
	return b.note(c, err)
}

func (b *bridge) SmoothLaplace(ev privacy.Approx, value, scale, granularity float64) (float64, error) {
	out, err := b.to.SmoothLaplace(b.ctx, ev, value, scale, granularity)
	return out, b.note(sdktest.Call{Method: "SmoothLaplace", Event: ev, Value: value, Scale: scale, Granularity: granularity}, err)
}

func (b *bridge) Select(ev privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	out, err := b.to.Select(b.ctx, ev, pieces, rate)
	return out, b.note(sdktest.Call{Method: "Select", Event: ev, Pieces: pieces, Rate: rate}, err)
}

func (b *bridge) Randomize(ev privacy.RandomizedResponse, codes []int32) error {
	c := sdktest.Call{Method: "RandomizeCategories", Event: ev, Codes: slices.Clone(codes)}
	out, err := b.to.RandomizeCategories(b.ctx, ev, codes)
	copy(codes, out)
	return b.note(c, err)
}

// Shuffle leaves the order: every order is possible.
func (b *bridge) Shuffle([]int32) error { return nil }

func (b *bridge) Sample(ev privacy.Sampling, _ int64) ([]int64, error) {
	out, err := b.to.NextSample(b.ctx, ev)
	return out, b.note(sdktest.Call{Method: "NextSample", Event: ev}, err)
}

func (b *bridge) Batch(ev privacy.LastIterate, _, _ int64) ([]int64, error) {
	out, err := b.to.NextBatch(b.ctx, ev)
	return out, b.note(sdktest.Call{Method: "NextBatch", Event: ev, Rows: slices.Clone(out)}, err)
}
