package job

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/lang"
)

// named is a mapping whose keys are names of the user's choosing. put sets the
// name of an element.
func named[V any](k kind[V], suffix string, check func(string) (string, error), put func(*V, string)) kind[[]V] {
	s := schema{"type": "object", "additionalProperties": k.schema, "minProperties": 1}
	return kind[[]V]{label: "mapping", schema: s, nested: k.nested, suffix: "." + suffix + ".",
		read: func(c *cursor, p lang.Place) ([]V, bool) {
			pairs, ok := c.Pairs(p)
			if !ok {
				return nil, false
			}
			if len(pairs) == 0 {
				c.Wrong(p, "", "%s", tooFew(1))
				return nil, false
			}
			out := make([]V, 0, len(pairs))
			for _, kv := range pairs {
				if _, err := check(kv.At.Value); err != nil {
					c.Wrong(kv, "", "%s", fmt.Errorf("name %w", err))
				}
				if !c.Open(&kv) {
					continue
				}
				v, _ := k.read(c, kv)
				put(&v, kv.At.Value)
				out = append(out, v)
			}
			return out, true
		}}
}

// list is a list of at least min elements.
func list[V any](k kind[V], min int) kind[[]V] {
	s := schema{"type": "array", "items": k.schema, "minItems": min}
	return kind[[]V]{label: "list of " + plural(k.label), schema: s, nested: k.nested, suffix: "[].",
		read: func(c *cursor, p lang.Place) ([]V, bool) {
			if p.Node.Kind != yaml.SequenceNode {
				c.Wrong(p, "", "must be a list, not %s", lang.ShapeOf(p.Node))
				return nil, false
			}
			if len(p.Node.Content) < min {
				c.Wrong(p, "", "%s", tooFew(min))
				return nil, false
			}
			out := make([]V, 0, len(p.Node.Content))
			for i, n := range p.Node.Content {
				e := lang.Place{Path: lang.Item(p.Path, i), At: n, Node: n}
				var v V
				if c.Open(&e) {
					v, _ = k.read(c, e)
				}
				out = append(out, v)
			}
			return out, true
		}}
}

func tooFew(min int) string {
	if min == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("must have at least %d elements", min)
}

func plural(label string) string {
	if strings.HasPrefix(label, "one of ") {
		return strings.TrimPrefix(label, "one of ")
	}
	return label + "s"
}
