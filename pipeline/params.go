package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/dprelease/dprelease/internal/job"
)

// paramSchema is the JSON Schema of a mechanism's parameters.
type paramSchema struct{ schema *jsonschema.Schema }

// paramError is a parameter that the schema refuses.
type paramError struct{ path, message, hint string }

func (e paramError) Error() string { return e.message }

// noLoader refuses every reference out of a plugin's schema: validating
// parameters reads no file and no network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a schema may not refer to " + url)
}

func compileParams(raw json.RawMessage) (*paramSchema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema of the parameters is not JSON")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("params.json", doc); err != nil {
		return nil, fmt.Errorf("the schema of the parameters is not valid")
	}
	s, err := c.Compile("params.json")
	if err != nil {
		return nil, fmt.Errorf("the schema of the parameters is not valid")
	}
	return &paramSchema{schema: s}, nil
}

// validate returns a paramError for the first parameter that is wrong.
func (p *paramSchema) validate(params json.RawMessage) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return paramError{message: "is not a mapping"}
	}
	err = p.schema.Validate(doc)
	var v *jsonschema.ValidationError
	if err == nil || !errors.As(err, &v) {
		return err
	}
	v = deepest(v)
	path := ""
	for _, key := range v.InstanceLocation {
		if isIndex(key) {
			path += "[" + key + "]"
		} else {
			path = job.Key(path, key)
		}
	}
	if path != "" && !strings.HasPrefix(path, "[") {
		path = "." + path
	}
	text := v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	e := paramError{path: path, message: text}
	if extra, ok := v.ErrorKind.(*kind.AdditionalProperties); ok && len(extra.Properties) > 0 {
		e.path = path + "." + extra.Properties[0]
		e.message = "unknown parameter"
		if near := job.Nearest(extra.Properties[0], p.names()); near != "" {
			e.hint = "did you mean " + near + "?"
		}
	}
	return e
}

// names are the parameters that the schema declares.
func (p *paramSchema) names() []string {
	var all []string
	for name := range p.schema.Properties {
		all = append(all, name)
	}
	return all
}

// deepest is the cause that says most precisely what is wrong.
func deepest(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	return v
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
