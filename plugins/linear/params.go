package linear

import "github.com/dprelease/dprelease/plugins/sdk"

// Common are the parameters that linear mechanisms share.
type Common struct {
	By       sdk.Names `json:"by"`
	Noise    string    `json:"noise"`
	Interval *Interval `json:"interval"`
}

// Schema is the JSON Schema of the parameters of a linear mechanism: its own properties and those
// of Common.
func Schema(required, properties string) string {
	return `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": [` + required + `],
  "properties": {` + properties + `
    "by":    {` + NamesSchema + `,
              "description": "one or more category columns with public domains: a result for each combination"},
    "noise": {"enum": ["auto", "laplace", "gaussian"], "default": "auto",
              "description": "auto takes the smaller noise that the guarantee allows; gaussian needs a delta"},
` + IntervalSchema + `
  }
}`
}

// NamesSchema lets a property be the name of one column or a list of up to eight.
const NamesSchema = `"oneOf": [{"type": "string"},
                        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 8, "uniqueItems": true}]`

// DifferenceSchema is the property difference, which the host writes.
const DifferenceSchema = `    "difference": {"type": "boolean",
                   "description": "true takes a difference from the middle of the bounds, false the ratio of two sums, ` +
	`where the weights of a draw do not always add up to the same; ` +
	`without it the ratio, unless the mean that the job assumes makes the difference more exact"},
`

// IntervalSchema is the property interval, which the host writes. The conformance suite takes its
// constants as examples.
const IntervalSchema = `    "interval": {"anyOf": [{"const": {"level": 95, "square": 0.9, "mean": 0.1, "rows": 6}},
                           {"const": {"level": 95, "square": 1, "weighted": true}}, {"type": "object"}],
                 "description": "written by the host for a release that says interval beside params"}`

// Read looks up the groups of a request and the kind of noise. Fields are the columns of
// the result beside the groups.
func (p Common) Read(public sdk.Public, fields []sdk.Field) (Cells, string, error) {
	noise, err := NoiseOf(p.Noise, Auto)
	if err != nil {
		return Cells{}, "", err
	}
	cells, err := NewCells(public, p.By, Names(fields)...)
	return cells, noise, err
}
