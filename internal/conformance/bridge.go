package conformance

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// bridge lets the suite's noise answer a plugin's calls. The host has compared each
// call with the plan before it gets here, so the next event is the plan's.
type bridge struct {
	ctx  context.Context
	to   sdk.Host
	next func() (privacy.Event, bool)
	stop func()
	made []sdktest.Call
	err  error
}

var _ host.Drawer = (*bridge)(nil)

func newBridge(ctx context.Context, e privacy.Event, to sdk.Host) *bridge {
	b := &bridge{ctx: ctx, to: to}
	b.next, b.stop = iter.Pull(func(yield func(privacy.Event) bool) { leaves(e, yield) })
	return b
}

// leaves are the calls of an event, in order.
func leaves(e privacy.Event, yield func(privacy.Event) bool) bool {
	switch e := e.(type) {
	case privacy.Compose:
		for _, child := range e.Events {
			if !leaves(child, yield) {
				return false
			}
		}
		return true
	case privacy.Repeat:
		for range e.N {
			if !leaves(e.Event, yield) {
				return false
			}
		}
		return true
	case privacy.Shuffled:
		return leaves(e.Event, yield)
	case privacy.LastIterate:
		for k := range e.Calls() {
			if !e.Full() && !yield(e) || !yield(e.StepAt(k)) {
				return false
			}
		}
		return true
	case privacy.Sampling:
		return yield(e) && leaves(e.Inner(), yield)
	}
	return yield(e)
}

var errOrder = errors.New("conformance: the host's calls are not those of the plan")

// call notes one call and answers it.
func call[E privacy.Event](b *bridge, c sdktest.Call, answer func(ev E) error) error {
	e, _ := b.next()
	ev, ok := e.(E)
	if !ok {
		b.err = errOrder
		return b.err
	}
	c.Event = e
	b.made = append(b.made, c)
	if err := answer(ev); err != nil {
		b.err = err
	}
	return b.err
}

func (b *bridge) AddLaplace(values []int64, _ float64) error {
	return call(b, sdktest.Call{Method: "AddLaplace", Values: slices.Clone(values)}, func(ev privacy.DiscreteLaplace) error {
		out, err := b.to.AddLaplace(b.ctx, ev, values)
		copy(values, out)
		return err
	})
}

func (b *bridge) AddGaussian(values []int64, _ float64) error {
	return call(b, sdktest.Call{Method: "AddGaussian", Values: slices.Clone(values)}, func(ev privacy.DiscreteGaussian) error {
		out, err := b.to.AddGaussian(b.ctx, ev, values)
		copy(values, out)
		return err
	})
}

func (b *bridge) SmoothLaplace(value, scale, granularity float64) (out float64, err error) {
	c := sdktest.Call{Method: "SmoothLaplace", Value: value, Scale: scale, Granularity: granularity}
	err = call(b, c, func(ev privacy.Approx) (err error) {
		out, err = b.to.SmoothLaplace(b.ctx, ev, value, scale, granularity)
		return err
	})
	return out, err
}

func (b *bridge) Select(pieces []sdk.Piece, rate float64) (out int64, err error) {
	c := sdktest.Call{Method: "Select", Pieces: slices.Clone(pieces), Rate: rate}
	err = call(b, c, func(ev privacy.Selection) (err error) {
		if len(pieces) == 0 || !(rate > 0) {
			return errors.New("select needs a piece and a positive rate")
		}
		out, err = b.to.Select(b.ctx, ev, pieces, rate)
		return err
	})
	return out, err
}

func (b *bridge) Randomize(codes []int32, _ int, _ float64) error {
	return call(b, sdktest.Call{Method: "RandomizeCategories", Codes: slices.Clone(codes)}, func(ev privacy.RandomizedResponse) error {
		out, err := b.to.RandomizeCategories(b.ctx, ev, codes)
		copy(codes, out)
		return err
	})
}

// Shuffle leaves the order: every order is possible.
func (b *bridge) Shuffle([]int32) error { return nil }

func (b *bridge) Sample(ev privacy.Sampling, _ int64) (out []int64, err error) {
	err = call(b, sdktest.Call{Method: "NextSample"}, func(privacy.Sampling) (err error) {
		out, err = b.to.NextSample(b.ctx, ev)
		return err
	})
	return out, err
}

func (b *bridge) Batch(ev privacy.LastIterate, _, _ int64) (out []int64, err error) {
	err = call(b, sdktest.Call{Method: "NextBatch"}, func(privacy.LastIterate) (err error) {
		out, err = b.to.NextBatch(b.ctx, ev)
		b.made[len(b.made)-1].Rows = slices.Clone(out)
		return err
	})
	return out, err
}
