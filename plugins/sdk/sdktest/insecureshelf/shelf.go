package insecureshelf

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Specimen is one broken mechanism.
type Specimen struct {
	Name string
	// Caught is the check of the suite that must refute it.
	Caught string
	// Story is the mistake of its author.
	Story     string
	Mechanism sdk.Mechanism
}

// All returns the shelf.
func All() []Specimen {
	var all []Specimen
	for _, list := range [][]Specimen{sums(), queries(), draws(), manners(), linears(), largeTables(), margins(), weights()} {
		all = append(all, list...)
	}
	return all
}

func specimen(name, caught, story string, m mechanism) Specimen {
	m.name = name
	return Specimen{Name: name, Caught: caught, Story: story, Mechanism: m}
}

// mechanism is a mechanism made of two functions.
type mechanism struct {
	name    string
	selfish bool
	designs []string
	plan    func(c sdk.Column, req sdk.PlanRequest) (sdk.Plan, error)
	release release
}

// release makes the values of a result.
type release = func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error)

// run is a release after its rows have been read.
type run struct {
	ctx   context.Context
	c     sdk.Column
	x     []float64 // the values that are present
	event privacy.Event
	host  sdk.Host
}

// query is a release that reads all rows first.
func query(f func(run) ([]float64, error)) release {
	return func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
		x, err := read(rows)
		if err != nil {
			return nil, err
		}
		return f(run{ctx, must(req), x, req.Plan.Event, host})
	}
}

// noisy has the host add the planned Laplace noise.
func (r run) noisy(values ...int64) ([]int64, error) {
	return r.host.AddLaplace(r.ctx, r.event.(privacy.DiscreteLaplace), values)
}

const schema = `{"type": "object", "additionalProperties": false, "required": ["column"], "properties": {"column": {"type": "string"}}}`

func (m mechanism) Describe() sdk.Description {
	designs := m.designs
	if designs == nil {
		designs = []string{"full", "poisson", "srswor", "collected"}
	}
	return sdk.Description{
		Name: m.name, Version: "0.0.1", Summary: "broken on purpose", Params: json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}, Designs: designs, SelfNoising: m.selfish,
	}
}

// column is the one parameter.
func column(raw json.RawMessage, pub sdk.Public) (sdk.Column, error) {
	var p struct {
		Column string `json:"column"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return sdk.Column{}, err
	}
	c, ok := pub.Column(p.Column)
	if !ok || c.Type != sdk.Number {
		return c, fmt.Errorf("column: %q must be a declared number", p.Column)
	}
	return c, nil
}

func (m mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	c, err := column(req.Params, req.Public)
	if err != nil {
		return sdk.Plan{}, err
	}
	plan, err := m.plan(c, req)
	if err != nil {
		return sdk.Plan{}, err
	}
	plan.Columns = []string{c.Name}
	if plan.Output == nil {
		plan.Output = []sdk.Field{{Name: "estimate", Type: sdk.Float64}}
	}
	if plan.Rows == 0 {
		plan.Rows = 1
	}
	return plan, nil
}

func (m mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	out, err := m.release(ctx, req, rows, host)
	if err != nil {
		return sdk.Result{}, err
	}
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "estimate", Float64: out}}}, nil
}

// read returns the values that are present.
func read(rows sdk.Rows) ([]float64, error) {
	var out []float64
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		for i, x := range b.Float64(0) {
			if b.IsValid(0, i) {
				out = append(out, x)
			}
		}
		return nil
	})
	return out, err
}

// readAll returns the lattice values of all records, 0 for one that is missing.
func readAll(c sdk.Column, rows sdk.Rows) ([]int64, error) {
	var out []int64
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		for i, x := range b.Float64(0) {
			v := int64(0)
			if b.IsValid(0, i) {
				v = lattice(c, x)
			}
			out = append(out, v)
		}
		return nil
	})
	return out, err
}

// steps is the number of lattice steps that a whole range has.
const steps = 1 << 20

// lattice is the lattice value of x: 0 at the lower bound, steps at the upper.
func lattice(c sdk.Column, x float64) int64 {
	return int64(math.RoundToEven((x - c.Lower) / (c.Upper - c.Lower) * steps))
}

func must(req sdk.ReleaseRequest) sdk.Column {
	c, _ := column(req.Params, req.Public) // Plan has seen to it
	return c
}

// laplace is noise for a query of that L1 sensitivity under both relations.
func laplace(s privacy.Sensitivity, req sdk.PlanRequest) (sdk.Plan, error) {
	scale, err := sdk.LaplaceScale(sdk.Largest(s, req.Public.SampleRelations), req.Target.Epsilon)
	return sdk.Plan{Event: privacy.DiscreteLaplace{Scale: scale, Sensitivity: s}}, err
}

// planLaplace is the plan of a query with one sensitivity.
func planLaplace(s privacy.Sensitivity) func(sdk.Column, sdk.PlanRequest) (sdk.Plan, error) {
	return func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) { return laplace(s, req) }
}

// noisy has the host add the planned noise.
func noisy(ctx context.Context, req sdk.ReleaseRequest, host sdk.Host, values ...int64) ([]int64, error) {
	return host.AddLaplace(ctx, req.Plan.Event.(privacy.DiscreteLaplace), values)
}

// released turns lattice values into the result.
func released(c sdk.Column, values []int64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v) * (c.Upper - c.Lower) / steps
	}
	return out
}
