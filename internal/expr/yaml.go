package expr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// readYAML builds the tree from yaml.v3's nodes. Decoding into a Node expands
// no alias and converts no value; both are done here, within limits.
func readYAML(text []byte) (*node, *syntaxError) {
	var doc yaml.Node
	if err := decodeOne(bytes.NewReader(text), &doc); err != nil {
		return nil, explainYAML(text, err)
	}
	return fromYAML(&doc)
}

var errSecondDocument = errors.New("there is a second document after ---")

// decodeOne reads exactly one document. The parser is not trusted with hostile
// text: a panic in it is an error like any other.
func decodeOne(r io.Reader, doc *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the text cannot be read: %v", p)
		}
	}()
	dec := yaml.NewDecoder(r)
	if err := dec.Decode(doc); err != nil {
		if err == io.EOF {
			return errors.New("yaml: the text holds no value")
		}
		return err
	}
	var next yaml.Node
	if err := dec.Decode(&next); err != io.EOF {
		if err == nil {
			err = errSecondDocument
		}
		return err
	}
	return nil
}

func fromYAML(n *yaml.Node) (*node, *syntaxError) {
	c := yamlReader{open: map[*yaml.Node]bool{}}
	return c.value(n, 0, "")
}

type yamlReader struct {
	nodes int
	open  map[*yaml.Node]bool // anchors being expanded
}

func (c *yamlReader) fail(n *yaml.Node, path, message, hint string) *syntaxError {
	return &syntaxError{max(n.Line, 1), max(n.Column, 1), path, message, hint}
}

func (c *yamlReader) value(y *yaml.Node, depth int, path string) (*node, *syntaxError) {
	// Counted after expansion: a bomb of aliases ends here.
	if c.nodes++; c.nodes > maxNodes {
		return nil, c.fail(y, path, tooMany, "")
	}
	if depth > maxSyntaxDepth {
		return nil, c.fail(y, path, tooDeep, "")
	}
	n := &node{line: max(y.Line, 1), col: max(y.Column, 1)}
	if y.Style&yaml.TaggedStyle != 0 {
		return nil, c.fail(y, path, fmt.Sprintf("tags such as %.40q are not supported", y.Tag), "remove the tag")
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) != 1 {
			return nil, c.fail(y, path, "the text holds no value", "")
		}
		return c.value(y.Content[0], depth, path)
	case yaml.AliasNode:
		if y.Alias == nil || c.open[y.Alias] {
			return nil, c.fail(y, path, "an alias stands inside its own anchor", "")
		}
		c.open[y.Alias] = true
		defer delete(c.open, y.Alias)
		return c.value(y.Alias, depth, path)
	case yaml.ScalarNode:
		n.text = y.Value
		switch y.ShortTag() {
		case "!!null":
			n.null = true
		case "!!bool":
			n.word = true
		}
		return n, nil
	case yaml.SequenceNode:
		n.shape = list
		for i, item := range y.Content {
			v, err := c.value(item, depth+1, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
		return n, nil
	case yaml.MappingNode:
		return n, c.mapping(n, y, depth, path)
	}
	return nil, c.fail(y, path, "the text holds no value", "")
}

func (c *yamlReader) mapping(n *node, y *yaml.Node, depth int, path string) *syntaxError {
	n.shape = mapping
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return c.fail(k, path, "a key must be a plain name", "")
		}
		if k.Value == "<<" {
			return c.fail(k, path, "merge keys are not supported", "write the fields out")
		}
		v, err := c.value(y.Content[i+1], depth+1, join(path, keyName(k.Value)))
		if err != nil {
			return err
		}
		n.entries = append(n.entries, entry{key: k.Value, line: k.Line, col: k.Column, value: v})
	}
	return nil
}

func join(path, key string) string {
	if path == "" || strings.HasPrefix(key, "[") {
		return path + key
	}
	return path + "." + key
}
