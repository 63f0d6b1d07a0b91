package params

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const example = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false, "required": ["model"],
  "properties": {
    "model": {"enum": ["linear", "logistic"]},
    "columns": {"type": "array", "items": {"$ref": "#/$defs/name"}, "minItems": 1, "maxItems": 3, "uniqueItems": true},
    "rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "steps": {"type": "integer", "minimum": 1},
    "by": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "box": {"type": "object", "properties": {"in/ner": {"type": "boolean"}}, "additionalProperties": {"type": "string"}}
  },
  "allOf": [{"not": {"required": ["rate", "steps"]}}],
  "$defs": {"name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4}}
}`

// Where a parameter is wrong, and what is said of it.
func TestProblems(t *testing.T) {
	s, err := Compile(json.RawMessage(example))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ params, want string }{
		{`{"model": "linear"}`, ``},
		{`{"model": "logistic", "columns": ["a", "b"], "rate": 1, "by": "g", "box": {"in/ner": true, "x": "y"}}`, ``},
		{`{`, `: is not a mapping`},
		{`3`, `: must be of type object, not integer`},
		{`{}`, `: lacks model`},
		{`{"model": "cubic"}`, `model: must be one of linear, logistic`},
		{`{"model": 1}`, `model: must be one of linear, logistic`},
		{`{"model": "linear", "zoo": 1, "ape": 2}`, `ape: unknown parameter; zoo: unknown parameter`},
		{`{"steps": 0, "rate": 7, "columns": ["a", "B", 3], "zoo": 1}`,
			`columns/1: must match the expression ^[a-z]+$; columns/2: must be of type string, not integer; rate: must be at most 1; steps: must be at least 1; zoo: unknown parameter; : lacks model`},
		{`{"model": "linear", "columns": "a"}`, `columns: must be of type array, not string`},
		{`{"model": "linear", "columns": []}`, `columns: must have at least 1 entries`},
		{`{"model": "linear", "columns": ["a", "b", "c", "d"]}`, `columns: must have at most 3 entries`},
		{`{"model": "linear", "columns": ["a", "b", "a"]}`, `columns: must have no entry twice`},
		{`{"model": "linear", "columns": ["a", 7]}`, `columns/1: must be of type string, not integer`},
		{`{"model": "linear", "columns": ["a", "B"]}`, `columns/1: must match the expression ^[a-z]+$`},
		{`{"model": "linear", "columns": ["abcde"]}`, `columns/0: must be at most 4 characters long`},
		{`{"model": "linear", "rate": 0}`, `rate: must be above 0`},
		{`{"model": "linear", "rate": 1.5}`, `rate: must be at most 1`},
		{`{"model": "linear", "steps": 0}`, `steps: must be at least 1`},
		{`{"model": "linear", "steps": 1.5}`, `steps: must be of type integer, not number`},
		{`{"model": "linear", "steps": 1, "rate": 1}`, `: must not have rate and steps together`},
		{`{"model": "linear", "by": 3}`, `by: is not what the mechanism's schema of its parameters allows`},
		{`{"model": "linear", "box": {"in/ner": 1}}`, `box/in/ner: must be of type boolean, not integer`},
		{`{"model": "linear", "box": {"x": null}}`, `box/x: must be of type string, not null`},
	} {
		got := ""
		err := s.Validate(json.RawMessage(c.params))
		var all Problems
		if errors.As(err, &all) {
			for i, p := range all {
				if i > 0 {
					got += "; "
				}
				got += strings.Join(p.Path, "/") + ": " + p.Message
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.params, err)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.params, got, c.want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	s, err := Compile(json.RawMessage(`{"oneOf": [{"required": ["column"]}, {"required": ["columns"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, params := range []string{`{}`, `{"column": 1, "columns": 2}`} {
		if err := s.Validate(json.RawMessage(params)); err == nil || err.Error() != "must have one of: column, columns" {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// A schema that is none, that reads something else, or that would be followed for
// ever is refused.
func TestRefusedSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   error
	}{
		"no JSON":                     {`{`, errNotSchema},
		"a number":                    {`3`, errNotSchema},
		"no list":                     {`{"required": 3}`, errNotSchema},
		"null inside":                 {`{"properties": {"a": null}}`, errNotSchema},
		"unknown type":                {`{"type": "text"}`, errNotSchema},
		"unknown type inside":         {`{"items": {"type": ["text", "null"]}}`, errNotSchema},
		"multiple of nothing":         {`{"multipleOf": 0}`, errNotSchema},
		"bad expression":              {`{"pattern": "("}`, errNotSchema},
		"another version":             {`{"$schema": "http://json-schema.org/draft-04/schema#"}`, errVersion},
		"a file":                      {`{"$ref": "file:///etc/passwd"}`, errReference},
		"a site":                      {`{"properties": {"a": {"$ref": "https://example.org/x"}}}`, errReference},
		"a neighbour":                 {`{"$ref": "other.json#/a"}`, errReference},
		"an anchor":                   {`{"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}`, errReference},
		"a dynamic anchor":            {`{"$dynamicRef": "#a", "$dynamicAnchor": "a"}`, errReference},
		"nothing":                     {`{"$ref": "#/$defs/b", "$defs": {"a": {}}}`, errReference},
		"another base":                {`{"properties": {"a": {"$id": "https://example.org/b"}}}`, errReference},
		"itself":                      {`{"$ref": "#"}`, errRecursive},
		"itself in other letters":     {`{"$REF": "#"}`, errRecursive},
		"itself inside":               {`{"properties": {"a": {"$ref": "#"}}}`, errRecursive},
		"itself in an alternative":    {`{"anyOf": [{"$ref": "#"}]}`, errRecursive},
		"itself in a rest":            {`{"unevaluatedProperties": {"$ref": "#"}}`, errRecursive},
		"itself in a condition":       {`{"if": {}, "then": {"$ref": "#/if/../"}}`, errReference},
		"each other":                  {`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}`, errRecursive},
		"itself escaped":              {`{"$defs": {"a b": {"allOf": [{"$ref": "#/$defs/a%20b"}]}}}`, errRecursive},
		"itself in old dependencies":  {`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"$ref": "#"}}}`, errRecursive},
		"itself in an old tuple":      {`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"$ref": "#"}]}`, errRecursive},
		"itself in old definitions":   {`{"definitions": {"a": {"$ref": "#/definitions/a"}}}`, errRecursive},
		"itself in dependent schemas": {`{"dependentSchemas": {"a": {"$ref": "#"}}}`, errRecursive},
	} {
		if _, err := Compile(json.RawMessage(c.schema)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// Shared parts are no recursion, and a key may have any name.
func TestTakenSchemas(t *testing.T) {
	for _, schema := range []string{
		`{}`, `true`,
		`{"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}}`,
		`{"properties": {"$ref": {"type": "string"}, "$id": {}, "a/b~c %": {"$ref": "#/properties/$ref"}}}`,
		`{"properties": {"a": {"$ref": "#/properties/b~1%25/items"}, "b/%": {"items": {"type": "string"}}}}`,
		`{"default": {"$ref": "#"}, "const": {"$ref": "#"}}`,
		`{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"format": {"type": "string", "format": "date"}}}`,
		`{"$id": "https://example.org/schema", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}`,
	} {
		if _, err := Compile(json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	s, err := Compile(json.RawMessage(`{"properties": {"a": {"$ref": "#/properties/b~1%25/items"}, "b/%": {"items": {"type": "string"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{"a": 1}`)); err == nil || err.Error() != "must be of type string, not integer" {
		t.Errorf("through an escaped reference: %v", err)
	}
}

// Another implementation of JSON Schema accepts and refuses the same parameters.
func TestAgainstAnotherImplementation(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	theirs, err := c.Compile("x.json")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := Compile(json.RawMessage(example))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values := []string{`"linear"`, `"logistic"`, `"a"`, `"abcde"`, `"B"`, `0`, `1`, `0.5`, `-3`, `1.5`, `true`, `null`, `[]`, `["a"]`,
		`["a", "a"]`, `["a", 1]`, `["a", "b", "c", "d"]`, `{}`, `{"in/ner": true}`, `{"in/ner": 1}`, `{"x": "y", "in/ner": false}`}
	keys := []string{"model", "columns", "rate", "steps", "by", "box", "other"}
	accepted := 0
	for range 1500 {
		var parts []string
		for i, k := range keys {
			if rng.IntN(3) == 0 || i == 0 && rng.IntN(10) > 0 {
				v := values[rng.IntN(len(values))]
				if i == 0 && rng.IntN(4) > 0 {
					v = `"linear"`
				}
				parts = append(parts, fmt.Sprintf("%q: %s", k, v))
			}
		}
		params := "{" + strings.Join(parts, ", ") + "}"
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(params))
		if err != nil {
			t.Fatal(err)
		}
		mine, other := ours.Validate(json.RawMessage(params)), theirs.Validate(v)
		if (mine == nil) != (other == nil) {
			t.Fatalf("%s: we say %v, they say %v", params, mine, other)
		}
		if mine == nil {
			accepted++
		} else if again := ours.Validate(json.RawMessage(params)); again.Error() != mine.Error() {
			t.Fatalf("%s: %v, and then %v", params, mine, again)
		}
	}
	if accepted < 10 || accepted > 1400 {
		t.Errorf("%d of 1500 accepted: the test shows little", accepted)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(example, `{"model": "linear"}`)
	f.Add(`{"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}`, `3`)
	f.Add(`{"dependentRequired": {"a": ["b"]}, "minProperties": 1}`, `{"a": 1}`)
	f.Add(`{"contains": {"const": 3}, "minContains": 2, "prefixItems": [true, false]}`, `[3, 3]`)
	f.Fuzz(func(t *testing.T, schema, params string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		var all Problems
		if err := s.Validate(json.RawMessage(params)); errors.As(err, &all) {
			for _, p := range all {
				if p.Message == "" {
					t.Error("a problem without words")
				}
			}
			if len(all) == 0 || len(all) > 100*mostProblems {
				t.Errorf("%d problems", len(all))
			}
		}
	})
}
