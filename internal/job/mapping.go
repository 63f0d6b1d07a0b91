package job

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/lang"
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
	read func(c *cursor, p lang.Place, into *T)
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
	return field[T]{decl: d, read: func(c *cursor, p lang.Place, into *T) {
		if v, ok := k.read(c, p); ok {
			*at(into) = v
		}
	}}
}

// object is a mapping with declared keys, all of them known.
func object[T any](fields ...field[T]) kind[T] {
	return kind[T]{label: "mapping", schema: objectSchema(fields), nested: decls(fields), suffix: ".",
		read: func(c *cursor, p lang.Place) (v T, ok bool) {
			pairs, ok := c.Pairs(p)
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
func readFields[T any](c *cursor, p lang.Place, pairs []lang.Place, fields []field[T], into *T, elsewhere func(key string) string) {
	seen := make([]bool, len(fields))
	meant := make([]bool, len(fields)) // a key with a slip stands in its place
	for _, kv := range pairs {
		word := kv.At.Value
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == word })
		if i < 0 {
			hint := ""
			if elsewhere != nil {
				hint = elsewhere(word)
			}
			if hint == "" {
				known := decls(fields)
				hint = unknownKeyHint(word, known)
				if i := slices.IndexFunc(known, func(d decl) bool { return hint == lang.DidYouMean(d.name, []string{d.name}) }); i >= 0 {
					meant[i] = true
				}
			}
			c.Wrong(kv, hint, "unknown key")
			continue
		}
		seen[i] = true
		if c.Open(&kv) {
			fields[i].read(c, kv, into)
		}
	}
	for i, f := range fields {
		switch {
		case seen[i] || meant[i]:
		case f.required:
			missing := lang.Place{Path: lang.Key(p.Path, f.name), At: p.At}
			c.Wrong(missing, f.doc1(), "is missing")
		case f.fallback != nil:
			// A default goes through the same reader as a written value.
			f.read(c, lang.Place{Path: lang.Key(p.Path, f.name), At: p.At, Node: f.fallback}, into)
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
	if near := lang.DidYouMean(word, known); near != "" {
		return near
	}
	return "known keys: " + strings.Join(known, ", ")
}

func decls[T any](fields []field[T]) []decl {
	out := make([]decl, len(fields))
	for i, f := range fields {
		out[i] = f.decl
	}
	return out
}
