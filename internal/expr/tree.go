package expr

import "bytes"

// Limits on a text. An expression of people is far below all of them; they
// keep a hostile one from costing more than its first mebibyte.
const (
	// MaxBytes is the size of the largest text that is read.
	MaxBytes = 1 << 20
	// MaxDepth is how many events may stand inside one another.
	MaxDepth = 100
	// MaxEvents is how many events one expression may hold; repetition is
	// written as repeat.
	MaxEvents = 10_000

	// An event is at most a mapping, a mapping of fields and a list deep.
	maxSyntaxDepth = 3*MaxDepth + 10
	maxNodes       = 250_000
)

type shape uint8

const (
	scalar shape = iota
	mapping
	list
)

func (s shape) String() string {
	return [...]string{"a value", "a mapping", "a list"}[s]
}

// node is the one tree that JSON and YAML are read into.
type node struct {
	shape     shape
	line, col int
	text      string // of a scalar
	null      bool   // null, or nothing written
	word      bool   // true or false
	entries   []entry
	items     []*node
}

type entry struct {
	key       string
	line, col int
	value     *node
}

// get returns the value of a key, or nil if it is absent or null.
func (n *node) get(key string) *node {
	for i := range n.entries {
		if n.entries[i].key == key {
			if v := n.entries[i].value; !v.null {
				return v
			}
			return nil
		}
	}
	return nil
}

// syntaxError is a text that is neither JSON nor YAML, or is too large.
type syntaxError struct {
	line, col           int
	path, message, hint string
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// readTree reads JSON where the text looks like JSON, and YAML otherwise.
func readTree(text []byte) (*node, *syntaxError) {
	if len(text) > MaxBytes {
		return nil, &syntaxError{1, 1, "", "the text is larger than 1 MiB", "write repeated events as repeat"}
	}
	text = bytes.TrimPrefix(text, byteOrderMark)
	rest := bytes.TrimLeft(text, " \t\r\n")
	if len(rest) == 0 {
		return nil, &syntaxError{1, 1, "", "the text is empty", "write relation, event and query"}
	}
	if rest[0] != '{' && rest[0] != '[' {
		return readYAML(text)
	}
	n, jsonErr := readJSON(text)
	if jsonErr == nil || jsonErr.message == tooDeep || jsonErr.message == tooMany {
		return n, jsonErr
	}
	// A flow mapping of YAML starts like JSON; one with a quoted first key was
	// most likely meant to be JSON, whose errors are more exact.
	n, yamlErr := readYAML(text)
	if yamlErr == nil {
		return n, nil
	}
	if first := bytes.TrimLeft(rest[1:], " \t\r\n"); len(first) > 0 && first[0] == '"' {
		return nil, jsonErr
	}
	return nil, yamlErr
}

var (
	tooDeep = "nested too deeply: at most 100 events may stand inside one another"
	tooMany = "too many values for one expression: write repeated events as repeat"
)

// place counts line and column of a byte offset.
func place(text []byte, offset int) (line, col int) {
	if offset > len(text) {
		offset = len(text)
	}
	before := text[:offset]
	line = 1 + bytes.Count(before, []byte("\n"))
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	return line, 1 + len([]rune(string(before)))
}
