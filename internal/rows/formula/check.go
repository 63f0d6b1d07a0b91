package formula

import (
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

// Check reads a text as an expression over the columns. It returns a formula or problems, never both. The place of a problem is
// one in the text.
func Check(text string, columns []Column) (*Formula, problem.Problems) {
	root, wrong := read(text)
	if wrong != nil {
		return nil, problem.Problems{*wrong}
	}
	c := &check{columns: columns}
	n := c.node(root, 0, 0)
	f := &Formula{Type: n.Type, Root: n, Domain: domain(n), columns: root.names()}
	switch {
	case len(c.problems) > 0:
	case len(f.columns) == 0 && f.Type != Number: // a constant number makes sense: it counts rows
		c.wrong(beginning, "name a column of the row", "reads no column, so it is the same for every row")
	default:
		c.meaning(n)
		if len(c.problems) == 0 && n.Type == Bool && never(n, false) {
			c.wrong(n.at, "compare its parts with each other, and with the domains of the columns", "is never true")
		}
	}
	if len(c.problems) > 0 {
		return nil, c.problems.Sort()
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
	problems problem.Problems
}

func (c *check) wrong(at problem.Pos, hint, message string) {
	c.problems = append(c.problems, problem.Problem{Pos: at, Message: message, Hint: hint})
}

// beginning is the place of a problem of a text as a whole.
var beginning = problem.Pos{Line: 1, Column: 1}

// read reads a text, within the limits.
func read(text string) (*expr, *problem.Problem) {
	if at := strings.IndexFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f
	}); at >= 0 {
		return nil, &problem.Problem{Pos: behind(beginning, text[:at]), Message: "holds a character that no expression may hold",
			Hint: "remove it"}
	}
	if n := utf8.RuneCountInString(text); n > MaxText {
		return nil, &problem.Problem{Pos: beginning, Message: fmt.Sprintf("has %d characters, the most is %d", n, MaxText),
			Hint: "split it into derived columns"}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &problem.Problem{Pos: beginning, Message: "is empty",
			Hint: "write a condition such as age >= 18, or a value such as miles / hours"}
	}
	return parse(text)
}
