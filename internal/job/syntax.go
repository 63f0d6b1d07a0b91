package job

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

var (
	yamlLine      = regexp.MustCompile(`^yaml: line ([0-9]+): `)
	unknownAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced$`)
	// bareVariable is ${ after an unquoted bracket or comma: YAML takes its brace
	// for the beginning of a mapping.
	bareVariable = regexp.MustCompile(`[{\[,][^"'{}#\n]*\$\{`)
)

// syntax reports what yaml.v3 said, with a plainer word where a tab or a bare
// variable is to blame.
func (c *cursor) syntax(data []byte, err error) {
	p := Problem{Pos: Pos{File: c.file, Line: 1, Column: 1}, Step: StepLoad}
	message := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	p.Message = "is not YAML: " + strings.TrimPrefix(message, "yaml: ")
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		if i := bytes.Index(data, []byte("*"+m[1])); i >= 0 {
			p.Pos = c.offset(data, i)
		}
	} else {
		start := startOfBreak(data, line)
		p.Pos = c.offset(data, start)
		text, _, _ := bytes.Cut(data[start:], []byte("\n"))
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		p.Column += len(indent)
		if i := bytes.IndexByte(indent, '\t'); i >= 0 {
			p.Column = i + 1
			p.Message, p.Hint = "is indented with a tab", "indent with spaces: YAML knows no tabs"
		} else if m := bareVariable.FindIndex(text); m != nil {
			p.Pos = c.offset(data, start+m[1]-2)
			p.Message, p.Hint = "is not YAML: the brace of ${…} begins a mapping here", "put the value in quotes"
		}
	}
	c.problems = append(c.problems, p)
}

// maxReread bounds the work of looking for the line that breaks a file.
const maxReread = 8 << 20

// startOfBreak finds the line at which the file stops being YAML: the line after
// the longest prefix that still is. yaml.v3 only names the line at which the
// innermost mapping begins, so the search starts there.
func startOfBreak(data []byte, line int) int {
	start := 0
	for n := 1; n < line; n++ {
		start = nextLine(data, start)
	}
	found := start
	for spent, end := 0, start; end < len(data); {
		end = nextLine(data, end)
		if spent += end; spent > maxReread {
			break
		}
		if end < len(data) && isYAML(data[:end]) {
			found = end
		}
	}
	return found
}

func nextLine(data []byte, from int) int {
	if i := bytes.IndexByte(data[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(data)
}

func isYAML(data []byte) bool {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := decodeNode(dec); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
