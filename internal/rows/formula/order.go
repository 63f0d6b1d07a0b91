package formula

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// Reads returns the names in a text, sorted. The caller knows which of them are columns. A text that is no expression has
// none.
func Reads(text string) []string {
	c := &check{}
	root := c.parse(text)
	if root == nil {
		return nil
	}
	var names []string
	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		if name, ok := path(e); ok {
			names = append(names, name)
			return
		}
		switch e.Kind() {
		case ast.SelectKind:
			walk(e.AsSelect().Operand())
		case ast.ListKind:
			for _, a := range e.AsList().Elements() {
				walk(a)
			}
		case ast.CallKind:
			call := e.AsCall()
			if call.IsMemberFunction() {
				walk(call.Target())
			}
			for _, a := range call.Args() {
				if text, ok := a.AsLiteral().(types.String); ok && call.FunctionName() == column {
					names = append(names, string(text))
				}
				walk(a)
			}
		}
	}
	walk(root.Expr())
	slices.Sort(names)
	return slices.Compact(names)
}

// Order sorts names so that each comes after those that it reads. If names read each other in a circle, order is nil, and
// cycle holds them in that order, with the first again at the end. Order ignores names that are not in the list.
func Order(names []string, reads func(name string) []string) (order, cycle []string) {
	const open, done = 1, 2
	state := map[string]int{}
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	var trail []string
	var visit func(n string) bool
	visit = func(n string) bool {
		switch {
		case !known[n] || state[n] == done:
			return true
		case state[n] == open:
			cycle = append(slices.Clone(trail[slices.Index(trail, n):]), n)
			return false
		}
		state[n] = open
		trail = append(trail, n)
		for _, r := range reads(n) {
			if !visit(r) {
				return false
			}
		}
		trail = trail[:len(trail)-1]
		state[n] = done
		order = append(order, n)
		return true
	}
	for _, n := range names {
		if !visit(n) {
			return nil, cycle
		}
	}
	return order, nil
}
