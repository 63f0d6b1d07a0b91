package quantiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// schema is the JSON Schema of the parameters.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["column"],
  "properties": {
    "column": {"type": "string", "description": "the numeric column"},
    "quantiles": {"oneOf": [{"enum": ["quartiles", "deciles", "percentiles"]},
                            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "minItems": 1,
                             "maxItems": 1000, "uniqueItems": true}],
                  "default": "quartiles",
                  "description": "the ranks, each with at most four decimals: 0.5 is the median"},
    "by":     {` + linear.NamesSchema + `,
               "description": "one or more category columns with public domains: quantiles for each combination"},
    "step":   {"type": "number", "exclusiveMinimum": 0,
               "description": "a public fact: all values are multiples of it. It says which numbers may be released; ` +
	`without it they are numbers of about five digits"},
    "method": {"enum": ["auto", "recursion", "tree"], "default": "auto",
               "description": "recursion draws one rank after another; tree reads all ranks off noisy counts; ` +
	`auto takes the one that public facts speak for"},
` + linear.IntervalSchema + `
  }
}`

// The methods.
const (
	auto      = "auto"
	recursion = "recursion"
	tree      = "tree"
)

type params struct {
	Column    string    `json:"column"`
	Quantiles ranks     `json:"quantiles"`
	By        sdk.Names `json:"by"`
	Step      float64   `json:"step"`
	Method    string    `json:"method"`

	Interval *linear.Interval `json:"interval"`
}

// whole is the number of parts in which ranks are given: they have four decimals.
const whole = 10_000

// ranks are numbers in (0, whole), ascending.
type ranks []int64

var named = map[string]int64{"quartiles": 4, "deciles": 10, "percentiles": 100}

// UnmarshalJSON reads a list of ranks, or the name of one.
func (r *ranks) UnmarshalJSON(raw []byte) error {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		n, ok := named[name]
		if !ok {
			return errors.New("quantiles: must be quartiles, deciles, percentiles or a list of ranks")
		}
		*r = evenly(n)
		return nil
	}
	var list []json.Number
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("quantiles: must be quartiles, deciles, percentiles or a list of ranks")
	}
	*r = nil
	for _, n := range list {
		q, err := rank(n)
		if err != nil {
			return err
		}
		*r = append(*r, q)
	}
	slices.Sort(*r)
	if len(*r) == 0 || len(*r) > 1000 || len(slices.Compact(slices.Clone(*r))) < len(*r) {
		return errors.New("quantiles: must be 1 to 1000 different ranks")
	}
	return nil
}

// evenly are the ranks that cut all rows into n parts.
func evenly(n int64) (out ranks) {
	for i := int64(1); i < n; i++ {
		out = append(out, i*whole/n)
	}
	return out
}

// rank is the number that was written down, not the float64 nearest to it.
func rank(n json.Number) (int64, error) {
	wrong := errors.New("quantiles: each rank must lie between 0 and 1 and have at most four decimals")
	if f, err := n.Float64(); err != nil || !(f > 0.5/whole && f < 1) || len(n) > 64 {
		return 0, wrong // an exponent out of all bounds is not expanded
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.Mul(r, big.NewRat(whole, 1)).IsInt() || r.Num().Int64() >= whole {
		return 0, wrong
	}
	return r.Num().Int64(), nil
}

func parseParams(raw json.RawMessage) (params, error) {
	p := params{Quantiles: evenly(4), Method: auto}
	if err := sdk.DecodeParams(raw, &p); err != nil {
		return p, err
	}
	switch {
	case p.Method != auto && p.Method != recursion && p.Method != tree:
		return p, fmt.Errorf("method: must be auto, recursion or tree")
	case !(p.Step >= 0):
		return p, fmt.Errorf("step: must be above 0")
	case p.Interval != nil && p.Method == tree:
		return p, fmt.Errorf("method: an interval needs recursion, whose error in rank is public: leave method out")
	case p.Interval != nil && len(p.Quantiles) > mostIntervals:
		return p, fmt.Errorf("quantiles: at most %d have intervals", mostIntervals)
	}
	return p, nil
}
