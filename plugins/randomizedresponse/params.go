package randomizedresponse

import (
	"encoding/json"
	"fmt"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "column":  {"type": "string", "description": "a category column with a public domain"},
    "shuffle": {"type": "boolean", "default": false,
                "description": "charge the guarantee of the shuffled reports, which trusts the shuffler; needs a delta"},
    "local_epsilon": {"type": "number", "minimum": 1e-6, "maximum": 50,
                "description": "with shuffle: the epsilon of every single report; charged is what the shuffled reports cost, ` +
	`and the guarantee is the most that may be. By default the largest that meets the guarantee"}
  },
  "required": ["column"]
}`

type params struct {
	Column  string `json:"column"`
	Shuffle bool   `json:"shuffle"`
	// Local is nil where ε0 follows from the guarantee.
	Local *float64 `json:"local_epsilon"`
}

func parseParams(raw json.RawMessage) (params, error) {
	var p params
	if err := sdk.DecodeParams(raw, &p); err != nil {
		return p, err
	}
	switch {
	case p.Local == nil:
	case !p.Shuffle:
		return p, fmt.Errorf("local_epsilon: is for shuffle: true; without it the guarantee is that of every single report")
	case !(*p.Local >= minEps0 && *p.Local <= maxEps0):
		return p, fmt.Errorf("local_epsilon: must be between %g and %g", minEps0, float64(maxEps0))
	}
	return p, nil
}

// What the host can draw and carry.
const (
	maxCategories = 1 << 20
	minEps0       = 1e-6
	maxEps0       = 50
	maxBytes      = 60 << 20 // of one noise call
)

// resolve looks up the column and refuses tables whose reports would say more than
// their number.
func (p params) resolve(pub sdk.Public) (sdk.Column, error) {
	c, ok := pub.Column(p.Column)
	switch {
	case !ok:
		return c, fmt.Errorf("column: %q is not declared in dataset.columns", p.Column)
	case c.Type != sdk.Category || len(c.Domain) < 2:
		return c, fmt.Errorf("column: %q needs a public domain of at least two categories", p.Column)
	case len(c.Domain) > maxCategories:
		return c, fmt.Errorf("column: %q has more than %d categories", p.Column, maxCategories)
	case c.Missing == sdk.MissingDrop:
		return c, fmt.Errorf("column: %q drops values, so whether a user reports would depend on the data; declare a category for them and "+
			"say {impute: CATEGORY}", p.Column)
	}
	for _, r := range pub.SampleRelations {
		if r != privacy.ReplaceOne {
			return c, fmt.Errorf("randomized response shows how many reports there are: it needs relation: replace-one, and the full table or " +
				"a sample of fixed size")
		}
	}
	d := pub.Design
	if d.SampleSize < 1 || !d.EqualWeights {
		return c, fmt.Errorf("randomized response needs the full table or a simple random sample of fixed, public size")
	}
	if d.SampleSize*codeBytes(len(c.Domain)) > maxBytes {
		return c, fmt.Errorf("randomized response takes at most %d reports of %d categories; draw a sample (srswor)",
			maxBytes/codeBytes(len(c.Domain)), len(c.Domain))
	}
	return c, nil
}

// codeBytes is the largest size of a code below k in a message.
func codeBytes(k int) int64 {
	n := int64(1)
	for k = (k - 1) >> 7; k > 0; k >>= 7 {
		n++
	}
	return n
}
