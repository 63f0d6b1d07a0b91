package job

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/lang"
)

// handling is a rule as one word, or a mapping with the value to impute.
func handling(words ...Rule) kind[Handling] {
	word := choice(words...)
	type imputed struct{ text string }
	form := object(key("impute", value(), func(i *imputed) *string { return &i.text },
		"The public value that takes the place of one that cannot be used", required()))
	label := word.label + ", or {impute: value}"
	return kind[Handling]{label: label,
		schema: schema{"anyOf": []schema{word.schema, form.schema}},
		read: func(c *cursor, p lang.Place) (Handling, bool) {
			switch {
			case p.Node.Kind == yaml.MappingNode:
				before := len(c.Problems)
				i, _ := form.read(c, p)
				return Handling{Rule: Impute, Text: i.text}, len(c.Problems) == before
			case p.Node.Kind == yaml.ScalarNode && slices.Contains(words, Rule(p.Node.Value)):
				return Handling{Rule: Rule(p.Node.Value)}, true
			case p.Node.Kind == yaml.ScalarNode && p.Node.Value == string(Impute):
				c.Wrong(p, "write {impute: value}", "does not say which value to impute")
			default:
				c.Wrong(p, lang.DidYouMean(p.Node.Value, ruleWords(words)), "must be %s, not %s", label, lang.ShapeOf(p.Node))
			}
			return Handling{}, false
		}}
}

func ruleWords(rules []Rule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = string(r)
	}
	return out
}

// take is a number of units, or the word all.
func take() kind[Take] {
	n := count("1")
	const label = "whole number, at least 1, or all"
	return kind[Take]{label: label, schema: schema{"anyOf": []schema{n.schema, {"const": "all"}}},
		read: func(c *cursor, p lang.Place) (Take, bool) {
			if p.Node.Kind == yaml.ScalarNode && p.Node.Value == "all" {
				return Take{All: true}, true
			}
			if p.Node.Kind == yaml.ScalarNode && p.Node.Tag == "!!str" {
				c.Wrong(p, lang.DidYouMean(p.Node.Value, []string{"all"}), "must be a %s, not %s", label, lang.ShapeOf(p.Node))
				return Take{}, false
			}
			v, ok := n.read(c, p)
			return Take{Count: v}, ok
		}}
}

// sha256Hex is the SHA-256 of a file.
func sha256Hex() kind[string] {
	k := transform(pattern("64 hexadecimal digits", `^[0-9A-Fa-f]{64}$`), func(s string) (string, error) {
		return strings.ToLower(s), nil
	})
	return k
}

// distinct refuses a list in which an element comes twice.
func distinct[V comparable](k kind[[]V]) kind[[]V] {
	s := schema{"uniqueItems": true}
	for key, v := range k.schema {
		s[key] = v
	}
	k.schema = s
	read := k.read
	k.read = func(c *cursor, p lang.Place) ([]V, bool) {
		before := len(c.Problems)
		vs, ok := read(c, p)
		if !ok || len(c.Problems) > before {
			return vs, ok // elements that could not be read are all alike
		}
		seen := make(map[V]bool, len(vs))
		for i, v := range vs {
			if seen[v] {
				n := p.Node.Content[i]
				c.Wrong(lang.Place{Path: lang.Item(p.Path, i), At: n}, "", "%s is already in the list", lang.Shown(fmt.Sprint(v)))
			}
			seen[v] = true
		}
		return vs, true
	}
	return k
}
