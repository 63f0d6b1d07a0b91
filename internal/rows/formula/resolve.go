package formula

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// resolve rewrites a parsed tree in place before its types are checked. Whole numbers become numbers, names of columns
// become variables of the checker, and a.f(b) becomes f(a, b). It refuses what the language does not have.
func (c *check) resolve(e ast.Expr) {
	switch e.Kind() {
	case ast.LiteralKind:
		c.literal(e)
	case ast.IdentKind, ast.SelectKind:
		if name, ok := path(e); ok {
			c.column(e, name, true)
		} else {
			c.wrong(e.ID(), "", "a value has no fields")
		}
	case ast.CallKind:
		c.call(e)
	case ast.ListKind:
		for _, a := range e.AsList().Elements() {
			c.resolve(a)
		}
	default:
		c.wrong(e.ID(), "write a list as ['a', 'b']", "braces are not part of the language")
	}
}

func (c *check) literal(e ast.Expr) {
	const exact = 1 << 53
	var x float64
	tooLarge := false
	switch v := e.AsLiteral().(type) {
	case types.Int:
		x, tooLarge = float64(v), v > exact || v < -exact
	case types.Uint:
		x, tooLarge = float64(v), v > exact
	case types.Bytes:
		c.wrong(e.ID(), "leave out the b in front of the quotes", "bytes are not part of the language")
		return
	default:
		return
	}
	if tooLarge {
		c.wrong(e.ID(), "", "a whole number must lie between -2^53 and 2^53, where numbers are exact")
	}
	e.SetKindCase(c.factory.NewLiteral(e.ID(), types.Double(x)))
}

// path returns the dotted name that an expression spells. Columns of nested tables have such names.
func path(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return strings.TrimPrefix(e.AsIdent(), "."), true
	case ast.SelectKind:
		left, ok := path(e.AsSelect().Operand())
		return left + "." + e.AsSelect().FieldName(), ok && !e.AsSelect().IsTestOnly()
	}
	return "", false
}

// column turns an expression into a reference to a column.
func (c *check) column(e ast.Expr, name string, bare bool) {
	i, ok := c.find(name)
	if !ok {
		var names []string
		for _, col := range c.columns {
			names = append(names, col.Name)
		}
		hint := ""
		switch near := problem.NearestWord(name, names); {
		case bare && slices.ContainsFunc(c.columns, func(col Column) bool { return slices.Contains(col.Domain, name) }):
			hint = "write the text " + quote(name) + " in quotes"
		case near != "" && bare && identifier(near):
			hint = "did you mean " + near + "?"
		case near != "":
			hint = "did you mean column(" + quote(near) + ")?"
		case bare:
			hint = "declare it under dataset.columns; a text stands in quotes"
		}
		c.wrong(e.ID(), hint, "there is no column "+problem.Shown(name))
		return
	}
	if c.columns[i].Type < Number || c.columns[i].Type > Timestamp {
		c.wrong(e.ID(), "", "the column "+problem.Shown(name)+" has no type that expressions can read")
		return
	}
	e.SetKindCase(c.factory.NewIdent(e.ID(), variable(i)))
}

// identifier reports whether an expression can use a name as it is.
func identifier(name string) bool {
	if slices.Contains(reserved, name) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// reserved are the words of CEL that cannot be names.
var reserved = strings.Fields("as break const continue else false for function if import in let loop package namespace null return " +
	"true var void while")

// quote writes a text as a literal of the language.
func quote(text string) string {
	q := strconv.Quote(text)
	return "'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
}

// call makes the target of a.f(b) the first argument, and resolves the arguments.
func (c *check) call(e ast.Expr) {
	call := e.AsCall()
	name, args := call.FunctionName(), call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	name = strings.TrimPrefix(name, ".")
	if name == column {
		if len(args) == 1 && args[0].Kind() == ast.LiteralKind {
			if text, ok := args[0].AsLiteral().(types.String); ok {
				c.column(e, string(text), false)
				return
			}
		}
		c.wrong(e.ID(), "", "column() takes the name of a column in quotes, such as column('odd name')")
		return
	}
	f, known := functionOf(name)
	switch {
	case name == operators.Index:
		c.wrong(e.ID(), "", "[ ] after a value is not part of the language")
		return
	case !known || isOperator(name) && call.IsMemberFunction():
		names := FunctionNames()
		hint := problem.DidYouMean(name, names)
		if hint == "" {
			hint = "the functions are " + strings.Join(names, ", ")
		}
		c.wrong(e.ID(), hint, "there is no function "+problem.Shown(name))
		return
	}
	for i, a := range args {
		if a.Kind() == ast.ListKind && (f.op != In || i != 1) {
			c.wrong(a.ID(), "", "a list may stand only on the right of in")
			return
		}
		if a.Kind() == ast.LiteralKind && a.AsLiteral() == types.NullValue && (f.op != If || i == 0) {
			c.wrong(a.ID(), "write missing(x) to ask whether a value is missing",
				"null may stand only as one of the two values of condition ? value : value")
			return
		}
		c.resolve(a)
	}
	e.SetKindCase(c.factory.NewCall(e.ID(), name, args...))
}
