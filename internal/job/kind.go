package job

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// schema is a piece of JSON Schema.
type schema = map[string]any

// kind is one declared type of value: how it is read, how it is written in a
// JSON Schema, and how the reference describes it.
type kind[V any] struct {
	label  string
	schema schema
	read   func(c *cursor, p place) (V, bool)
	nested []decl // the keys of a mapping, for the reference
	suffix string // what the reference puts between this key and its nested keys
}

// scalar is a kind whose value is one text; parse says what is wrong with it.
func scalar[V any](label string, s schema, parse func(text string) (V, error)) kind[V] {
	return kind[V]{label: label, schema: s, read: func(c *cursor, p place) (v V, ok bool) {
		if p.node.Kind != yaml.ScalarNode {
			c.wrong(p, "", "must be %s, not %s", article(label), shape(p.node))
			return v, false
		}
		if !c.noVariable(p) {
			return v, false
		}
		v, err := parse(p.node.Value)
		if err != nil {
			c.wrong(p, "", "%s", err)
			return v, false
		}
		return v, true
	}}
}

func article(label string) string {
	for _, noun := range []string{"number", "whole number", "duration"} {
		if strings.HasPrefix(label, noun) {
			return "a " + label
		}
	}
	return label
}

// text is any text. Numbers and booleans must be quoted.
func text() kind[string] {
	k := scalar("text", schema{"type": "string", "minLength": 1, "maxLength": maxText}, checkText)
	read := k.read
	k.read = func(c *cursor, p place) (string, bool) {
		if p.node.Kind == yaml.ScalarNode {
			switch p.node.Tag {
			case "!!int", "!!float", "!!bool":
				c.wrong(p, "put it in quotes", "must be text, not %s", shown(p.node.Value))
				return "", false
			}
		}
		return read(c, p)
	}
	return k
}

// maxText is the longest text, in characters.
const maxText = 4096

func checkText(s string) (string, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("must not be empty")
	case len([]rune(s)) > maxText:
		return "", fmt.Errorf("must be at most %d characters long", maxText)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("must not hold control characters")
	}
	return s, nil
}

// value is one value of a column of categories: the literal text, quoted or not.
// ${…} has no meaning in it.
func value() kind[string] {
	return kind[string]{label: "value", schema: schema{"type": []string{"string", "number", "boolean"}},
		read: func(c *cursor, p place) (string, bool) {
			if p.node.Kind != yaml.ScalarNode {
				c.wrong(p, "", "must be one value, not %s", shape(p.node))
				return "", false
			}
			if len([]rune(p.node.Value)) > maxText {
				c.wrong(p, "", "must be at most %d characters long", maxText)
				return "", false
			}
			return p.node.Value, true
		}}
}

// namePattern is what a name may look like that becomes part of a file name.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`

var nameGrammar = regexp.MustCompile(namePattern)

// reservedNames cannot be file names on some systems, or are file names that a
// run writes itself.
var reservedNames = []string{
	"con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
	"report", "record", "confidential",
}

func checkName(s string) (string, error) {
	if !nameGrammar.MatchString(s) {
		return "", fmt.Errorf("must be 1 to 100 of the characters A-Z a-z 0-9 _ - and start with a letter or digit, not %s", shown(s))
	}
	if slices.Contains(reservedNames, strings.ToLower(s)) {
		return "", fmt.Errorf("must not be %s, which is a reserved file name", shown(s))
	}
	return s, nil
}

// name is a text that is used in file names.
func name() kind[string] {
	k := text()
	k.label, k.schema = "name", schema{"type": "string", "pattern": namePattern}
	read := k.read
	k.read = func(c *cursor, p place) (string, bool) {
		s, ok := read(c, p)
		if !ok {
			return "", false
		}
		if _, err := checkName(s); err != nil {
			c.wrong(p, "", "%s", err)
			return "", false
		}
		return s, true
	}
	return k
}

// pattern is a text of a given form, described by label.
func pattern(label, expr string) kind[string] {
	re := regexp.MustCompile(expr)
	return scalar(label, schema{"type": "string", "pattern": expr}, func(s string) (string, error) {
		if !re.MatchString(s) {
			return "", fmt.Errorf("must be %s, not %s", label, shown(s))
		}
		return s, nil
	})
}

// choice is one of a few words.
func choice[V ~string](words ...V) kind[V] {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	label := strings.Join(list, ", ")
	if len(list) > 1 {
		label = "one of " + label
	}
	return kind[V]{label: label, schema: schema{"enum": list}, read: func(c *cursor, p place) (V, bool) {
		if p.node.Kind != yaml.ScalarNode {
			c.wrong(p, "", "must be %s, not %s", label, shape(p.node))
			return "", false
		}
		if !slices.Contains(list, p.node.Value) {
			c.wrong(p, didYouMean(p.node.Value, list), "must be %s, not %s", label, shown(p.node.Value))
			return "", false
		}
		return V(p.node.Value), true
	}}
}

// flag is true or false.
func flag() kind[bool] {
	return kind[bool]{label: "true or false", schema: schema{"type": "boolean"}, read: func(c *cursor, p place) (bool, bool) {
		if p.node.Kind != yaml.ScalarNode || p.node.Tag != "!!bool" {
			c.wrong(p, "", "must be true or false, not %s", shape(p.node))
			return false, false
		}
		return strings.EqualFold(p.node.Value, "true"), true
	}}
}

// duration is a positive length of time such as 30s.
func duration() kind[time.Duration] {
	return scalar("duration such as 30s or 10m", schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		func(t string) (time.Duration, error) {
			d, err := time.ParseDuration(t)
			if err != nil || d <= 0 {
				return 0, fmt.Errorf("must be a positive duration such as 30s or 10m, not %s", shown(t))
			}
			return d, nil
		})
}

// transform reads another kind and turns its value into this one.
func transform[A, B any](k kind[A], f func(A) (B, error)) kind[B] {
	return kind[B]{label: k.label, schema: k.schema, nested: k.nested, suffix: k.suffix,
		read: func(c *cursor, p place) (b B, ok bool) {
			a, ok := k.read(c, p)
			if !ok {
				return b, false
			}
			b, err := f(a)
			if err != nil {
				c.wrong(p, "", "%s", err)
				return b, false
			}
			return b, true
		}}
}

// optional is a mapping that may be absent.
func optional[V any](k kind[V]) kind[*V] {
	return transform(k, func(v V) (*V, error) { return &v, nil })
}
