package count

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "by":    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 8, "uniqueItems": true}],
              "description": "one or more category columns with public domains; the cells are all their combinations. Without it, one total"},
    "sum":   {"type": "string", "description": "a numeric column to sum up instead of counting records"},
    "noise": {"enum": ["laplace", "gaussian"], "default": "laplace", "description": "gaussian needs a delta"},
    "consistent": {"type": "boolean", "default": true,
              "description": "also release counts that are non-negative and add up to the public size, computed from the noisy ones"}
  }
}`

type params struct {
	By         names  `json:"by"`
	Sum        string `json:"sum"`
	Noise      string `json:"noise"`
	Consistent *bool  `json:"consistent"`
}

// names is a string or a list of strings.
type names []string

func (n *names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}

// own are the names of the released columns beside the groups.
var own = []string{"estimate", "noise_sd", "noise_low", "noise_high", "consistent"}

// maxCells bounds the table of a release.
const maxCells = 1 << 20

// shape is the public layout of a release.
type shape struct {
	params
	groups []sdk.Column
	sum    sdk.Column // zero when counting
	cells  int
}

func parse(raw json.RawMessage, pub sdk.Public) (*shape, error) {
	s := &shape{cells: 1}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&s.params); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	switch s.Noise {
	case "":
		s.Noise = "laplace"
	case "laplace", "gaussian":
	default:
		return nil, fmt.Errorf("noise: must be laplace or gaussian")
	}
	for _, name := range s.By {
		c, ok := pub.Column(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("by: %q is not declared in dataset.columns", name)
		case slices.Contains(own, name):
			return nil, fmt.Errorf("by: a column of the release is named %q too; rename the column of the table", name)
		case c.Type != sdk.Category || len(c.Domain) == 0:
			return nil, fmt.Errorf("by: %q needs a public domain", name)
		case len(c.Domain) > maxCells/s.cells:
			return nil, fmt.Errorf("by: the domains make more than %d cells", maxCells)
		}
		s.groups = append(s.groups, c)
		s.cells *= len(c.Domain)
	}
	if s.Sum != "" {
		c, ok := pub.Column(s.Sum)
		if !ok || c.Type != sdk.Number || !(c.Lower < c.Upper) || math.Max(-c.Lower, c.Upper) > 1e200 || c.Upper-c.Lower < 1e-200 {
			return nil, fmt.Errorf("sum: %q must be a declared number with lower below upper, of ordinary size", s.Sum)
		}
		s.sum = c
	}
	return s, s.secret(pub)
}

// secret refuses what is public already: under replace-one the number of records,
// and the number of records in groups that a neighbour cannot change.
func (s *shape) secret(pub sdk.Public) error {
	if pub.Population == 0 || s.Sum != "" || s.switches() || s.leaves() {
		return nil
	}
	return fmt.Errorf("these counts are public under replace-one: a neighbour changes neither the number of records nor their groups")
}

// switches reports whether a replaced record may leave one cell and enter another
// (P11). Out of a single cell it can only vanish (P24).
func (s *shape) switches() bool {
	if s.cells == 1 {
		return false
	}
	for _, g := range s.groups {
		if !g.Immutable {
			return true
		}
	}
	return false
}

// leaves reports whether a record may be in no cell.
func (s *shape) leaves() bool {
	for _, g := range s.groups {
		if g.Missing == sdk.MissingDrop {
			return true
		}
	}
	return s.sum.Missing == sdk.MissingDrop
}
