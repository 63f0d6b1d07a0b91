package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a text; lines and columns count from 1, columns in
// characters.
type Pos struct {
	File      string
	Line, Col int
}

// String is "file:line:col", or "line:col" for a text without a name.
func (p Pos) String() string {
	if p.File == "" {
		return fmt.Sprintf("%d:%d", p.Line, p.Col)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Problem is one thing that is wrong with a text: where, what, and what to do.
type Problem struct {
	Pos
	Path    string // the field, such as "event.repeat.n"; empty for the whole text
	Message string
	Hint    string // what to write instead; may be empty
}

// Error prints "file:line:col: path: message (hint)".
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Pos.String())
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(shorten(p.Path, 160))
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (")
		b.WriteString(p.Hint)
		b.WriteString(")")
	}
	return b.String()
}

// Problems are all problems of one text, in the order of the text. A nil
// Problems means that there are none.
type Problems []Problem

// Error prints one problem a line.
func (ps Problems) Error() string { return ps.Join("\n") }

// Join prints the problems with sep between them.
func (ps Problems) Join(sep string) string {
	parts := make([]string, len(ps))
	for i, p := range ps {
		parts[i] = p.Error()
	}
	return strings.Join(parts, sep)
}

// OffsetLines moves the problems down by n lines, for a text that began
// further down in its file.
func (ps Problems) OffsetLines(n int) {
	for i := range ps {
		ps[i].Line += n
	}
}

// maxProblems is how many problems of one text are told; a text with more is
// most likely not an expression at all.
const maxProblems = 50

func (ps Problems) sorted() Problems {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return ps
}

// shorten keeps both ends of a long text: a path a thousand levels deep is
// recognised by them.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := s[:n/2], s[len(s)-n/2:]
	for !utf8.ValidString(head) && len(head) > 0 && len(head) > n/2-utf8.UTFMax {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "…" + tail
}
