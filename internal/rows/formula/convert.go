package formula

import (
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// node turns an expression, which may be argument i of a function, into a Node with a type. Where it records a problem, the
// type is 0, and what stands around it gets no further problem. It reads constants of days and moments, so that a typing error
// in one is a problem and not a missing value in every row.
func (c *check) node(e *expr, of Op, i int) *Node {
	n := &Node{at: e.at}
	switch e.kind {
	case literal:
		n.Op = Literal
		switch v := e.value.(type) {
		case float64:
			n.Type, n.Number = Number, v+0 // -0 is 0
		case string:
			n.Type, n.Text = Text, v
		case bool:
			if n.Type = Bool; v {
				n.Whole = 1
			}
		default:
			if n.Op = Null; of != 0 && (of != If || i == 0) {
				n.Op = 0
				c.wrong(e.at, "write missing(x) to ask whether a value is missing",
					"null may stand only as one of the two values of condition ? value : value")
			}
		}
	case word:
		return c.column(n, e.name, true)
	case call:
		return c.call(n, e)
	case list:
		switch {
		case of == 0:
			c.wrong(e.at, "", "is a list, where a value of one type is needed")
		case of != In || i != 1:
			c.wrong(e.at, "", "a list may stand only on the right of in")
		case len(e.args) == 0:
			c.wrong(e.at, "name the values", "the list is empty")
		case c.arguments(n, e, listed):
			n.Op, n.Type = listed, n.Args[0].Type
		}
	}
	return n
}

// arguments turns the arguments of a call, or the values of a list, into Nodes. It returns false if one has a problem.
func (c *check) arguments(n *Node, e *expr, of Op) bool {
	ok := true
	for i, a := range e.args {
		a := c.node(a, of, i)
		n.Args = append(n.Args, a)
		ok = ok && (a.Type != 0 || a.Op == Null)
	}
	return ok
}

// call turns a call into a Node.
func (c *check) call(n *Node, e *expr) *Node {
	if e.name == column {
		if len(e.args) == 1 {
			if name, ok := e.args[0].value.(string); ok {
				return c.column(n, name, false)
			}
		}
		c.wrong(e.at, "", "column() takes the name of a column in quotes, such as column('odd name')")
		return n
	}
	f, known := functionOf(e.name)
	if e.name == "." {
		c.wrong(e.at, "", "a value has no fields")
	} else if !known {
		names := FunctionNames()
		hint := problem.DidYouMean(e.name, names)
		if hint == "" {
			hint = "the functions are " + strings.Join(names, ", ")
		}
		c.wrong(e.at, hint, "there is no function "+problem.Shown(e.name))
	}
	if known && c.arguments(n, e, f.op) && c.typed(n, f) {
		return c.apply(n, f)
	}
	return &Node{at: e.at}
}

// typed finds the type of a call, or records why it has none.
func (c *check) typed(n *Node, f function) bool {
	ok := true
	switch f.op {
	case And, Or:
		n.Type = Bool
		for _, a := range n.Args {
			if a.Type == Bool {
				continue
			}
			hint := ""
			if ok = false; a.Type == Number || a.Type == Text {
				hint = "compare it with something"
			}
			c.wrong(a.at, hint, "&& and || take conditions, not "+article(a))
		}
		return ok
	case In:
		n.Type = Bool
		x, in := n.Args[0].Type, n.Args[1]
		for _, v := range in.Args {
			if in.Op == listed && v.Type != x && slices.ContainsFunc(in.Args, func(v *Node) bool { return v.Type != in.Type }) {
				c.wrong(v.at, "", "the list holds "+article(v)+" and is searched for a "+x.String())
				return false
			}
		}
		ok = in.Op == listed && in.Type == x
	default:
		if n.Type, ok = f.gives(n.Args); f.op == If && ok && n.Args[1].Op == Null && n.Args[2].Op == Null {
			c.wrong(n.at, "", "is something else, where a value of one type is needed")
			return false
		}
	}
	if !ok {
		c.mistyped(n, f)
	}
	return ok
}

// apply gives a call its operation, in one of several spellings.
func (c *check) apply(n *Node, f function) *Node {
	n.Op = f.op
	switch f.name {
	case "in":
		n.Args = append(n.Args[:1:1], n.Args[1].Args...)
	case ">", ">=":
		slices.Reverse(n.Args)
	case "!=":
		n = &Node{Op: Not, Type: Bool, Args: []*Node{n}, at: n.at}
	case "?":
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

// column makes n read the column of a name.
func (c *check) column(n *Node, name string, bare bool) *Node {
	i := slices.IndexFunc(c.columns, func(col Column) bool { return col.Name == name })
	if i < 0 {
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
		c.wrong(n.at, hint, "there is no column "+problem.Shown(name))
		return n
	}
	if c.columns[i].Type < Number || c.columns[i].Type > Timestamp {
		c.wrong(n.at, "", "the column "+problem.Shown(name)+" has no type that expressions can read")
		return n
	}
	n.Op, n.Column, n.column, n.Type = Read, name, &c.columns[i], c.columns[i].Type
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
