package design

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/design/draft"
)

// Change is one change of a job: the value at a path becomes Value, a text in YAML. "" takes the key away.
type Change struct {
	Path  []string
	Value string
}

var (
	errUnreadable = errors.New("the job is no YAML that can be changed here; correct it in the text")
	errShared     = errors.New("this part of the job is an alias or no mapping; change it in the text")
)

// Edit returns the text of a job after some changes. Comments and all other values stay. A value on one line is replaced
// where it stands; for any other change the text is laid out afresh.
func Edit(text string, changes ...Change) (string, error) {
	for _, c := range changes {
		var err error
		if text, err = edit(text, c); err != nil {
			return "", err
		}
	}
	return text, nil
}

func edit(text string, c Change) (string, error) {
	doc, err := parse(text)
	if err != nil {
		return "", err
	}
	var value *yaml.Node
	if c.Value != "" {
		v, err := parse(c.Value)
		if err != nil || len(v.Content) != 1 {
			return "", errUnreadable
		}
		value = v.Content[0]
	}
	if old := find(doc.Content[0], c.Path...); old != nil && value != nil {
		if out, ok := splice(text, old, value, c); ok {
			return out, nil
		}
	}
	if err := place(doc.Content[0], value, c.Path); err != nil {
		return "", err
	}
	return write(text, doc, c, value)
}

// parse reads one document whose root is a mapping, or any value of a change.
func parse(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, errUnreadable
	}
	return &doc, nil
}

// find returns the value at a path, nil where there is none.
func find(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		i := index(n, key)
		if i < 0 {
			return nil
		}
		n = n.Content[i]
	}
	return n
}

// index returns where the value of a key, or a numbered item, stands in a node: −1 for nowhere.
func index(n *yaml.Node, key string) int {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return i + 1
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return i
		}
	}
	return -1
}

// splice replaces a scalar that stands on one line, and nothing else of the text. It gives up where the result would
// mean anything else than the change.
func splice(text string, old, value *yaml.Node, c Change) (string, bool) {
	if old.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode || old.Anchor != "" || old.Value == "" || strings.Contains(c.Value, "\n") {
		return "", false
	}
	from := offset(text, old.Line, old.Column)
	length := len(old.Value)
	if old.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		length += 2 // a text with escapes is longer, and then the comparison below fails
	}
	if from < 0 || from+length > len(text) || !strings.Contains(text[from:from+length], old.Value) {
		return "", false
	}
	out := text[:from] + strings.TrimSpace(c.Value) + text[from+length:]
	got, err := parse(out)
	if err != nil {
		return "", false
	}
	want, err := parse(text)
	if err != nil || place(want.Content[0], value, c.Path) != nil || !same(got, want) {
		return "", false
	}
	return out, true
}

// offset returns where a line and a column of the text stand, −1 for nowhere.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return -1
		}
		at += end + 1
	}
	for ; column > 1 && at < len(text); column-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// same compares what two trees say, without comments, styles and places. An alias is its name: nothing is expanded.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Anchor == b.Anchor && (a.Kind != yaml.ScalarNode || a.ShortTag() == b.ShortTag()) &&
		slices.EqualFunc(a.Content, b.Content, same)
}

// place puts a value into a tree, or takes it away where it is nil. Mappings on the way are made, and those that end up
// empty are taken away with their last key.
func place(n, value *yaml.Node, path []string) error {
	i, key := index(n, path[0]), path[0]
	switch {
	case n.Kind == yaml.SequenceNode && i < 0 && value != nil && key == strconv.Itoa(len(n.Content)):
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.MappingNode})
		if i = len(n.Content) - 1; len(n.Content) == 1 {
			n.Style = 0
		}
	case i < 0 && value == nil:
		return nil
	case n.Kind != yaml.MappingNode && i < 0:
		return errShared
	case i < 0:
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.MappingNode})
		n.Content[len(n.Content)-2].SetString(key)
		if i = len(n.Content) - 1; len(n.Content) == 2 {
			n.Style = 0
		}
	}
	child := n.Content[i]
	if len(path) > 1 {
		if child.Kind == yaml.ScalarNode && child.ShortTag() == "!!null" {
			*child = yaml.Node{Kind: yaml.MappingNode, HeadComment: child.HeadComment, LineComment: child.LineComment,
				FootComment: child.FootComment}
		}
		if err := place(child, value, path[1:]); err != nil || value != nil || len(child.Content) > 0 || child.Kind != yaml.MappingNode {
			return err
		}
		value = nil // the mapping is empty now
	}
	switch {
	case len(path) > 1 || value == nil:
		if n.Kind == yaml.SequenceNode {
			n.Content = slices.Delete(n.Content, i, i+1)
		} else {
			n.Content = slices.Delete(n.Content, i-1, i+1)
		}
	case child.Kind == yaml.AliasNode || child.Anchor != "":
		return errShared
	default:
		made := *value
		made.HeadComment, made.LineComment, made.FootComment = child.HeadComment, child.LineComment, child.FootComment
		n.Content[i] = &made
	}
	return nil
}

// blank stands for an empty line while the text is laid out afresh: the library keeps comments, and no empty lines.
const blank = "#\u2063"

// write lays a changed tree out. Empty lines stay where the text can be read with marks in their place.
func write(text string, doc *yaml.Node, c Change, value *yaml.Node) (string, error) {
	lines := strings.Split(text, "\n")
	for i, l := range lines[:len(lines)-1] {
		if strings.TrimSpace(l) == "" {
			lines[i] = blank
		}
	}
	marked, err := parse(strings.Join(lines, "\n"))
	if err == nil && place(marked.Content[0], value, c.Path) == nil && same(marked, doc) {
		if out, err := encode(marked); err == nil {
			lines = strings.Split(out, "\n")
			for i, l := range lines {
				if strings.TrimSpace(l) == blank {
					lines[i] = ""
				}
			}
			out = strings.Join(lines, "\n")
			if got, err := parse(out); err == nil && same(got, doc) {
				return out, nil
			}
		}
	}
	out, err := encode(doc)
	if err != nil {
		return "", errUnreadable
	}
	if got, err := parse(out); err != nil || !same(got, doc) {
		return "", errUnreadable
	}
	return out, nil
}

func encode(doc *yaml.Node) (string, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(doc), e.Close())
	return b.String(), err
}

// list writes texts as a list on one line.
func list(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = draft.Quoted(t)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
