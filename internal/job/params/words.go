package params

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// words lists what a schema wants of a value that it refuses and whose parts it does
// not refuse.
func words(s *jsonschema.Schema, v any) string {
	var all []string
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	say(s.Enum != nil && !isOneOf(s.Enum, v), "must be %s", list(s.Enum))
	say(s.Const != nil && !isOneOf([]any{deref(s.Const)}, v), "must be %s", list([]any{deref(s.Const)}))
	switch v := v.(type) {
	case float64:
		say(s.Minimum != nil && v < deref(s.Minimum), "must be at least %v", deref(s.Minimum))
		say(s.Maximum != nil && v > deref(s.Maximum), "must be at most %v", deref(s.Maximum))
		say(s.ExclusiveMinimum != nil && v <= deref(s.ExclusiveMinimum), "must be above %v", deref(s.ExclusiveMinimum))
		say(s.ExclusiveMaximum != nil && v >= deref(s.ExclusiveMaximum), "must be below %v", deref(s.ExclusiveMaximum))
	case string:
		n := utf8.RuneCountInString(v)
		say(s.MinLength != nil && n < deref(s.MinLength), "must be at least %v characters long", deref(s.MinLength))
		say(s.MaxLength != nil && n > deref(s.MaxLength), "must be at most %v characters long", deref(s.MaxLength))
		say(s.Pattern != "" && !matches(s.Pattern, v), "must match the expression %s", s.Pattern)
	case []any:
		say(s.MinItems != nil && len(v) < deref(s.MinItems), "must have at least %v entries", deref(s.MinItems))
		say(s.MaxItems != nil && len(v) > deref(s.MaxItems), "must have at most %v entries", deref(s.MaxItems))
		say(s.UniqueItems && twice(v), "must have no entry twice")
	}
	if len(all) > 0 {
		return all[0]
	}
	if needs := alternatives(slices.Concat(s.OneOf, s.AnyOf)); needs != "" {
		return needs
	}
	if s.Not != nil && len(s.Not.Required) > 0 {
		return "must not have " + strings.Join(s.Not.Required, " and ") + " together"
	}
	return "is not what the mechanism's schema of its parameters allows"
}

// alternatives are the keys of which a mapping needs some, where that is all that
// the alternatives ask for.
func alternatives(all []*jsonschema.Schema) string {
	var keys []string
	for _, s := range all {
		if len(s.Required) == 0 {
			return ""
		}
		keys = append(keys, strings.Join(s.Required, " and "))
	}
	if len(keys) == 0 {
		return ""
	}
	return "must have one of: " + strings.Join(keys, ", ")
}

func matches(expr, v string) bool {
	ok, err := regexp.MatchString(expr, v)
	return ok && err == nil
}

func twice(all []any) bool {
	for i, x := range all {
		if isOneOf(all[:i], x) {
			return true
		}
	}
	return false
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// isOneOf compares values as JSON.
func isOneOf(all []any, v any) bool {
	for _, x := range all {
		if text(x) == text(v) {
			return true
		}
	}
	return false
}

func list(all []any) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = text(x)
		if s, ok := x.(string); ok {
			texts[i] = s
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
