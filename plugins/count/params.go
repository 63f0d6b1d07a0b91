package count

import (
	"fmt"
	"math"

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
    "sum":   {"type": "string", "description": "a numeric column to sum up instead of counting records"},
    "noise": {"enum": ["laplace", "gaussian", "auto"], "default": "laplace",
              "description": "gaussian needs a delta; auto takes the smaller noise, and is the default where the guarantee is in rho"},
` + linear.IntervalSchema + `,
    "consistent": {"type": "boolean", "default": true,
              "description": "also release counts that are non-negative and add up to the public size, computed from the noisy ones"}
  }
}`

type params struct {
	By         sdk.Names `json:"by"`
	Sum        string    `json:"sum"`
	Noise      string    `json:"noise"`
	Consistent *bool     `json:"consistent"`

	Interval *linear.Interval `json:"interval"`
}

// own are the names of the released columns beside the groups.
var own = []string{"estimate", "noise_sd", "consistent", linear.LowField, linear.HighField}

// shape is the public layout of a release.
type shape struct {
	params
	cells linear.Cells
	sum   sdk.Column // zero when counting
	units sdk.Units
}

func parse(req sdk.PlanRequest) (*shape, error) {
	s, pub := &shape{}, req.Public
	if err := sdk.DecodeParams(req.Params, &s.params); err != nil {
		return nil, err
	}
	var err error
	if s.Noise, err = linear.NoiseOf(s.Noise, linear.Usual(req)); err != nil {
		return nil, err
	}
	if s.cells, err = linear.NewCells(pub, s.By, own...); err != nil {
		return nil, err
	}
	if s.Sum != "" {
		c, ok := pub.Column(s.Sum)
		if !ok || c.Type != sdk.Number || !(c.Lower < c.Upper) || math.Max(-c.Lower, c.Upper) > 1e200 || c.Upper-c.Lower < 1e-200 {
			return nil, fmt.Errorf("sum: %q must be a declared number with lower below upper, of ordinary size", s.Sum)
		}
		s.sum = c
	}
	s.units = s.cells.Units(pub, s.values()...)
	if s.Sum == "" && s.cells.N > 1 && pub.Design.Kind == "stratified" && !s.units.Leaves {
		s.units.Switches = true // the counts of strata are public; jobs that ask for them keep their noise
	}
	return s, s.secret(pub)
}

// values are the columns that are read beside the groups.
func (s *shape) values() []sdk.Column {
	if s.Sum == "" {
		return nil
	}
	return []sdk.Column{s.sum}
}

// secret refuses what is public already: under replace-one the number of records,
// and the number of records in groups that a neighbour cannot change.
func (s *shape) secret(pub sdk.Public) error {
	if pub.Population == 0 || s.Sum != "" || s.units.Switches || s.units.Leaves {
		return nil
	}
	return fmt.Errorf("these counts are public under replace-one: a neighbour changes neither the number of records nor their groups")
}
