package job

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/lang"
)

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
	var shapes []schema
	var nested []decl
	for i, v := range variants {
		names[i] = v.name
		shape := objectSchema(v.fields)
		shape["title"], shape["description"] = v.name, v.doc
		props := shape["properties"].(schema)
		props[tag] = schema{"const": v.name, "description": doc}
		req, _ := shape["required"].([]string)
		shape["required"] = append([]string{tag}, req...)
		shapes = append(shapes, shape)
	}
	label := "one of " + strings.Join(names, ", ")
	nested = append(nested, decl{name: tag, doc: doc, label: label, required: true})
	for _, v := range variants {
		for _, d := range decls(v.fields) {
			if holders := withKey(variants, d.name); len(holders) == len(variants) {
				if holders[0] != v.name {
					continue // a key of every shape is described once
				}
			} else {
				d.doc = tag + " " + v.name + ": " + d.doc
			}
			nested = append(nested, d)
		}
	}
	return kind[T]{label: "mapping", schema: schema{"oneOf": shapes}, nested: nested, suffix: ".",
		read: func(c *cursor, p lang.Place) (out T, ok bool) {
			pairs, ok := c.Pairs(p)
			if !ok {
				return out, false
			}
			rest := pairs[:0:0]
			var which *variant[T]
			tagged := false
			for _, kv := range pairs {
				if kv.At.Value != tag {
					rest = append(rest, kv)
					continue
				}
				tagged = true
				if !c.Open(&kv) {
					return out, true
				}
				word := ""
				if kv.Node.Kind == yaml.ScalarNode {
					word = kv.Node.Value
				}
				if why := refused[strings.ToLower(word)]; why != "" {
					c.Wrong(kv, "use "+label, "%s is refused: %s", strings.ToLower(word), why)
					return out, true
				}
				for i := range variants {
					if variants[i].name == word {
						which = &variants[i]
					}
				}
				if which == nil {
					c.Wrong(kv, lang.DidYouMean(word, names), "must be %s, not %s", label, lang.ShapeOf(kv.Node))
					return out, true
				}
				*at(&out) = V(word)
			}
			if !tagged {
				c.Wrong(lang.Place{Path: lang.Key(p.Path, tag), At: p.At}, label, "is missing")
				return out, true
			}
			readFields(c, p, rest, which.fields, &out, func(key string) string {
				others := withKey(variants, key)
				if len(others) == 0 {
					return ""
				}
				return "that is a key of " + tag + " " + strings.Join(others, " and ")
			})
			return out, true
		}}
}

// withKey names the shapes that have a key.
func withKey[T any](variants []variant[T], key string) []string {
	var out []string
	for _, v := range variants {
		for _, f := range v.fields {
			if f.name == key {
				out = append(out, v.name)
			}
		}
	}
	return out
}
