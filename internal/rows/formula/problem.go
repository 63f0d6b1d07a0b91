package formula

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// syntax translates an error of cel-go's parser. It adds a hint for the habits of other languages.
func syntax(text, message string) (what, hint string) {
	message = strings.TrimPrefix(message, "Syntax error: ")
	if word, ok := strings.CutPrefix(message, "reserved identifier: "); ok {
		hint = "read a column of this name with column(" + quote(word) + ")"
		if word == "if" || word == "else" {
			hint = "write condition ? value : value"
		}
		return "the word " + word + " is reserved", hint
	}
	switch {
	case strings.HasPrefix(message, "expression recursion limit"):
		return "is nested too deeply", "split it into derived columns"
	case strings.Contains(message, "<EOF>"), strings.Contains(message, "end of"):
		message = "ends too early"
	}
	words, hints := strings.Fields(text), []string(nil)
	for _, w := range []struct{ word, use string }{{"and", "&&"}, {"or", "||"}, {"not", "!"}, {"AND", "&&"}, {"OR", "||"}, {"NOT", "!"},
		{"=", "=="}, {"<>", "!="}, {"IN", "in"}, {"LIKE", "startsWith() or endsWith()"}, {"IS", "missing()"}} {
		if slices.Contains(words, w.word) {
			hints = append(hints, w.use+" for "+w.word)
		}
	}
	if len(hints) > 0 {
		return "is no expression: " + problem.Shorten(message, 200), "write " + strings.Join(hints, ", ")
	}
	if strings.Contains(message, "'='") || strings.Contains(message, "unexpected character") && strings.Contains(text, "=") &&
		!strings.Contains(text, "==") {
		hint = "write == to compare"
	}
	return "is no expression: " + problem.Shorten(message, 200), hint
}

// mistyped records a problem with the types of an expression. cel-go blames the call, and for && and || the argument.
func (c *check) mistyped(id int64, message string, root ast.Expr) {
	e := findExpr(root, id)
	if strings.HasPrefix(message, "expected type 'bool'") || e == nil || e.Kind() != ast.CallKind {
		hint := ""
		if t := fromCEL(c.tree.GetType(id)); t == Number || t == Text {
			hint = "compare it with something"
		}
		c.wrong(id, hint, "&& and || take conditions, not "+article(c.tree.GetType(id)))
		return
	}
	f, _ := functionOf(e.AsCall().FunctionName())
	args := e.AsCall().Args()
	var have []string
	for _, a := range args {
		have = append(have, article(c.tree.GetType(a.ID())))
	}
	c.wrong(id, c.typeHint(f, args), f.shown()+" takes "+f.takes+", not "+list(have))
}

// typeHint proposes how to correct a call.
func (c *check) typeHint(f function, args []ast.Expr) string {
	var kinds []Type
	category := ""
	for _, a := range args {
		t := c.tree.GetType(a.ID())
		if t != nil && t.Kind() == types.ListKind {
			t = t.Parameters()[0]
		}
		kinds = append(kinds, fromCEL(t))
		if a.Kind() == ast.IdentKind {
			if col := c.columnOf(a); col.Domain != nil {
				category = col.Name
			}
		}
	}
	has := func(t Type) bool {
		for _, k := range kinds {
			if k == t {
				return true
			}
		}
		return false
	}
	switch compares := f.op == Equal || f.op == Less || f.op == LessEqual || f.op == In; {
	case f.op == In && c.tree.GetType(args[1].ID()).Kind() != types.ListKind:
		return ""
	case compares && has(Text) && has(Number) && category != "":
		return problem.Shown(category) + " is a category: write its values in quotes"
	case has(Text) && has(Number):
		return "number() makes a text a number"
	case has(Date) && has(Text):
		return "write date('2026-10-01')"
	case has(Timestamp) && has(Text):
		return "write timestamp('2026-10-01T12:00:00')"
	case has(Timestamp) && has(Date):
		return "date() takes the day of a timestamp"
	case f.op == Subtract && has(Date):
		return "write days_between(earlier, later)"
	case has(Bool) && (has(Number) || f.name == operators.Add):
		return "number() makes a bool 0 or 1"
	}
	return ""
}

// findExpr returns the expression with an id.
func findExpr(e ast.Expr, id int64) ast.Expr {
	if e.ID() == id {
		return e
	}
	var inside []ast.Expr
	switch e.Kind() {
	case ast.CallKind:
		inside = e.AsCall().Args()
	case ast.ListKind:
		inside = e.AsList().Elements()
	}
	for _, a := range inside {
		if found := findExpr(a, id); found != nil {
			return found
		}
	}
	return nil
}

// list joins words as a sentence does.
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
