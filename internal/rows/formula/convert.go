package formula

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// node turns a checked expression into a Node. It reads constants of days and moments, so that a typing error in one is a
// problem and not a missing value in every row.
func (c *check) node(e ast.Expr) *Node {
	n := &Node{Type: fromCEL(c.tree.GetType(e.ID())), at: e.ID()}
	if n.Type == 0 && e.Kind() != ast.LiteralKind {
		c.wrong(e.ID(), "", "is "+article(c.tree.GetType(e.ID()))+", where a value of one type is needed")
		return n
	}
	switch e.Kind() {
	case ast.LiteralKind:
		n.Op = Literal
		switch v := e.AsLiteral().(type) {
		case types.Double:
			n.Number = float64(v) + 0 // -0 is 0
		case types.String:
			n.Text = string(v)
		case types.Bool:
			if v {
				n.Whole = 1
			}
		default:
			n.Op = Null
		}
	case ast.IdentKind:
		n.column = c.columnOf(e)
		n.Op, n.Column = Read, n.column.Name
	case ast.CallKind:
		return c.apply(n, e)
	}
	return n
}

// apply turns a call into a Node.
func (c *check) apply(n *Node, e ast.Expr) *Node {
	name := e.AsCall().FunctionName()
	f, _ := functionOf(name)
	n.Op = f.op
	for _, a := range e.AsCall().Args() {
		if a.Kind() != ast.ListKind {
			n.Args = append(n.Args, c.node(a))
			continue
		}
		if a.AsList().Size() == 0 {
			c.wrong(a.ID(), "name the values", "the list is empty")
		}
		for _, v := range a.AsList().Elements() {
			if t := c.tree.GetType(v.ID()); fromCEL(t) != n.Args[0].Type {
				c.wrong(v.ID(), "", "the list holds "+article(t)+" and is searched for "+article(cel[n.Args[0].Type]))
				return n
			}
			n.Args = append(n.Args, c.node(v))
		}
	}
	switch name {
	case operators.Greater, operators.GreaterEquals:
		slices.Reverse(n.Args)
	case operators.NotEquals:
		n = &Node{Op: Not, Type: Bool, Args: []*Node{n}, at: n.at}
	case operators.Conditional:
		for _, a := range n.Args[1:] { // null has the type of the other value
			a.Type = n.Type
		}
	}
	switch n.Op {
	case And, Or: // a && (b && c) is a && b && c
		var flat []*Node
		for _, a := range n.Args {
			if a.Op == n.Op {
				flat = append(flat, a.Args...)
			} else {
				flat = append(flat, a)
			}
		}
		n.Args = flat
	case ToDate, ToTimestamp, ToNumber:
		c.constant(n)
	}
	return n
}

// constant reads the text of date('2026-10-01').
func (c *check) constant(n *Node) {
	arg := n.Args[0]
	if arg.Op != Literal || arg.Type != Text {
		return
	}
	ok, hint := false, ""
	switch n.Op {
	case ToDate:
		n.Whole, ok = ParseDate(arg.Text)
		hint = "write a day as 2026-10-01"
	case ToTimestamp:
		n.Whole, ok = ParseTimestamp(arg.Text)
		hint = "write a moment as 2026-10-01T12:00:00"
	case ToNumber:
		n.Number, ok = ParseNumber(arg.Text)
		hint = "write a number as -12.5"
	}
	if !ok {
		c.wrong(arg.at, hint, problem.Shown(arg.Text)+" is no "+n.Type.String())
		return
	}
	n.Op, n.Args = Literal, nil
}

// domain returns every text that a node can give, or nil if that is not known.
func domain(n *Node) []string {
	switch {
	case n.Type == Bool:
		return []string{"false", "true"}
	case n.Type != Text:
		return nil
	case n.Op == Literal:
		return []string{n.Text}
	case n.Op == Read:
		return n.column.Domain
	case n.Op == If:
		var all []string
		seen := map[string]bool{}
		for _, a := range n.Args[1:] {
			d := domain(a)
			if d == nil && a.Op != Null {
				return nil
			}
			for _, text := range d {
				if !seen[text] {
					seen[text] = true
					all = append(all, text)
				}
			}
		}
		return all
	}
	return nil
}

// meaning finds comparisons of a category with texts outside its domain.
func (c *check) meaning(n *Node) {
	for _, a := range n.Args {
		c.meaning(a)
	}
	if len(n.Args) < 2 || n.Args[0].Type != Text {
		return
	}
	switch n.Op {
	case Equal:
		c.inDomain(n.Args[0], n.Args[1:])
		c.inDomain(n.Args[1], n.Args[:1])
	case In:
		c.inDomain(n.Args[0], n.Args[1:])
	case StartsWith, EndsWith, Contains:
		d := domain(n.Args[0])
		if part := n.Args[1]; n.Args[0].Op != Literal && d != nil && part.Op == Literal &&
			!slices.ContainsFunc(d, func(text string) bool { return n.Op.Test(text, part.Text) }) {
			c.wrong(part.at, "", "no value of "+of(n.Args[0])+" "+
				map[Op]string{StartsWith: "begins with", EndsWith: "ends with", Contains: "contains"}[n.Op]+" "+problem.Shown(part.Text))
		}
	}
}

// of names the domain of a node in a message.
func of(n *Node) string {
	if n.Op == Read {
		return "the domain of " + problem.Shown(n.Column)
	}
	return "the text on the left"
}

func (c *check) inDomain(n *Node, texts []*Node) {
	d := domain(n)
	if d == nil || n.Op == Literal {
		return
	}
	for _, t := range texts {
		if t.Op != Literal || slices.Contains(d, t.Text) {
			continue
		}
		hint := ""
		if near := problem.NearestWord(t.Text, d); near != "" {
			hint = "did you mean " + quote(near) + "?"
		} else if len(d) <= 12 {
			hint = "it holds " + strings.Join(d, ", ")
		}
		c.wrong(t.at, hint, problem.Shown(t.Text)+" is not in "+of(n))
	}
}

// Test applies StartsWith, EndsWith or Contains to two texts.
func (op Op) Test(text, part string) bool {
	switch op {
	case StartsWith:
		return strings.HasPrefix(text, part)
	case EndsWith:
		return strings.HasSuffix(text, part)
	}
	return strings.Contains(text, part)
}
