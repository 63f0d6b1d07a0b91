package params

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the compiled schema of a mechanism's parameters.
type Schema struct {
	tree  *tree
	rules *jsonschema.Resolved
}

var (
	errNotSchema = errors.New("the schema of the parameters is not a JSON Schema")
	errVersion   = errors.New("the schema of the parameters is not of the version 2020-12")
)

// versions are the dialects that a schema may name.
var versions = []string{"", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}

// Compile reads a schema.
func Compile(raw json.RawMessage) (_ *Schema, err error) {
	defer recovered(&err)
	var root jsonschema.Schema
	if json.Unmarshal(raw, &root) != nil {
		return nil, errNotSchema
	}
	if !slices.Contains(versions, root.Schema) {
		return nil, errVersion
	}
	s := &Schema{}
	if s.tree, err = newTree(&root); err != nil {
		return nil, err
	}
	if s.rules, err = root.Resolve(nil); err != nil {
		return nil, errNotSchema
	}
	return s, nil
}

// Validate returns Problems for the parameters that are wrong.
func (s *Schema) Validate(params json.RawMessage) (err error) {
	defer recovered(&err)
	var v any
	if json.Unmarshal(params, &v) != nil {
		return Problems{{Message: "is not a mapping"}}
	}
	if s.rules.Validate(v) == nil {
		return nil
	}
	return s.tree.locate("", v, nil)
}

// Names are the parameters that the schema declares, in order.
func (s *Schema) Names() []string { return names(s.tree.root) }

// recovered turns a panic of the library into an error: a schema comes from outside.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema of the parameters cannot be used")
	}
}
