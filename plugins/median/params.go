package median

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// schema is the JSON Schema of the parameters.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "column":    {"type": "string", "description": "the numeric column"},
    "quantile":  {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.5,
                  "description": "the rank, with at most four decimals: 0.5 is the median"},
    "quantiles": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "minItems": 1,
                  "maxItems": 100, "uniqueItems": true,
                  "description": "several ranks; the budget is shared equally"},
    "method":    {"enum": ["smooth-laplace", "exponential"],
                  "default": "exponential",
                  "description": "exponential: pure epsilon, on a public lattice. smooth-laplace: needs a delta and equal weights; ` +
	`also meant where its calibration or noise_share is given"},
    "calibration": {"enum": ["exact", "published"], "default": "exact",
                  "description": "of smooth-laplace: published reproduces the papers' smaller beta, ` +
	`which is refused where it is not private enough"},
    "noise_share": {"type": "number", "minimum": 0.01, "maximum": 0.99, "default": 0.5,
                  "description": "of smooth-laplace: the part of epsilon that pays for moving the quantile; ` +
	`the rest pays for the change of the noise scale"},
    "points":    {"type": "integer", "minimum": 2, "maximum": 1048577, "default": 65537,
                  "description": "of exponential: how many evenly spaced points from lower to upper may be released"}
  },
  "required": ["column"]
}`

const (
	smoothLaplace = "smooth-laplace"
	exponential   = "exponential"
	published     = "published"
)

type params struct {
	Column      string        `json:"column"`
	Quantile    json.Number   `json:"quantile"`
	Quantiles   []json.Number `json:"quantiles"`
	Method      string        `json:"method"`
	Calibration string        `json:"calibration"`
	NoiseShare  float64       `json:"noise_share"`
	Points      int64         `json:"points"`
}

// rank is a quantile's rank as the fraction that was written down: in place
// ⌈0.1·10⌉ stands the first value, which the float64 nearest to 0.1 would miss.
type rank struct {
	num, den int64 // 0 < num < den ≤ 10000
	value    float64
}

// maxDen keeps scores, which are multiples of 1/den, small.
const maxDen = 10000

func parseRank(n json.Number) (rank, error) {
	r, ok := new(big.Rat), false
	// An exponent out of all bounds is not expanded.
	if f, err := n.Float64(); err == nil && f > 0.5/maxDen && len(n) < 64 {
		r, ok = r.SetString(n.String())
	}
	if !ok || r.Sign() <= 0 || r.Cmp(big.NewRat(1, 1)) >= 0 || !r.Denom().IsInt64() || r.Denom().Int64() > maxDen {
		return rank{}, fmt.Errorf("quantile: must lie between 0 and 1 and have at most four decimals")
	}
	f, _ := r.Float64()
	return rank{num: r.Num().Int64(), den: r.Denom().Int64(), value: f}, nil
}

// place is ⌈pn⌉.
func (r rank) place(n int) int {
	whole, rest := int64(n)/r.den, int64(n)%r.den // no product overflows
	return int(whole*r.num + (rest*r.num+r.den-1)/r.den)
}

func parseParams(raw json.RawMessage) (params, []rank, error) {
	p := params{Calibration: "exact", NoiseShare: 0.5, Points: 1<<16 + 1}
	if err := sdk.DecodeParams(raw, &p); err != nil {
		return p, nil, err
	}
	switch {
	case p.Quantile != "" && p.Quantiles != nil:
		return p, nil, fmt.Errorf("parameters: give either quantile or quantiles")
	case p.Quantiles != nil && (len(p.Quantiles) == 0 || len(p.Quantiles) > 100):
		return p, nil, fmt.Errorf("quantiles: must name 1 to 100 ranks")
	case p.Quantile == "" && p.Quantiles == nil:
		p.Quantile = "0.5"
	}
	if p.Quantiles == nil {
		p.Quantiles = []json.Number{p.Quantile}
	}
	var ranks []rank
	for _, q := range p.Quantiles {
		r, err := parseRank(q)
		if err != nil {
			return p, nil, err
		}
		ranks = append(ranks, r)
	}
	switch {
	case p.Method != "" && p.Method != smoothLaplace && p.Method != exponential:
		return p, nil, fmt.Errorf("method: must be smooth-laplace or exponential")
	case p.Calibration != "exact" && p.Calibration != published:
		return p, nil, fmt.Errorf("calibration: must be exact or published")
	case !(p.NoiseShare >= 0.01 && p.NoiseShare <= 0.99): // so that no scale overflows
		return p, nil, fmt.Errorf("noise_share: must lie between 0.01 and 0.99")
	case p.Calibration == published && p.NoiseShare != 0.5:
		return p, nil, fmt.Errorf("noise_share: the published calibration is the one with half of epsilon")
	case p.Method == exponential && p.Calibration == published:
		return p, nil, fmt.Errorf("calibration: published belongs to method: smooth-laplace")
	case p.Method == exponential && p.NoiseShare != 0.5:
		return p, nil, fmt.Errorf("noise_share: belongs to method: smooth-laplace")
	case p.Points < 2 || p.Points > 1<<20+1:
		return p, nil, fmt.Errorf("points: must lie between 2 and 1048577")
	}
	if p.Method == "" {
		p.Method = exponential
		if p.Calibration == published || p.NoiseShare != 0.5 {
			p.Method = smoothLaplace // which alone these belong to
		}
	}
	return p, ranks, nil
}

// resolve looks up the column.
func (p params) resolve(pub sdk.Public) (sdk.Column, error) {
	c, ok := pub.Column(p.Column)
	switch {
	case !ok:
		return c, fmt.Errorf("column: %q is not declared in dataset.columns", p.Column)
	case c.Type != sdk.Number:
		return c, fmt.Errorf("column: %q is not a number; give it lower and upper", p.Column)
	case !(c.Upper-c.Lower > 1e-290 && c.Upper-c.Lower < 1e300):
		return c, fmt.Errorf("column: %q needs lower below upper, by an amount between 1e-290 and 1e300", p.Column)
	}
	return c, nil
}
