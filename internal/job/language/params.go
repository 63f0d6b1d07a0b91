package language

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/privacy/rational"
)

// params is a free mapping, turned into JSON; the mechanism's own JSON Schema
// says what may stand in it.
func params() kind[json.RawMessage] {
	return kind[json.RawMessage]{label: "mapping, as the mechanism asks", schema: schema{"type": "object"},
		read: func(c *cursor, p lang.Place, into *json.RawMessage) bool {
			if p.Node.Kind != yaml.MappingNode {
				return c.Wrong(p, "", "must be a mapping, not %s", lang.ShapeOf(p.Node))
			}
			var b bytes.Buffer
			ok := c.toJSON(&b, p, 0)
			*into = b.Bytes()
			return ok
		}}
}

// toJSON writes a YAML value as JSON: numbers keep their digits.
func (c *cursor) toJSON(b *bytes.Buffer, p lang.Place, depth int) bool {
	if depth > maxDepth {
		return c.Wrong(p, "", "is nested more than %d deep", maxDepth)
	}
	ok := true
	element := func(i int, e lang.Place, key string) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key)
		switch {
		case e.IsNull():
			ok = c.Note(e) && ok
			b.WriteString("null")
		case !c.Open(&e) || !c.toJSON(b, e, depth+1):
			ok = false
		}
	}
	switch p.Node.Kind {
	case yaml.MappingNode:
		var pairs []lang.Place
		pairs, ok = c.Pairs(p)
		b.WriteByte('{')
		for i, kv := range pairs {
			element(i, kv, textJSON(kv.At.Value)+":")
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, n := range p.Node.Content {
			element(i, lang.Place{Path: job.Item(p.Path, i), At: n, Node: n}, "")
		}
		b.WriteByte(']')
	default:
		return c.scalarJSON(b, p)
	}
	return ok
}

func (c *cursor) scalarJSON(b *bytes.Buffer, p lang.Place) bool {
	if !c.noVariable(p) {
		return false
	}
	switch p.Node.Tag {
	case "!!bool":
		b.WriteString(strings.ToLower(p.Node.Value))
	case "!!int", "!!float":
		s, err := numberJSON(p.Node.Value)
		if err != nil {
			return c.Wrong(p, "put it in quotes if it is a text", "%s", err)
		}
		b.WriteString(s)
	default:
		b.WriteString(textJSON(p.Node.Value))
	}
	return true
}

// numberJSON rewrites a YAML number as a JSON number of the same value.
func numberJSON(text string) (string, error) {
	r, err := ParseAmount(text)
	if err != nil {
		// Other spellings of whole numbers that YAML knows: 0x1F, 0o17, 0b11. (010
		// is not among them: readers disagree on what it is.)
		if len(text) <= rational.MaxLength && otherBase.MatchString(text) {
			if n, ok := new(big.Int).SetString(text, 0); ok {
				return n.String(), nil
			}
		}
		return "", err
	}
	// JSON wants a digit on both sides of the point and no plus in front; everything else is
	// kept as it was written.
	t := strings.TrimPrefix(text, "+")
	neg := strings.HasPrefix(t, "-") && r.Sign() != 0
	t = strings.TrimPrefix(t, "-")
	mantissa, exp := t, ""
	if i := strings.IndexAny(t, "eE"); i >= 0 {
		mantissa, exp = t[:i], "e"+strings.TrimPrefix(t[i+1:], "+")
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if frac != "" {
		frac = "." + frac
	}
	return map[bool]string{true: "-"}[neg] + cmp.Or(whole, "0") + frac + exp, nil
}

var otherBase = regexp.MustCompile(`^[+-]?0[xob][0-9A-Fa-f]+$`)

func textJSON(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a text always encodes
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
