package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism releases the line that fits y to x best. Its query is declared: the host computes the five sums of each row
// that the line needs, so no row reaches this program.
type Mechanism struct{ sdk.Declared }

// Describe returns what the host must know of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{Name: "slope", Version: "1.0.0", Summary: "line of least squares", DeclaresQuery: true,
		Params: json.RawMessage(`{"type": "object", "required": ["x", "y"],
			"properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "additionalProperties": false}`)}
}

// Plan returns what a release adds up, and what it looks like. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	x, xMiddle, xHalf, err := unit(req, "x")
	y, yMiddle, yHalf, err2 := unit(req, "y")
	if err = errors.Join(err, err2); err != nil {
		return sdk.Plan{}, err
	}
	both := x + " * " + y // missing where one of them is
	query := sdk.Query{Coordinates: []sdk.Coordinate{
		{Value: "1 + 0 * " + both, Low: 0, High: 1},
		{Value: x + " + 0 * " + both, Low: -1, High: 1},
		{Value: y + " + 0 * " + both, Low: -1, High: 1},
		{Value: x + " * " + x + " + 0 * " + both, Low: 0, High: 1},
		{Value: both, Low: -1, High: 1},
	}}
	slope := "(n * xy - x * y) / (n * xx - x * x)"
	number := func(name string, value float64) sdk.Constant {
		return sdk.Constant{Name: name, Numbers: []float64{value}}
	}
	return sdk.Plan{
		Rows:    1,
		Queries: []sdk.Query{query},
		Finish: &sdk.Finish{
			Constants: []sdk.Constant{number("x0", xMiddle), number("y0", yMiddle), number("rise", yHalf/xHalf), number("half", yHalf)},
			Noise:     []sdk.NoiseColumns{{Columns: []string{"n", "x", "y", "xx", "xy"}}},
		},
		Output: []sdk.Field{
			{Name: "slope", Type: sdk.Float64, Value: "rise * " + slope, Doc: "by how much y grows with x"},
			{Name: "at_zero", Type: sdk.Float64, Value: "y0 + half * (y - " + slope + " * x) / n - rise * " + slope + " * x0",
				Doc: "where the line meets x = 0"},
		},
	}, nil
}

// unit returns a column, moved and scaled to between -1 and 1, and its middle and half of its width.
func unit(req sdk.PlanRequest, parameter string) (expression string, middle, half float64, err error) {
	c, err := req.Column(parameter)
	if err != nil || c.Type != sdk.Number || !(c.Lower < c.Upper) {
		return "", 0, 0, fmt.Errorf("%s: must be a declared number with lower below upper", parameter)
	}
	middle, half = c.Lower/2+c.Upper/2, c.Upper/2-c.Lower/2
	return fmt.Sprintf("((%s - (%v)) / %v)", c.Expression(), middle, half), middle, half, nil
}
