package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the compiled schema of a mechanism's parameters.
type Schema struct {
	within map[string]map[string]any // every schema inside, by its JSON pointer
	rules  *jsonschema.Schema
}

var (
	errNotSchema = errors.New("the schema of the parameters is not a JSON Schema")
	errVersion   = errors.New("the schema of the parameters is not of the version 2020-12")
	errReference = errors.New("the schema of the parameters refers to what is not in it; only references of the form #/… are taken")
	errRecursive = errors.New("the schema of the parameters refers to something that holds itself")
)

// versions are the dialects that a schema may name.
var versions = []any{nil, "", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}

// Compile reads a schema.
func Compile(raw json.RawMessage) (_ *Schema, err error) {
	defer recovered(&err)
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, errNotSchema
	}
	s := &Schema{within: map[string]map[string]any{}}
	if object, ok := root.(map[string]any); ok {
		if !slices.Contains(versions, object["$schema"]) {
			return nil, errVersion
		}
		// Addresses mean nothing here: references lead to places in this schema only.
		delete(object, "$id")
	}
	if err := s.add("", root); err != nil {
		return nil, err
	}
	if err := s.ends("", map[string]bool{}); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // it loads nothing
	if err := c.AddResource(place, root); err != nil {
		return nil, errNotSchema
	}
	if s.rules, err = c.Compile(place); err != nil {
		return nil, errNotSchema
	}
	return s, nil
}

// place is the address that a schema is compiled under.
const place = "params:///schema"

// Names are the parameters that the schema declares, in order.
func (s *Schema) Names() []string {
	declared, _ := s.within[""]["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(declared))
}

// The keywords whose values are schemas, lists of schemas, or schemas by name. Some have
// two forms, in two versions.
var keywords = []string{
	"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items", "not", "oneOf",
	"prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}

var named = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}

// add notes a schema and all in it. It refuses what ends cannot follow: identifiers,
// anchors, and references out of the schema.
func (s *Schema) add(at string, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return nil // true, false, or what the library refuses
	}
	s.within[at] = object
	delete(object, "format") // a note to people, as in 2020-12
	for _, key := range []string{"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"} {
		if _, ok := object[key]; ok {
			return errReference
		}
	}
	if ref, ok := object["$ref"].(string); ok && ref != "#" && !strings.HasPrefix(ref, "#/") {
		return errReference
	}
	for name, child := range inner(at, object) {
		if err := s.add(name, child); err != nil {
			return err
		}
	}
	return nil
}

// inner are the values directly inside a schema that may be schemas, by their pointers.
func inner(at string, object map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range keywords {
		out[at+"/"+key] = object[key]
		list, _ := object[key].([]any)
		for i, child := range list {
			out[at+"/"+key+"/"+strconv.Itoa(i)] = child
		}
	}
	for _, key := range named {
		children, _ := object[key].(map[string]any)
		for name, child := range children {
			out[at+"/"+key+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)] = child
		}
	}
	return out
}

// ends refuses a schema from which references and parts lead back to itself: checking
// against it might not end.
func (s *Schema) ends(at string, open map[string]bool) error {
	object, ok := s.within[at]
	done, seen := open[at]
	switch {
	case seen && !done:
		return errRecursive
	case seen || !ok:
		return nil
	}
	open[at] = false
	next := slices.Collect(maps.Keys(inner(at, object)))
	if ref, ok := object["$ref"].(string); ok {
		target, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
		if err != nil || s.within[target] == nil {
			return errReference
		}
		next = append(next, target)
	}
	for _, n := range next {
		if err := s.ends(n, open); err != nil {
			return err
		}
	}
	open[at] = true
	return nil
}

// recovered turns a panic of the library into an error: a schema comes from outside.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema of the parameters cannot be used")
	}
}
