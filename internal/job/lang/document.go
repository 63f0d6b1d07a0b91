package lang

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// Document turns the text into one YAML tree, or records why there is none. JSON is
// YAML; where a text that was meant to be JSON cannot be read, the problem is told in
// the terms of JSON.
func (r *Reader) Document(text []byte) *yaml.Node {
	whole := Place{}
	if len(text) > r.Bytes {
		r.Wrong(whole, r.Advice, "is larger than %d MB, the most that %s may be", r.Bytes>>20, r.What)
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if r.foreign(text) {
		return nil
	}
	if i, what, hint := unreadable(text); what != "" {
		r.WrongAt(r.offset(text, i), "", hint, "%s", what)
		return nil
	}
	marks := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte(",")) + bytes.Count(text, []byte(":"))
	r.left = 2*marks + r.Expanded // one value for each mark, and its key
	if marks > r.Marks {
		r.Wrong(whole, r.Advice, "has more than %d lines, commas and colons", r.Marks)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(declared(text)))
	root, err := decodeNode(dec)
	if errors.Is(err, io.EOF) || err == nil && (len(root.Content) != 1 || Place{Node: root.Content[0]}.IsNull()) {
		r.Wrong(whole, r.Start, "is empty")
		return nil
	}
	if err == nil {
		var next *yaml.Node
		if next, err = decodeNode(dec); err == nil {
			r.Wrong(Place{At: next}, "one file is one "+r.Holds, "has a second YAML document")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		if looksLikeJSON(text) && !r.JSON(text) {
			return nil
		}
		r.syntax(text, err)
		return nil
	}
	if n := root.Content[0]; n.Kind == yaml.MappingNode && !r.ours(n) {
		return nil
	}
	return root.Content[0]
}

// JSON reports whether the text is JSON, and records why it is not.
func (r *Reader) JSON(text []byte) bool {
	if r.foreign(text) {
		return false
	}
	var raw json.RawMessage
	err := json.Unmarshal(text, &raw)
	if err == nil {
		return true
	}
	at := len(text)
	var syn *json.SyntaxError
	if errors.As(err, &syn) && !strings.HasPrefix(syn.Error(), "unexpected end") {
		at = min(max(int(syn.Offset)-1, 0), len(text))
	}
	return r.WrongAt(r.offset(text, at), "", "", "is not JSON: %v", err)
}

// looksLikeJSON reports whether a text begins with a quoted key in a brace, or with a
// list. A flow mapping of YAML begins with a key that is not quoted.
func looksLikeJSON(text []byte) bool {
	rest, isMapping := bytes.CutPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return isMapping && len(rest) > 0 && rest[0] == '"'
}

// declared lets the parser read a text that says that it is YAML 1.2, which our
// languages are; the parser knows that directive of 1.1 alone. No position changes.
func declared(data []byte) []byte {
	const directive = "%YAML 1.2"
	for at := 0; at < len(data); {
		line := data[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		switch text := bytes.TrimSpace(line); {
		case bytes.Equal(bytes.TrimRight(line, "\r\n\t "), []byte(directive)):
			data = bytes.Clone(data)
			data[at+len(directive)-1] = '1'
			return data
		case len(text) > 0 && text[0] != '#':
			return data
		}
		at += len(line)
	}
	return data
}

// decodeNode reads the next document. yaml.v3 panics on some inputs that it did not
// expect; that is a syntax error like any other.
func decodeNode(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: not understood")
		}
	}()
	n = &yaml.Node{}
	return n, dec.Decode(n)
}

// unreadable finds the first byte that no text may hold.
func unreadable(data []byte) (at int, what, hint string) {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return i, "is not UTF-8", "save the file as UTF-8 text"
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f, r == 0xFFFE, r == 0xFFFF:
			return i, "holds a control character", "remove it"
		}
		i += n
	}
	return 0, "", ""
}

// offset is the position of a byte of the text.
func (r *Reader) offset(data []byte, i int) problem.Pos {
	before := data[:i]
	start := bytes.LastIndexByte(before, '\n') + 1
	return problem.Pos{File: r.File, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1}
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: (line \d+: )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// bareVariable is ${ after an unquoted bracket or comma: YAML takes its brace for
	// the beginning of a mapping.
	bareVariable = regexp.MustCompile(`[{\[,][^"'{}#\n]*\$\{`)
)

// syntax reports what yaml.v3 said, with a plainer word where a tab, a bare variable
// or a bracket is to blame. yaml.v3 tells a line at best, and not always the right
// one; how far it reads when it is fed byte by byte tells where it gave up.
func (r *Reader) syntax(text []byte, err error) {
	message := yamlLine.ReplaceAllString(err.Error(), "")
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		if i := bytes.Index(text, []byte("*"+m[1])); i >= 0 {
			r.WrongAt(r.offset(text, i), "", "", "is not YAML: %s", message)
			return
		}
	}
	at := endOfYAML(text)
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	if i := bytes.IndexByte(indent, '\t'); i >= 0 {
		r.WrongAt(r.offset(text, start+i), "", "indent with spaces: YAML knows no tabs", "is indented with a tab")
	} else if m := bareVariable.FindIndex(line); m != nil {
		r.WrongAt(r.offset(text, start+m[1]-2), "", "put the value in quotes", "is not YAML: the brace of ${…} begins a mapping here")
	} else {
		hint := ""
		if open := unclosed(text); open >= 0 {
			where := r.offset(text, open)
			where.File = ""
			hint = "the " + string(text[open]) + " at " + where.String() + " is not closed"
		} else if first := bytes.TrimLeft(text, " \t\r\n"); first[0] != '{' && first[0] != '[' {
			at = start + len(indent) // a line of block style is wrong from its indentation on
		}
		r.WrongAt(r.offset(text, at), "", hint, "is not YAML: %s", problem.Shorten(message, 200))
	}
}

// endOfYAML is the offset of the last byte but white space that the parser read before
// it gave up.
func endOfYAML(text []byte) int {
	drip := dripReader{bytes.NewReader(text)}
	dec := yaml.NewDecoder(drip)
	for range 2 {
		if _, err := decodeNode(dec); err != nil {
			break
		}
	}
	at := len(text) - drip.Len()
	for at > 0 && bytes.IndexByte([]byte(" \t\r\n"), text[at-1]) >= 0 {
		at--
	}
	return max(at-1, 0)
}

// dripReader hands out one byte at a time.
type dripReader struct{ *bytes.Reader }

func (d dripReader) Read(p []byte) (int, error) { return d.Reader.Read(p[:min(1, len(p))]) }

// unclosed is the offset of the first bracket that another kind of bracket closes,
// else of the last that is never closed, else -1. Brackets in quotes and comments do
// not count.
func unclosed(text []byte) int {
	var open []int
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n", text[i-1]) >= 0):
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" \t\n{[,:", text[i-1]) >= 0):
			quote = c
		case c == '{' || c == '[':
			open = append(open, i)
		case (c == '}' || c == ']') && len(open) > 0:
			last := open[len(open)-1]
			if text[last]+2 != c { // '{'+2 is '}' and '['+2 is ']'
				return last
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}
