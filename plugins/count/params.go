package count

import (
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "by":    {` + linear.NamesSchema + `,
              "description": "one or more category columns with public domains; the cells are all their combinations; ` +
	`one total without it"},
    "noise": {"enum": ["laplace", "gaussian", "auto"], "default": "laplace",
              "description": "gaussian needs a delta; auto takes the smaller noise, and is the default where the guarantee is in rho"},
` + linear.IntervalSchema + `,
    "consistent": {"type": "boolean", "default": true,
              "description": "also release counts that are non-negative and add up to the public size, computed from the noisy ones"}
  }
}`

type params struct {
	By         sdk.Names `json:"by"`
	Noise      string    `json:"noise"`
	Consistent *bool     `json:"consistent"`

	Interval *linear.Interval `json:"interval"`
}

// own are the names of the released columns beside the groups.
var own = []string{sdk.EstimateField, sdk.SDField, consistentField, linear.LowField, linear.HighField}
