package formula

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// Limits of a text.
const (
	MaxText  = 4096 // characters
	maxDepth = 100  // of parentheses, calls and operators inside each other
)

// Column is a job's declaration of a column, as far as expressions need it.
type Column struct {
	Name         string
	Type         Type
	Domain       []string // of a category: every text that it may hold; nil where any text may stand
	Lower, Upper *float64 // of a number, nil where none is declared
}

// Problem is one mistake in a text: where, what, and what to do.
type Problem struct {
	Line, Column int // in the text, from 1; columns count characters
	Message      string
	Hint         string // may be empty
}

// Error prints line:column: message (hint).
func (p Problem) Error() string {
	return problem.Problem{Pos: problem.Pos{Line: p.Line, Column: p.Column}, Message: p.Message, Hint: p.Hint}.Error()
}

// Formula is a checked expression.
type Formula struct {
	Type Type
	// Domain holds every text that a formula of type Text can give, and "false" and "true" for one of type Bool. nil means
	// that this is not known.
	Domain []string
	// Doubt is a warning about a condition that is not wrong, or "".
	Doubt string
	Root  *Node

	columns   []string
	canonical string
}

// Columns returns the names of the columns that the formula reads, sorted.
func (f *Formula) Columns() []string { return slices.Clone(f.columns) }

// Canonical returns a text that does not depend on how the formula is spelled: white space, quotes, parentheses, a.f(b) or
// f(a, b), column('a') or a, 1 or 1.0. Formulas with the same text mean the same.
func (f *Formula) Canonical() string { return f.canonical }

// Check reads a text as an expression over the columns. It returns a formula or problems, never both.
func Check(text string, columns []Column) (*Formula, []Problem) {
	root, wrong := read(text)
	if wrong != nil {
		return nil, []Problem{*wrong}
	}
	c := &check{columns: columns}
	n := c.node(root, 0, 0)
	f := &Formula{Type: n.Type, Root: n, Domain: domain(n), columns: root.names()}
	switch {
	case len(c.problems) > 0:
	case len(f.columns) == 0 && f.Type != Number: // a constant number makes sense: it counts rows
		c.wrong(place{1, 1}, "name a column of the row", "reads no column, so it is the same for every row")
	default:
		c.meaning(n)
		if len(c.problems) == 0 && n.Type == Bool && never(n, false) {
			c.wrong(n.at, "compare its parts with each other, and with the domains of the columns", "is never true")
		}
	}
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
		return nil, slices.Compact(c.problems)
	}
	if n.Type == Bool && never(n, true) {
		f.Doubt = "is true in no row where numbers lie within their declared bounds"
	}
	var b strings.Builder
	n.canonical(&b)
	f.canonical = b.String()
	return f, nil
}

// check is the work on one text.
type check struct {
	columns  []Column
	problems []Problem
}

func (c *check) wrong(at place, hint, message string) {
	c.problems = append(c.problems, Problem{Line: at.line, Column: at.column, Message: message, Hint: hint})
}

// read reads a text, within the limits.
func read(text string) (*expr, *Problem) {
	if at := strings.IndexFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f
	}); at >= 0 {
		before := text[:at]
		return nil, &Problem{Line: 1 + strings.Count(before, "\n"),
			Column:  utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
			Message: "holds a character that no expression may hold", Hint: "remove it"}
	}
	if n := utf8.RuneCountInString(text); n > MaxText {
		return nil, &Problem{1, 1, fmt.Sprintf("has %d characters, the most is %d", n, MaxText), "split it into derived columns"}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Problem{1, 1, "is empty", "write a condition such as age >= 18, or a value such as miles / hours"}
	}
	return parse(text)
}
