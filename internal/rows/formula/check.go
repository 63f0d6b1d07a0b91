package formula

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"

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
	c := &check{columns: columns}
	root := c.parse(text)
	if root == nil || len(c.problems) > 0 {
		return nil, c.sorted()
	}
	c.resolve(root.Expr())
	if len(c.problems) > 0 {
		return nil, c.sorted()
	}
	if !c.types(text, root) {
		return nil, c.sorted()
	}
	n := c.node(root.Expr())
	if len(c.problems) > 0 {
		return nil, c.sorted()
	}
	f := &Formula{Type: n.Type, Root: n, Domain: domain(n), columns: c.read(n)}
	if len(f.columns) == 0 && f.Type != Number { // a constant number makes sense: it counts rows
		c.wrong(0, "name a column of the row", "reads no column, so it is the same for every row")
		return nil, c.sorted()
	}
	c.meaning(n)
	if len(c.problems) == 0 && n.Type == Bool && never(n, false) {
		c.wrong(n.at, "compare its parts with each other, and with the domains of the columns", "is never true")
	}
	if len(c.problems) > 0 {
		return nil, c.sorted()
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
	info     *ast.SourceInfo
	tree     *ast.AST // with types, once they are checked
	factory  ast.ExprFactory
	problems []Problem
}

func (c *check) sorted() []Problem {
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(c.problems)
}

// wrong records a problem at an expression. The id 0 stands for the whole text.
func (c *check) wrong(id int64, hint, message string) {
	line, col := 1, 0
	if at := c.info.GetStartLocation(id); id != 0 && at != common.NoLocation {
		line, col = at.Line(), at.Column()
	}
	c.problems = append(c.problems, Problem{Line: line, Column: col + 1, Message: message, Hint: hint})
}

func (c *check) parse(text string) *ast.AST {
	if at := strings.IndexFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f
	}); at >= 0 {
		before := text[:at]
		c.problems = []Problem{
			{Line: 1 + strings.Count(before, "\n"), Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
				Message: "holds a character that no expression may hold", Hint: "remove it"}}
		return nil
	}
	if n := utf8.RuneCountInString(text); n > MaxText {
		c.wrong(0, "split it into derived columns", "has "+strconv.Itoa(n)+" characters, the most is "+strconv.Itoa(MaxText))
		return nil
	}
	if strings.TrimSpace(text) == "" {
		c.wrong(0, "write a condition such as age >= 18, or a value such as miles / hours", "is empty")
		return nil
	}
	p, err := parser.NewParser(parser.EnablePrattParser(true), parser.EnableIdentEscapeSyntax(false), parser.MaxRecursionDepth(maxDepth),
		parser.ErrorReportingLimit(1), parser.ErrorRecoveryLimit(1), parser.EnableVariadicOperatorASTs(true))
	if err != nil {
		panic(err) // the options are constants
	}
	tree, errs := p.Parse(common.NewTextSource(text))
	for _, e := range errs.GetErrors()[:min(1, len(errs.GetErrors()))] {
		message, hint := syntax(text, e.Message)
		c.problems = []Problem{{Line: max(e.Location.Line(), 1), Column: max(e.Location.Column(), 0) + 1, Message: message, Hint: hint}}
		return nil
	}
	c.info, c.factory = tree.SourceInfo(), ast.NewExprFactory()
	return tree
}

// types has cel-go's checker find the overload of each call, and translates what it refuses.
func (c *check) types(text string, root *ast.AST) bool {
	functions, err := declarations()
	if err != nil {
		panic(err) // the declarations are constants
	}
	env, err := checker.NewEnv(containers.DefaultContainer, types.NewEmptyRegistry())
	if err == nil {
		err = env.AddFunctions(functions...)
	}
	for i, col := range c.columns {
		if err == nil && col.Type >= Number && col.Type <= Timestamp {
			err = env.AddIdents(decls.NewVariable(variable(i), cel[col.Type]))
		}
	}
	if err != nil {
		panic(err) // no two variables have one name
	}
	tree, errs := checker.Check(root, common.NewTextSource(text), env)
	c.tree = tree
	for _, e := range errs.GetErrors() {
		c.mistyped(e.ExprID, e.Message, root.Expr())
	}
	return len(errs.GetErrors()) == 0
}

// variable returns the checker's name for a column. Columns themselves may have any name.
func variable(i int) string { return "c" + strconv.Itoa(i) }

// columnOf returns the column of a resolved name.
func (c *check) columnOf(e ast.Expr) *Column {
	i, err := strconv.Atoi(e.AsIdent()[1:])
	if err != nil {
		panic(err) // resolve leaves no other name
	}
	return &c.columns[i]
}

// find returns the place of the column with a name.
func (c *check) find(name string) (int, bool) {
	i := slices.IndexFunc(c.columns, func(col Column) bool { return col.Name == name })
	return i, i >= 0
}

// read returns the columns that a tree reads.
func (c *check) read(n *Node) []string {
	var names []string
	var walk func(n *Node)
	walk = func(n *Node) {
		if n.Op == Read {
			names = append(names, n.Column)
		}
		for _, a := range n.Args {
			walk(a)
		}
	}
	walk(n)
	slices.Sort(names)
	return slices.Compact(names)
}
