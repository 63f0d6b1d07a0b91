package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["column"],
  "properties": {
    "column": {"type": "string", "description": "the numeric column"},
    "trim":   {"type": "number", "minimum": 0, "exclusiveMaximum": 0.5, "default": 0.1,
               "description": "the share of records to leave out at either end"}
  }
}`

// Mechanism releases the mean of what is left of a column after the smallest and the
// largest values are left out.
//
// # Contract
//
// The number of records n is public, so that the number k left out at either end is.
// Values become whole numbers, one by one; the sum of the middle n − 2k moves by at
// most the whole range when one record is replaced. Proof: trimmed-mean.proof.md.
type Mechanism struct{}

// Describe returns the description of the mechanism: its name, parameters and designs.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name: "trimmed-mean", Version: "1.0.0", Summary: "mean of a column without its smallest and largest values",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.ReplaceOne},
		Designs:   []string{"full", "srswor", "collected"},
	}
}

// layout is all that a release needs to know. It follows from public facts alone.
type layout struct {
	column  sdk.Column
	k, rest int64   // records left out at either end, and left
	step    float64 // the lattice: a power of two
	noise   privacy.DiscreteLaplace
}

func newLayout(req sdk.PlanRequest) (l layout, err error) {
	p := struct {
		Column string  `json:"column"`
		Trim   float64 `json:"trim"`
	}{Trim: 0.1}
	if err := json.Unmarshal(req.Params, &p); err != nil {
		return l, fmt.Errorf("parameters: %w", err)
	}
	c, ok := req.Public.Column(p.Column)
	n := req.Public.Design.SampleSize
	switch {
	case !ok || c.Type != sdk.Number || !(c.Lower < c.Upper):
		return l, fmt.Errorf("column: %q must be a declared number with lower below upper", p.Column)
	case c.Missing == sdk.MissingDrop:
		return l, fmt.Errorf("column: how many values of %q are left must be public; impute missing ones", p.Column)
	case n < 1 || n > 1<<30:
		return l, fmt.Errorf("the number of records must be public, and at most 2^30")
	}
	if l.step = sdk.LaplaceStep(c.Upper-c.Lower, req.Target.Epsilon); !(l.step > 0 && req.Target.Epsilon < 1000) {
		return l, fmt.Errorf("guarantee: epsilon must be positive, and below 1000")
	}
	l.column, l.k = c, int64(p.Trim*float64(n))
	l.rest = n - 2*l.k
	s := privacy.Sensitivity{AddRemove: float64(l.value(c.Upper)), ReplaceOne: float64(l.value(c.Upper))}
	l.noise = privacy.DiscreteLaplace{Sensitivity: s}
	l.noise.Scale, err = sdk.LaplaceScale(s.ReplaceOne, req.Target.Epsilon)
	return l, err
}

// value is y on the lattice: 0 at the lower bound, never falling.
func (l layout) value(y float64) int64 { return int64(math.RoundToEven((y - l.column.Lower) / l.step)) }

// grid is the lattice of the result: a power of two far below its noise.
func (l layout) grid() float64 { return sdk.LaplaceStep(l.noise.Scale*l.step/float64(l.rest), 1) }

// Plan returns what a release will cause and look like. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	noise := sdk.LaplaceError("estimate", l.noise.Scale*l.step/float64(l.rest))
	noise.SamplingNote = "it depends on which values are trimmed, and so on the private table"
	return sdk.Plan{
		Columns: []string{l.column.Name}, Event: l.noise, Rows: 1,
		Output: []sdk.Field{{
			Name: "estimate", Type: sdk.Float64, Doc: fmt.Sprintf("mean of the middle %d values, with noise", l.rest),
			// Where the result lies is public, and the host keeps it there.
			Granularity: l.grid(), Low: l.column.Lower, High: l.column.Upper,
		}},
		Errors: []sdk.ExpectedError{noise},
	}, nil
}

// Release sorts, sums the middle, and has the host add the noise.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	var values []int64
	err = sdk.Each(rows, func(b *sdk.Batch) error {
		for _, y := range b.Float64(0) {
			values = append(values, l.value(y))
		}
		return nil
	})
	if err != nil {
		return sdk.Result{}, err
	}
	if int64(len(values)) != l.k*2+l.rest {
		return sdk.Result{}, fmt.Errorf("the host handed over another number of records than is public")
	}
	slices.Sort(values)
	var sum int64
	for _, v := range values[l.k : l.k+l.rest] {
		sum += v
	}
	noisy, err := host.AddLaplace(ctx, l.noise, []int64{sum})
	if err != nil {
		return sdk.Result{}, err
	}
	// Post-processing: the noisy sum over a public number, on the lattice of the plan.
	mean := l.column.Lower + float64(noisy[0])*l.step/float64(l.rest)
	mean = math.RoundToEven(mean/l.grid()) * l.grid()
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "estimate", Float64: []float64{mean}}}}, nil
}
