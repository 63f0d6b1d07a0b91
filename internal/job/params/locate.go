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

// Problems is one or more parameters that a schema refuses, the keys of a mapping in
// order.
type Problems []*Problem

// Error is the message of the first.
func (p Problems) Error() string { return p[0].Message }

// mostProblems bounds how many are looked for: more help nobody, and the schema may be
// hostile.
const mostProblems = 20

// locate finds the innermost values that the schema at a place refuses, given that it
// refuses v. It returns at least one.
func (t *tree) locate(at string, v any, path []string) Problems {
	s := t.within[at]
	if s.Ref != "" {
		if target, ok := t.follow(s.Ref); ok && !t.accepts(target, v) {
			return t.locate(target, v, path)
		}
	}
	if p := wrongType(s, v, path); p != nil {
		return Problems{p}
	}
	var found Problems
	switch v := v.(type) {
	case map[string]any:
		found = t.inObject(at, s, v, path)
	case []any:
		found = t.inArray(at, s, v, path)
	}
	if len(found) > 0 {
		return found
	}
	for i := range s.AllOf {
		if place := at + "/allOf/" + strconv.Itoa(i); !t.accepts(place, v) {
			return t.locate(place, v, path)
		}
	}
	return Problems{{Path: path, Message: words(s, v)}}
}

// inArray looks for what is wrong with the entries of a list.
func (t *tree) inArray(at string, s *jsonschema.Schema, v []any, path []string) Problems {
	var found Problems
	for i, x := range v {
		for _, place := range []string{at + "/prefixItems/" + strconv.Itoa(i), at + "/items"} {
			if t.within[place] == nil || strings.HasSuffix(place, "/items") && i < len(s.PrefixItems) {
				continue
			}
			if len(found) < mostProblems && !t.accepts(place, x) {
				found = append(found, t.locate(place, x, with(path, strconv.Itoa(i)))...)
			}
		}
	}
	return found
}

// inObject looks for what is wrong with the keys of a mapping and their values.
func (t *tree) inObject(at string, s *jsonschema.Schema, v map[string]any, path []string) Problems {
	var found Problems
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if len(found) >= mostProblems {
			return found
		}
		place := at + "/properties/" + pointer(key)
		switch {
		case t.within[place] != nil:
			if !t.accepts(place, v[key]) {
				found = append(found, t.locate(place, v[key], with(path, key))...)
			}
		case s.AdditionalProperties != nil && len(s.PatternProperties) == 0 && !t.accepts(at+"/additionalProperties", v[key]):
			if closed(s.AdditionalProperties) {
				found = append(found, &Problem{Path: with(path, key), Message: "unknown parameter", Unknown: true})
			} else {
				found = append(found, t.locate(at+"/additionalProperties", v[key], with(path, key))...)
			}
		}
	}
	for _, key := range s.Required {
		if _, ok := v[key]; !ok {
			found = append(found, &Problem{Path: path, Message: "lacks " + key})
		}
	}
	return found
}

// closed reports that a schema is false: it accepts nothing.
func closed(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}

func with(path []string, key string) []string { return append(slices.Clone(path), key) }

// names are the keys that a schema declares.
func names(s *jsonschema.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

// wrongType returns the problem of a value that is not of the kind that the schema names,
// else nil.
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
