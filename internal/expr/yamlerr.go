package expr

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// explainYAML finds the place of a syntax error. yaml.v3 tells a line at best,
// and not always the right one; fed byte by byte, how far it read tells where
// it gave up.
func explainYAML(text []byte, err error) *syntaxError {
	drip := &dripReader{text: text}
	var doc yaml.Node
	if again := decodeOne(drip, &doc); again != nil {
		err = again
	}
	offset := drip.read
	for offset > 0 && offset <= len(text) && bytes.IndexByte([]byte(" \t\r\n"), text[offset-1]) >= 0 {
		offset--
	}
	line, col := place(text, max(offset-1, 0))
	if errors.Is(err, errSecondDocument) {
		return &syntaxError{line, col, "", errSecondDocument.Error(), "one query in one text"}
	}
	if strings.Contains(err.Error(), "exceeded max depth") {
		return &syntaxError{line, col, "", tooDeep, ""}
	}
	message := lineNumber.ReplaceAllString(err.Error(), "")
	s := &syntaxError{line, col, contextOf(text[:offset]), "not valid YAML: " + shorten(message, 200), ""}
	if open := unclosed(text); open >= 0 {
		l, c := place(text, open)
		s.hint = "the " + string(text[open]) + " at " + Pos{Line: l, Col: c}.String() + " is not closed"
	}
	return s
}

var lineNumber = regexp.MustCompile(`^yaml: (line \d+: )?`)

// dripReader hands out one byte at a time and counts them.
type dripReader struct {
	text []byte
	read int
}

func (d *dripReader) Read(p []byte) (int, error) {
	if d.read >= len(d.text) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0] = d.text[d.read]
	d.read++
	return 1, nil
}

// walkFlow calls visit for every structural character of flow style, outside
// quotes and comments.
func walkFlow(text []byte, visit func(i int, c byte)) {
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
		case strings.IndexByte("{}[],:\n", c) >= 0:
			visit(i, c)
		}
	}
}

// unclosed is the offset of the first bracket that another kind of bracket
// closes, else of the last that is never closed, else -1.
func unclosed(text []byte) int {
	var open []int
	crossed := -1
	walkFlow(text, func(i int, c byte) {
		switch c {
		case '{', '[':
			open = append(open, i)
		case '}', ']':
			if len(open) == 0 {
				return
			}
			last := open[len(open)-1]
			if crossed < 0 && text[last]+2 != c { // '{'+2 is '}' and '['+2 is ']'
				crossed = last
			}
			open = open[:len(open)-1]
		}
	})
	if crossed >= 0 || len(open) == 0 {
		return crossed
	}
	return open[len(open)-1]
}

// contextOf names the keys around the end of a text that is not valid: those
// of block style by indentation, those of flow style by brackets.
func contextOf(text []byte) string {
	type level struct {
		indent int // of a block key; -1 in flow style
		key    string
	}
	var levels []level
	var flow []int // len(levels) where each open bracket began
	start := 0     // of the current word
	walkFlow(text, func(i int, c byte) {
		word := strings.Trim(string(text[start:i]), " \t\r\n\"'")
		switch c {
		case ':':
			key := strings.TrimLeft(word, "- ")
			if len(flow) > 0 {
				levels = append(levels[:flow[len(flow)-1]], level{-1, key})
			} else {
				indent := bytes.IndexFunc(text[start:i], func(r rune) bool { return r != ' ' && r != '-' })
				for len(levels) > 0 && levels[len(levels)-1].indent >= indent {
					levels = levels[:len(levels)-1]
				}
				levels = append(levels, level{indent, key})
			}
		case '{', '[':
			flow = append(flow, len(levels))
		case '}', ']':
			if len(flow) > 0 {
				levels = levels[:flow[len(flow)-1]]
				flow = flow[:len(flow)-1]
			}
		case ',':
			if len(flow) > 0 {
				levels = levels[:flow[len(flow)-1]]
			}
		}
		start = i + 1
	})
	var path string
	for _, l := range levels {
		if l.key != "" {
			path = join(path, keyName(l.key))
		}
	}
	return path
}
