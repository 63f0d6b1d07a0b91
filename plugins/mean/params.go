package mean

import (
	"bytes"
	"encoding/json"
	"fmt"

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
    "noise":   {"enum": ["laplace", "gaussian"], "default": "laplace", "description": "gaussian needs a delta"}
  },
  "oneOf": [{"required": ["column"]}, {"required": ["columns"]}]
}`

type params struct {
	Column  string   `json:"column"`
	Columns []string `json:"columns"`
	By      string   `json:"by"`
	Noise   string   `json:"noise"`
}

func parseParams(raw json.RawMessage) (params, error) {
	var p params
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("parameters: %w", err)
	}
	if (p.Column == "") == (len(p.Columns) == 0) {
		return p, fmt.Errorf("parameters: give either column or columns")
	}
	if p.Column != "" {
		p.Columns = []string{p.Column}
	}
	switch p.Noise {
	case "":
		p.Noise = "laplace"
	case "laplace", "gaussian":
	default:
		return p, fmt.Errorf("noise: must be laplace or gaussian")
	}
	return p, nil
}

// resolve looks up the columns to average. The group is the zero Column without by.
func (p params) resolve(pub sdk.Public) (numbers []sdk.Column, group sdk.Column, err error) {
	for _, name := range p.Columns {
		c, ok := pub.Column(name)
		switch {
		case !ok:
			return nil, group, fmt.Errorf("column: %q is not declared in dataset.columns", name)
		case c.Type != sdk.Number:
			return nil, group, fmt.Errorf("column: %q is not a number; give it lower and upper", name)
		case !(c.Lower < c.Upper):
			return nil, group, fmt.Errorf("column: %q needs lower below upper", name)
		}
		numbers = append(numbers, c)
	}
	if p.By == "" {
		return numbers, group, nil
	}
	group, ok := pub.Column(p.By)
	switch {
	case !ok:
		return nil, group, fmt.Errorf("by: %q is not declared in dataset.columns", p.By)
	case group.Type != sdk.Category || len(group.Domain) == 0:
		return nil, group, fmt.Errorf("by: %q needs a public domain", p.By)
	}
	return numbers, group, nil
}
