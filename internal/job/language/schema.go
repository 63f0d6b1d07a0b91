package language

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

func objectSchema(fields []Declared) schema {
	props := schema{}
	var required []string
	for _, f := range fields {
		props[f.Name] = property(f)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": props}
	if required != nil {
		s["required"] = required
	}
	return s
}

// orReference is the schema of a number or of a text of some form, or of a variable that
// stands for it. Other texts hold variables anyway, and words are rarely set.
func orReference(s schema) schema {
	_, mixed := s["anyOf"]
	_, form := s["pattern"]
	if typ := s["type"]; typ != "number" && typ != "integer" && !form && (!mixed || typ != nil) {
		return s
	}
	return schema{"anyOf": []schema{s, {"$ref": "#/$defs/variable"}}}
}

// property is the schema of a key: that of its kind, and what the declaration
// adds for the reader.
func property(d Declared) schema {
	s := schema{"description": d.Doc}
	for k, v := range orReference(d.schema) {
		s[k] = v
	}
	if d.Default != "" {
		s["default"] = written(d.Default)
	}
	if d.Example != "" {
		s["examples"] = []written{written(d.Example)}
	}
	return s
}

// written is a default or an example as a job would have it. It is read when a schema
// is printed, which most processes never do.
type written string

// MarshalJSON is the value that it stands for.
func (w written) MarshalJSON() ([]byte, error) {
	var v any
	if err := yaml.Unmarshal([]byte(w), &v); err != nil || w == "" {
		return nil, fmt.Errorf("job: a declaration holds %q, which is not a value", string(w))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Choices returns the words that a key may hold, by the path to it in the declared language, such as dataset, source, encoding.
func Choices(path ...string) []string {
	d := Declared{Nested: Language()}
	for _, name := range path {
		i := slices.IndexFunc(d.Nested, func(d Declared) bool { return d.Name == name })
		if i < 0 {
			return nil
		}
		d = d.Nested[i]
	}
	words, _ := d.schema["enum"].([]string)
	return words
}
