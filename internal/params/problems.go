package params

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Problem is a parameter that a schema refuses.
type Problem struct {
	Path    []string // keys and indices from the parameters to it
	Message string
	// Unknown says that the schema does not have the last key of Path.
	Unknown bool

	vague bool // it says that a value is wrong, and not which part of it
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// Problems is one or more parameters that a schema refuses, in the order of their paths,
// a value behind its parts.
type Problems []*Problem

// Error is the message of the first.
func (p Problems) Error() string { return p[0].Message }

// mostProblems bounds how many are reported: more help nobody.
const mostProblems = 20

// Validate returns Problems for the parameters that are wrong.
func (s *Schema) Validate(params json.RawMessage) (err error) {
	defer recovered(&err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return Problems{{Message: "is not a mapping"}}
	}
	var wrong *jsonschema.ValidationError
	if err = s.rules.Validate(v); !errors.As(err, &wrong) {
		return err
	}
	return tidy(s.collect(wrong, v))
}

// collect turns the library's tree of errors into problems, one for each leaf.
func (s *Schema) collect(e *jsonschema.ValidationError, v any) Problems {
	_, pointer, _ := strings.Cut(e.SchemaURL, "#")
	at := s.within[pointer]
	if at == nil {
		at = map[string]any{}
	}
	path := e.InstanceLocation
	one := func(format string, args ...any) Problems {
		return Problems{{Path: path, Message: fmt.Sprintf(format, args...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return one("must be of type %s, not %s", strings.Join(k.Want, " or "), kindOf(v, path))
	case *kind.Enum:
		return one("must be %s", list(k.Want))
	case *kind.Const:
		return one("must be %s", list([]any{k.Want}))
	case *kind.Minimum:
		return one("must be at least %v", number(k.Want))
	case *kind.Maximum:
		return one("must be at most %v", number(k.Want))
	case *kind.ExclusiveMinimum:
		return one("must be above %v", number(k.Want))
	case *kind.ExclusiveMaximum:
		return one("must be below %v", number(k.Want))
	case *kind.MinLength:
		return one("must be at least %v characters long", k.Want)
	case *kind.MaxLength:
		return one("must be at most %v characters long", k.Want)
	case *kind.Pattern:
		return one("must match the expression %s", k.Want)
	case *kind.MinItems:
		return one("must have at least %v entries", k.Want)
	case *kind.MaxItems:
		return one("must have at most %v entries", k.Want)
	case *kind.UniqueItems:
		return one("must have no entry twice")
	case *kind.Required:
		var all Problems
		for _, name := range k.Missing {
			all = append(all, one("lacks %s", name)...)
		}
		return all
	case *kind.AdditionalProperties:
		var all Problems
		for _, name := range k.Properties {
			all = append(all, &Problem{Path: append(slices.Clone(path), name), Message: "unknown parameter", Unknown: true})
		}
		return all
	case *kind.OneOf, *kind.AnyOf:
		if keys := alternatives(at); keys != "" {
			return Problems{{Path: path, Message: "must have one of: " + keys, vague: true}}
		}
	case *kind.Not:
		if names := required(at["not"]); names != "" {
			return Problems{{Path: path, Message: "must not have " + names + " together", vague: true}}
		}
	default:
		var all Problems
		for _, cause := range e.Causes {
			all = append(all, s.collect(cause, v)...)
		}
		if all != nil {
			return all
		}
	}
	return Problems{{Path: path, Message: "is not what the mechanism's schema of its parameters allows", vague: true}}
}

// tidy sorts problems, and leaves out a second one of the same value and a vague one of a
// value that has a plain one.
func tidy(all Problems) Problems {
	all = slices.DeleteFunc(slices.Clone(all), func(p *Problem) bool {
		return p.vague && slices.ContainsFunc(all, func(q *Problem) bool {
			return !q.vague && len(q.Path) >= len(p.Path) && slices.Equal(q.Path[:len(p.Path)], p.Path)
		})
	})
	slices.SortStableFunc(all, func(p, q *Problem) int { return comparePaths(p.Path, q.Path) })
	all = slices.CompactFunc(all, func(p, q *Problem) bool {
		return slices.Equal(p.Path, q.Path) && (p.Message == q.Message || !strings.HasPrefix(q.Message, "lacks "))
	})
	return all[:min(len(all), mostProblems)]
}

// comparePaths orders keys by name, indices by number, and a value behind its parts.
func comparePaths(p, q []string) int {
	for i := range min(len(p), len(q)) {
		m, err1 := strconv.Atoi(p[i])
		n, err2 := strconv.Atoi(q[i])
		c := strings.Compare(p[i], q[i])
		if err1 == nil && err2 == nil {
			c = cmp.Compare(m, n)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(q), len(p))
}

// alternatives lists the keys that a mapping may choose from, if its alternatives ask
// for nothing else.
func alternatives(s map[string]any) string {
	var keys []string
	for _, word := range []string{"oneOf", "anyOf"} {
		branches, _ := s[word].([]any)
		for _, b := range branches {
			names := required(b)
			if names == "" {
				return ""
			}
			keys = append(keys, names)
		}
	}
	return strings.Join(keys, ", ")
}

// required are the keys that a schema requires, in words.
func required(s any) string {
	object, _ := s.(map[string]any)
	all, _ := object["required"].([]any)
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = fmt.Sprint(name)
	}
	return strings.Join(names, " and ")
}

// kindOf names the type of the value at a path.
func kindOf(v any, path []string) string {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, _ := strconv.Atoi(key)
			v = x[i]
		}
	}
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
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok && r.IsInt() {
			return "integer"
		}
	}
	return "number"
}

func number(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func list(all []any) string {
	texts := make([]string, len(all))
	for i, x := range all {
		if s, ok := x.(string); ok {
			texts[i] = s
		} else if b, err := json.Marshal(x); err == nil {
			texts[i] = string(b)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}
