package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sgd"
	"github.com/dprelease/dprelease/privacy"
)

// valueColumn is the place of the numbers in what sgd releases.
const valueColumn = 2

// calls plans as sgd does, reads the same rows and makes the same calls.
type calls struct{ sgd.Mechanism }

// Release computes nothing.
func (calls) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	if err := sdk.Each(rows, func(*sdk.Batch) error { return nil }); err != nil {
		return sdk.Result{}, err
	}
	draw := req.Plan.Event.(privacy.Repeat).Event.(privacy.Poisson)
	zeros := make([]int64, features+1)
	for range steps {
		if _, err := h.NextSample(ctx, draw); err != nil {
			return sdk.Result{}, err
		}
		if _, err := h.AddGaussian(ctx, draw.Event.(privacy.DiscreteGaussian), zeros); err != nil {
			return sdk.Result{}, err
		}
	}
	n := int(req.Plan.Rows)
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: req.Plan.Output[0].Name, Texts: make([]string, n)},
		{Name: req.Plan.Output[1].Name, Texts: make([]string, n)},
		{Name: req.Plan.Output[valueColumn].Name, Float64: make([]float64, n)},
	}}, nil
}

// plugin is a mechanism in a process of its own, with its plan.
type plugin struct {
	p   *host.Plugin
	req sdk.ReleaseRequest
}

func start(ctx context.Context, name string) (*plugin, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := host.Start(ctx, host.Command{Name: name, Path: self, Args: []string{"plugin", name}}, host.Limits{})
	if err != nil {
		return nil, err
	}
	var columns []sdk.Column
	names := make([]string, features)
	for j := range names {
		names[j] = fmt.Sprintf("x%d", j)
		columns = append(columns, measure.Number(names[j], -1, 1))
	}
	public := measure.Full(privacy.ReplaceOne, records, append(columns, measure.Number("y", 0, 1))...)
	params, err := json.Marshal(map[string]any{"model": "logistic", "target": "y", "features": names, "rate": rate, "steps": steps})
	if err != nil {
		return nil, err
	}
	req := sdk.PlanRequest{Params: params, Public: public, Target: privacy.Point{Epsilon: 1, Delta: 1e-6}}
	plan, err := p.Plan(ctx, req)
	if err != nil {
		p.Close()
		return nil, err
	}
	return &plugin{p, sdk.ReleaseRequest{PlanRequest: req, Plan: plan}}, nil
}

func (p *plugin) close() { p.p.Close() }

// epoch returns what was taken between the first draw and the last noise.
func (p *plugin) epoch(ctx context.Context, t *table) (measure.Cost, error) {
	c := &clock{NoiseDrawer: t.drawer}
	out, err := p.p.Release(ctx, p.req, func(_ context.Context, w host.RowWriter) error {
		b := sdk.Batch{Rows: records}
		for _, x := range t.columns {
			b.Columns = append(b.Columns, sdk.Values{Float64: x})
		}
		return w.Write(b)
	}, c)
	if err != nil {
		return measure.Cost{}, err
	}
	c.cost.Work += out.Columns[valueColumn].Float64[0]
	return c.cost, nil
}
