package regression

import (
	"encoding/json"
	"fmt"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// schema is the JSON Schema of the parameters.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["target", "features"],
  "properties": {
    "target":   {"type": "string", "description": "the number that is explained; it needs bounds"},
    "features": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 200, "uniqueItems": true,
                 "description": "what explains it: numbers with bounds, and categories with a domain, whose first value is the reference"},
    "log":      {"type": "array", "items": {"type": "string"}, "uniqueItems": true,
                 "description": "columns that enter with their natural logarithm, taken after clipping; ` +
	`their lower bound must be positive"},
    "ridge":    {"type": "number", "minimum": 0, "maximum": 1000, "default": 0,
                 "description": "weight of half the squared norm of the scaled coefficients, without the intercept, ` +
	`beside half the mean squared error"},
    "noise":    {"enum": ["gaussian", "laplace"], "default": "gaussian",
                 "description": "gaussian needs a delta; laplace needs none and adds more noise"}
  }
}`

const (
	maxFeatures = 200
	maxWidth    = 250 // coordinates, with those of categories
	maxRidge    = 1000
)

type params struct {
	Target   string   `json:"target"`
	Features []string `json:"features"`
	Log      []string `json:"log"`
	Ridge    float64  `json:"ridge"`
	Noise    string   `json:"noise"`
}

func parseParams(raw json.RawMessage) (params, error) {
	p := params{Noise: "gaussian"}
	if err := sdk.DecodeParams(raw, &p); err != nil {
		return p, err
	}
	switch {
	case len(p.Features) == 0 || len(p.Features) > maxFeatures:
		return p, fmt.Errorf("features: name between 1 and %d columns", maxFeatures)
	case !(p.Ridge >= 0 && p.Ridge <= maxRidge):
		return p, fmt.Errorf("ridge: must be between 0 and %d", maxRidge)
	case p.Noise != "gaussian" && p.Noise != "laplace":
		return p, fmt.Errorf("noise: must be gaussian or laplace")
	}
	return p, nil
}
