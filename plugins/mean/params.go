package mean

import (
	"fmt"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// schema is the JSON Schema of the parameters.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "column":  {"type": "string", "description": "the numeric column whose mean is released"},
    "columns": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1000, "uniqueItems": true,
                "description": "several numeric columns; the budget is shared equally"},
    "by":      {"type": "string", "description": "a category column with a public domain: one mean a group"},
    "noise":   {"enum": ["laplace", "gaussian", "auto"], "default": "laplace",
                "description": "gaussian needs a delta; auto takes the smaller noise, and is the default where the guarantee is in rho"},
` + linear.DifferenceSchema + linear.IntervalSchema + `
  },
  "oneOf": [{"required": ["column"]}, {"required": ["columns"]}]
}`

type params struct {
	Column  string   `json:"column"`
	Columns []string `json:"columns"`
	By      string   `json:"by"`
	Noise   string   `json:"noise"`

	Interval *linear.Interval `json:"interval"`

	Difference bool `json:"difference"`
}

func parseParams(req sdk.PlanRequest) (params, error) {
	var p params
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return p, err
	}
	if (p.Column == "") == (len(p.Columns) == 0) {
		return p, fmt.Errorf("parameters: give either column or columns")
	}
	if p.Column != "" {
		p.Columns = []string{p.Column}
	}
	var err error
	p.Noise, err = linear.NoiseOf(p.Noise, linear.Usual(req))
	return p, err
}
