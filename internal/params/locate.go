package params

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Problem is a parameter that a schema refuses.
type Problem struct {
	Path    []string // keys and indices from the parameters to it
	Message string
	// Unknown says that the schema does not have the last key of Path.
	Unknown bool
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// locate finds the innermost value that the schema at a place refuses, given that
// it refuses v.
func (t *tree) locate(at string, v any, path []string) *Problem {
	s := t.within[at]
	if s.Ref != "" {
		if target, ok := t.follow(s.Ref); ok && !t.accepts(target, v) {
			return t.locate(target, v, path)
		}
	}
	if p := wrongType(s, v, path); p != nil {
		return p
	}
	switch v := v.(type) {
	case map[string]any:
		if p := t.inObject(at, s, v, path); p != nil {
			return p
		}
	case []any:
		for i, x := range v {
			for _, place := range []string{at + "/prefixItems/" + strconv.Itoa(i), at + "/items"} {
				if t.within[place] == nil || strings.HasSuffix(place, "/items") && i < len(s.PrefixItems) {
					continue
				}
				if !t.accepts(place, x) {
					return t.locate(place, x, with(path, strconv.Itoa(i)))
				}
			}
		}
	}
	for i := range s.AllOf {
		if place := at + "/allOf/" + strconv.Itoa(i); !t.accepts(place, v) {
			return t.locate(place, v, path)
		}
	}
	return &Problem{Path: path, Message: words(s, v)}
}

// inObject looks for what is wrong with the keys of a mapping and their values.
func (t *tree) inObject(at string, s *jsonschema.Schema, v map[string]any, path []string) *Problem {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		place := at + "/properties/" + pointer(key)
		switch {
		case t.within[place] != nil:
			if !t.accepts(place, v[key]) {
				return t.locate(place, v[key], with(path, key))
			}
		case s.AdditionalProperties != nil && len(s.PatternProperties) == 0 && !t.accepts(at+"/additionalProperties", v[key]):
			if closed(s.AdditionalProperties) {
				return &Problem{Path: with(path, key), Message: "unknown parameter", Unknown: true}
			}
			return t.locate(at+"/additionalProperties", v[key], with(path, key))
		}
	}
	for _, key := range s.Required {
		if _, ok := v[key]; !ok {
			return &Problem{Path: path, Message: "lacks " + key}
		}
	}
	return nil
}

// closed reports that a schema is false: it accepts nothing.
func closed(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}

func with(path []string, key string) []string { return append(slices.Clone(path), key) }

// names are the keys that a schema declares.
func names(s *jsonschema.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

// wrongType says that a value is not of the kind that the schema names.
func wrongType(s *jsonschema.Schema, v any, path []string) *Problem {
	want := s.Types
	if s.Type != "" {
		want = []string{s.Type}
	}
	if len(want) == 0 {
		return nil
	}
	is := kindOf(v)
	for _, w := range want {
		if w == is || w == "number" && is == "integer" {
			return nil
		}
	}
	return &Problem{Path: path, Message: fmt.Sprintf("must be of type %s, not %s", strings.Join(want, " or "), is)}
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}
