package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds the nesting of a value.
const maxDepth = 64

// params is a free mapping, turned into JSON; the mechanism's own JSON Schema
// says what may stand in it.
func params() kind[json.RawMessage] {
	return kind[json.RawMessage]{label: "mapping, as the mechanism asks", schema: schema{"type": "object"},
		read: func(c *cursor, p place) (json.RawMessage, bool) {
			if p.node.Kind != yaml.MappingNode {
				c.wrong(p, "", "must be a mapping, not %s", shape(p.node))
				return nil, false
			}
			var b bytes.Buffer
			if !c.toJSON(&b, p, 0) {
				return nil, false
			}
			return b.Bytes(), true
		}}
}

// toJSON writes a YAML value as JSON: numbers keep their digits.
func (c *cursor) toJSON(b *bytes.Buffer, p place, depth int) bool {
	if depth > maxDepth {
		c.wrong(p, "", "is nested more than %d deep", maxDepth)
		return false
	}
	switch p.node.Kind {
	case yaml.MappingNode:
		pairs, ok := c.pairs(p)
		b.WriteByte('{')
		for i, kv := range pairs {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, kv.at.Value)
			b.WriteByte(':')
			ok = c.elementJSON(b, kv, depth) && ok
		}
		b.WriteByte('}')
		return ok
	case yaml.SequenceNode:
		ok := true
		b.WriteByte('[')
		for i, n := range p.node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			ok = c.elementJSON(b, place{path: Item(p.path, i), at: n, node: n}, depth) && ok
		}
		b.WriteByte(']')
		return ok
	}
	return c.scalarJSON(b, p)
}

func (c *cursor) elementJSON(b *bytes.Buffer, p place, depth int) bool {
	if p.node.Tag == "!!null" && p.node.Style&yaml.TaggedStyle == 0 {
		c.left--
		c.pos[p.path] = c.position(p.at)
		b.WriteString("null")
		return true
	}
	if !c.open(&p) {
		return false
	}
	return c.toJSON(b, p, depth+1)
}

func (c *cursor) scalarJSON(b *bytes.Buffer, p place) bool {
	if !c.noVariable(p) {
		return false
	}
	switch p.node.Tag {
	case "!!bool":
		b.WriteString(strings.ToLower(p.node.Value))
	case "!!int", "!!float":
		s, err := numberJSON(p.node.Value)
		if err != nil {
			c.wrong(p, "put it in quotes if it is a text", "%s", err)
			return false
		}
		b.WriteString(s)
	default:
		writeText(b, p.node.Value)
	}
	return true
}

// numberJSON rewrites a YAML number as a JSON number of the same value.
func numberJSON(text string) (string, error) {
	if r, err := ParseAmount(text); err == nil {
		// JSON wants a digit on both sides of the point and no plus in front;
		// everything else is kept as it was written.
		t := strings.TrimPrefix(text, "+")
		neg := strings.HasPrefix(t, "-")
		t = strings.TrimPrefix(t, "-")
		mantissa, exp := t, ""
		if i := strings.IndexAny(t, "eE"); i >= 0 {
			mantissa, exp = t[:i], "e"+strings.TrimPrefix(t[i+1:], "+")
		}
		whole, frac, _ := strings.Cut(mantissa, ".")
		if whole == "" {
			whole = "0"
		}
		if frac != "" {
			frac = "." + frac
		}
		if r.Sign() == 0 {
			neg = false
		}
		return map[bool]string{true: "-"}[neg] + whole + frac + exp, nil
	}
	// Other spellings of whole numbers that YAML knows: 0x1F, 0o17, 0b11. (010
	// is not among them: readers disagree on what it is.)
	if otherBase.MatchString(text) && len(text) <= maxDigits {
		if n, ok := new(big.Int).SetString(text, 0); ok {
			return n.String(), nil
		}
	}
	if _, err := ParseAmount(text); err != nil {
		return "", err
	}
	return "", fmt.Errorf("must be a decimal number, not %s", shown(text))
}

var otherBase = regexp.MustCompile(`^[+-]?0[xob][0-9A-Fa-f]+$`)

func writeText(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a text always encodes
		b.WriteString(strconv.Quote(s))
		return
	}
	b.Truncate(b.Len() - 1) // the encoder's line end
}
