package main

import (
	"context"
	"time"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// meter measures from its first start to its last stop, in one process.
type meter struct {
	began  time.Time
	before float64
	cost   measure.Cost
}

func (m *meter) start() {
	if m.began.IsZero() {
		m.began, m.before = time.Now(), measure.Processor()
	}
}

func (m *meter) stop() {
	m.cost = measure.Cost{Wall: time.Since(m.began).Seconds() * 1e3, Work: measure.Processor() - m.before}
}

// clock is the host's drawer, which notes when it was asked first and last.
type clock struct {
	*host.NoiseDrawer
	meter
}

// Sample draws, and starts the clock.
func (c *clock) Sample(ev privacy.Sampling, rows int64) ([]int64, error) {
	c.start()
	return c.NoiseDrawer.Sample(ev, rows)
}

// Add draws, and stops the clock.
func (c *clock) Add(ev privacy.Event, values []int64) error {
	err := c.NoiseDrawer.Add(ev, values)
	c.stop()
	return err
}

// metered is a mechanism that tells the bench, in place of its first value, what
// processor time its process took between its first draw and its last noise.
type metered struct{ sdk.Mechanism }

// Release releases, and puts the processor time into the result.
func (m metered) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	asked := &askedHost{Host: h}
	out, err := m.Mechanism.Release(ctx, req, rows, asked)
	if err == nil {
		out.Columns[valueColumn].Float64[0] = asked.cost.Work
	}
	return out, err
}

// askedHost is the host as a mechanism sees it, with a meter.
type askedHost struct {
	sdk.Host
	meter
}

// NextSample starts the meter.
func (a *askedHost) NextSample(ctx context.Context, ev privacy.Sampling) ([]int64, error) {
	a.start()
	return a.Host.NextSample(ctx, ev)
}

// AddGaussian stops the meter.
func (a *askedHost) AddGaussian(ctx context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	out, err := a.Host.AddGaussian(ctx, ev, values)
	a.stop()
	return out, err
}
