package job

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// decl is what the reference and the JSON Schema need to know about a key.
type decl struct {
	name     string
	doc      string
	label    string
	def      string
	example  string
	required bool
	schema   schema
	nested   []decl
	suffix   string
	fallback *yaml.Node // def, parsed
}

// field is one declared key of a mapping that is read into a T.
type field[T any] struct {
	decl
	read func(c *cursor, p place, into *T)
}

type option func(*decl)

// required says that the key must be there.
func required() option { return func(d *decl) { d.required = true } }

// otherwise is the value of a key that is not there, as it would be written.
func otherwise(text string) option { return func(d *decl) { d.def = text } }

// example is shown in the reference and in editors.
func example(text string) option { return func(d *decl) { d.example = text } }

// key declares one key of a mapping.
func key[T, V any](name string, k kind[V], at func(*T) *V, doc string, opts ...option) field[T] {
	d := decl{name: name, doc: doc, label: k.label, schema: k.schema, nested: k.nested, suffix: k.suffix}
	for _, o := range opts {
		o(&d)
	}
	if d.def != "" {
		n := &yaml.Node{}
		if err := yaml.Unmarshal([]byte(d.def), n); err == nil && len(n.Content) == 1 {
			d.fallback = n.Content[0]
		}
	}
	return field[T]{decl: d, read: func(c *cursor, p place, into *T) {
		if v, ok := k.read(c, p); ok {
			*at(into) = v
		}
	}}
}

// object is a mapping with declared keys, all of them known.
func object[T any](fields ...field[T]) kind[T] {
	return kind[T]{label: "mapping", schema: objectSchema(fields), nested: decls(fields), suffix: ".",
		read: func(c *cursor, p place) (v T, ok bool) {
			pairs, ok := c.pairs(p)
			if !ok {
				return v, false
			}
			// A mapping with a problem is kept: what could be read of it is still
			// checked, so that all problems come in one pass.
			readFields(c, p, pairs, fields, &v, nil)
			return v, true
		}}
}

// readFields reads the pairs of a mapping. elsewhere explains a key that is not
// declared here but would be in another place.
func readFields[T any](c *cursor, p place, pairs []place, fields []field[T], into *T, elsewhere func(key string) string) {
	seen := make([]bool, len(fields))
	meant := make([]bool, len(fields)) // a key with a slip stands in its place
	for _, kv := range pairs {
		word := kv.at.Value
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == word })
		if i < 0 {
			hint := ""
			if elsewhere != nil {
				hint = elsewhere(word)
			}
			if hint == "" {
				known := decls(fields)
				hint = unknownKeyHint(word, known)
				if i := slices.IndexFunc(known, func(d decl) bool { return hint == meanHint(d.name) }); i >= 0 {
					meant[i] = true
				}
			}
			c.wrong(kv, hint, "unknown key")
			continue
		}
		seen[i] = true
		if c.open(&kv) {
			fields[i].read(c, kv, into)
		}
	}
	for i, f := range fields {
		switch {
		case seen[i] || meant[i]:
		case f.required:
			missing := place{path: Key(p.path, f.name), at: p.at}
			c.wrong(missing, f.doc1(), "is missing")
		case f.fallback != nil:
			// A default goes through the same reader as a written value.
			f.read(c, place{path: Key(p.path, f.name), at: p.at, node: f.fallback}, into)
		}
	}
}

// doc1 is the first sentence of a key's description, as a hint.
func (d decl) doc1() string {
	s, _, _ := strings.Cut(d.doc, ". ")
	s = strings.TrimSuffix(s, ".")
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[n:]
}

func unknownKeyHint(word string, fields []decl) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	if near := didYouMean(word, known); near != "" {
		return near
	}
	return "known keys: " + strings.Join(known, ", ")
}

// pairs takes a mapping apart: each place has the key as at and the value as
// node. Keys must be plain texts, and no key may come twice.
func (c *cursor) pairs(p place) ([]place, bool) {
	if p.node.Kind != yaml.MappingNode {
		c.wrong(p, "", "must be a mapping, not %s", shape(p.node))
		return nil, false
	}
	out := make([]place, 0, len(p.node.Content)/2)
	first := make(map[string]int, len(p.node.Content)/2)
	ok := true
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		k, v := p.node.Content[i], p.node.Content[i+1]
		kv := place{path: p.path, at: k, node: v}
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!null" || k.Value == "":
			c.wrong(kv, "", "has a key that is not a text")
			ok = false
			continue
		case k.Tag == "!!merge":
			c.wrong(kv, "write the keys out", "merge keys (<<) are not part of the job language")
			ok = false
			continue
		}
		kv.path = Key(p.path, k.Value)
		if line, twice := first[k.Value]; twice {
			c.wrong(kv, "", "is given twice (first in line %d)", line)
			ok = false
			continue
		}
		first[k.Value] = k.Line
		out = append(out, kv)
	}
	return out, ok || len(out) > 0
}

func decls[T any](fields []field[T]) []decl {
	out := make([]decl, len(fields))
	for i, f := range fields {
		out[i] = f.decl
	}
	return out
}
