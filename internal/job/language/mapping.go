package language

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// Declared describes a key, or the whole language, for the reference and the JSON Schema.
type Declared struct {
	Name     string
	Doc      string
	Label    string // what it may hold
	Default  string // as it would be written
	Example  string
	Required bool
	Nested   []Declared // the keys of a mapping
	Suffix   string     // what stands between this key and its nested keys

	out      string // why the key is no part of the digest, "" where it is
	schema   schema
	fallback *yaml.Node // Default, parsed
}

// Language returns the declarations of all keys.
func Language() []Declared { return language().nested }

// field is one declared key of a mapping that is read into a T.
type field[T any] struct {
	Declared
	read  func(c *cursor, p lang.Place, into *T)
	facts func(from *T) any // for the digest, nil for nothing
}

type option func(*Declared)

// required marks a key that must be there.
func required() option { return func(d *Declared) { d.Required = true } }

// otherwise is the value of a key that is not there, as it would be written.
func otherwise(text string) option { return func(d *Declared) { d.Default = text } }

// out leaves a key, and all that is below it, out of the digest of a job, for a reason.
func out(why string) option { return func(d *Declared) { d.out = why } }

// example is shown in the reference and in editors.
func example(text string) option { return func(d *Declared) { d.Example = text } }

// key declares one key of a mapping. A value that cannot be read leaves the field zero.
func key[T, V any](name string, k kind[V], at func(*T) *V, doc string, opts ...option) field[T] {
	d := Declared{Name: name, Doc: doc, Label: k.label, schema: k.schema, Nested: k.nested, Suffix: k.suffix}
	declare(&d, opts) // what does not depend on types stands apart: the compiler makes key for each pair of them
	return field[T]{Declared: d, facts: func(from *T) any { return k.fact(at(from)) }, read: func(c *cursor, p lang.Place, into *T) {
		var v V
		if k.read(c, p, &v) {
			*at(into) = v
		}
	}}
}

// declare applies options, and parses the default. A method of Declared would be compiled again for each field[T].
func declare(d *Declared, opts []option) {
	for _, o := range opts {
		o(d)
	}
	if d.Default != "" {
		n := &yaml.Node{}
		if err := yaml.Unmarshal([]byte(d.Default), n); err == nil && len(n.Content) == 1 {
			d.fallback = n.Content[0]
		}
	}
}

// with is the field with other facts for the digest than its value.
func (f field[T]) with(facts func(from *T) any) field[T] {
	f.facts = facts
	return f
}

// held is a key of a part of T.
func held[P, T any](f field[P], at func(*T) *P) field[T] {
	return field[T]{Declared: f.Declared, facts: func(from *T) any { return f.facts(at(from)) },
		read: func(c *cursor, p lang.Place, into *T) { f.read(c, p, at(into)) }}
}

// fieldOf returns the declared key of a name.
func fieldOf[T any](fields []field[T], name string) field[T] {
	return fields[slices.IndexFunc(fields, func(f field[T]) bool { return f.Name == name })]
}

// object is a mapping with declared keys, all of them known. One with a problem is
// kept: what could be read of it is still checked, so that all problems come in one
// pass.
func object[T any](fields ...field[T]) kind[T] {
	keys := decls(fields)
	return kind[T]{label: "mapping", schema: objectSchema(keys), nested: keys, suffix: ".",
		facts: func(from *T) any { return factsOf(fields, from) },
		read: func(c *cursor, p lang.Place, into *T) bool {
			pairs, ok := c.Pairs(p)
			if ok {
				c.readFields(p, pairs, keys, reader(c, fields, into), func(string) string { return "" })
			}
			return ok
		}}
}

// reader returns a function that reads the field of an index.
func reader[T any](c *cursor, fields []field[T], into *T) func(i int, p lang.Place) {
	return func(i int, p lang.Place) { fields[i].read(c, p, into) }
}

// readFields reads the pairs of a mapping. elsewhere explains a key that belongs to
// another mapping, or returns "".
func (c *cursor) readFields(p lang.Place, pairs []lang.Place, fields []Declared, read func(i int, p lang.Place),
	elsewhere func(key string) string) {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Name
	}
	seen := make([]bool, len(fields))
	for _, kv := range pairs {
		if i := slices.Index(known, kv.At.Value); i >= 0 {
			if seen[i] = true; c.Open(&kv) {
				read(i, kv)
			}
			continue
		}
		hint := elsewhere(kv.At.Value)
		if near := problem.NearestWord(kv.At.Value, known); hint == "" && near != "" {
			hint = problem.DidYouMean(kv.At.Value, known)
			seen[slices.Index(known, near)] = true // a key with a slip stands in its place
		}
		if hint == "" {
			hint = "known keys: " + strings.Join(known, ", ")
		}
		c.Wrong(kv, hint, "unknown key")
	}
	for i, f := range fields {
		absent := lang.Place{Path: job.Key(p.Path, f.Name), At: p.At, Node: f.fallback}
		switch {
		case seen[i]:
		case f.Required:
			c.Wrong(absent, firstSentence(f.Doc), "is missing")
		case f.fallback != nil:
			read(i, absent) // a default goes through the same reader as a written value
		}
	}
}

// firstSentence returns the first sentence of a key's description, as a hint.
func firstSentence(doc string) string {
	s, _, _ := strings.Cut(doc, ". ")
	s = strings.TrimSuffix(s, ".")
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[n:]
}

func decls[T any](fields []field[T]) []Declared {
	out := make([]Declared, len(fields))
	for i, f := range fields {
		out[i] = f.Declared
	}
	return out
}

// variant is one shape that a mapping may take.
type variant[T any] struct {
	name   string // the value of the key that tells the shapes apart
	doc    string
	fields []field[T]
}

// oneOf is a mapping whose shape is told by one key, such as method. Values of
// that key that are refused have their reason in refused.
func oneOf[T any, V ~string](tag string, at func(*T) *V, doc string, refused map[string]string, variants ...variant[T]) kind[T] {
	names := make([]string, len(variants))
	holders := map[string][]string{} // the shapes that have a key
	var shapes []schema
	for i, v := range variants {
		names[i] = v.name
		shape := objectSchema(decls(v.fields))
		shape["title"], shape["description"] = v.name, v.doc
		props := shape["properties"].(schema)
		props[tag] = schema{"const": v.name, "description": doc}
		req, _ := shape["required"].([]string)
		shape["required"] = append([]string{tag}, req...)
		shapes = append(shapes, shape)
		for _, f := range v.fields {
			holders[f.Name] = append(holders[f.Name], v.name)
		}
	}
	label := "one of " + strings.Join(names, ", ")
	nested := []Declared{{Name: tag, Doc: doc, Label: label, Required: true}}
	for _, v := range variants {
		for _, d := range decls(v.fields) {
			common := len(holders[d.Name]) == len(variants)
			if common && holders[d.Name][0] != v.name {
				continue // a key of every shape is described once
			}
			if !common {
				d.Doc = tag + " " + v.name + ": " + d.Doc
			}
			nested = append(nested, d)
		}
	}
	return kind[T]{label: "mapping", schema: schema{"oneOf": shapes}, nested: nested, suffix: ".",
		facts: func(from *T) any {
			is := canon{}
			if i := slices.Index(names, string(*at(from))); i >= 0 {
				is = factsOf(variants[i].fields, from)
				is[tag] = names[i]
			}
			return is
		},
		read: func(c *cursor, p lang.Place, into *T) bool {
			pairs, ok := c.Pairs(p)
			if !ok {
				return false
			}
			i := slices.IndexFunc(pairs, func(kv lang.Place) bool { return kv.At.Value == tag })
			if i < 0 {
				c.Wrong(lang.Place{Path: job.Key(p.Path, tag), At: p.At}, label, "is missing")
				return true
			}
			kv := pairs[i]
			if !c.Open(&kv) {
				return true
			}
			word := kv.Node.Value
			if why := refused[strings.ToLower(word)]; why != "" {
				c.Wrong(kv, "use "+label, "%s is refused: %s", strings.ToLower(word), why)
				return true
			}
			which := slices.Index(names, word)
			if which < 0 {
				c.Wrong(kv, problem.DidYouMean(word, names), "must be %s, not %s", label, lang.ShapeOf(kv.Node))
				return true
			}
			*at(into) = V(word)
			fields := variants[which].fields
			c.readFields(p, slices.Delete(pairs, i, i+1), decls(fields), reader(c, fields, into), func(key string) string {
				if len(holders[key]) == 0 {
					return ""
				}
				return "that is a key of " + tag + " " + strings.Join(holders[key], " and ")
			})
			return true
		}}
}

// named is a mapping whose keys are names of the user's choosing. put sets the
// name of an element.
func named[V any](k kind[V], suffix string, check func(string) (string, error), put func(*V, string)) kind[[]V] {
	s := schema{"type": "object", "additionalProperties": orReference(k.schema), "minProperties": 1}
	return kind[[]V]{label: "mapping", schema: s, nested: k.nested, suffix: "." + suffix + ".",
		facts: func(all *[]V) any { return factsByName(k, *all) },
		read: func(c *cursor, p lang.Place, into *[]V) bool {
			pairs, ok := c.Pairs(p)
			if !ok {
				return false
			}
			if len(pairs) == 0 {
				return c.Wrong(p, "", "must not be empty")
			}
			for _, kv := range pairs {
				if _, err := check(kv.At.Value); err != nil {
					c.Wrong(kv, "", "name %s", err)
				}
				if c.Open(&kv) {
					v := readOrZero(c, k, kv)
					put(&v, kv.At.Value)
					*into = append(*into, v)
				}
			}
			return true
		}}
}

// byName is a mapping from names of the user's choosing to values.
func byName[V any](k kind[V], suffix string, check func(string) (string, error)) kind[[]job.Named[V]] {
	one := transform(k, func(v V) (job.Named[V], error) { return job.Named[V]{Value: v}, nil })
	one.facts = func(n *job.Named[V]) any { return k.fact(&n.Value) }
	return named(one, suffix, check, func(n *job.Named[V], name string) { n.Name = name })
}

// namesIn are the names of values, in the order of the job.
func namesIn[V any](all []job.Named[V]) []string {
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = n.Name
	}
	return out
}

// readOrZero reads a value; one that could not be read is zero.
func readOrZero[V any](c *cursor, k kind[V], p lang.Place) (zero V) {
	var v V
	if !k.read(c, p, &v) {
		return zero
	}
	return v
}

// list is a list of at least min elements.
func list[V any](k kind[V], min int) kind[[]V] {
	label := k.label + "s"
	if words, ok := strings.CutPrefix(k.label, "one of "); ok {
		label = words
	}
	s := schema{"type": "array", "items": orReference(k.schema), "minItems": min}
	return kind[[]V]{label: "list of " + label, schema: s, nested: k.nested, suffix: "[].",
		facts: func(all *[]V) any {
			if len(*all) == 0 {
				return nil
			}
			is := make([]any, len(*all))
			for i := range *all {
				is[i] = orEmpty(k.fact(&(*all)[i]))
			}
			return is
		},
		read: func(c *cursor, p lang.Place, into *[]V) bool {
			switch n := len(p.Node.Content); {
			case p.Node.Kind != yaml.SequenceNode:
				return c.Wrong(p, "", "must be a list, not %s", lang.ShapeOf(p.Node))
			case n == 0:
				return c.Wrong(p, "", "must not be empty")
			case n < min:
				return c.Wrong(p, "", "must have at least %d elements", min)
			}
			for i, n := range p.Node.Content {
				var v V
				if e := (lang.Place{Path: job.Item(p.Path, i), At: n, Node: n}); c.Open(&e) {
					v = readOrZero(c, k, e)
				}
				*into = append(*into, v)
			}
			return true
		}}
}

// distinct refuses a list in which an element comes twice.
func distinct[V comparable](k kind[[]V]) kind[[]V] {
	s := schema{"uniqueItems": true}
	for key, v := range k.schema {
		s[key] = v
	}
	read := k.read
	k.schema = s
	k.read = func(c *cursor, p lang.Place, into *[]V) bool {
		before := len(c.Problems)
		if !read(c, p, into) || len(c.Problems) > before {
			return len(*into) > 0 // elements that could not be read are all alike
		}
		seen := make(map[V]bool, len(*into))
		for i, v := range *into {
			if seen[v] {
				c.Wrong(lang.Place{Path: job.Item(p.Path, i), At: p.Node.Content[i]}, "", "%s is already in the list", problem.Shown(fmt.Sprint(v)))
			}
			seen[v] = true
		}
		return true
	}
	return k
}
