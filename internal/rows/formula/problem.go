package formula

import (
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// mistyped records that a function cannot take its arguments.
func (c *check) mistyped(n *Node, f function) {
	var have []string
	for _, a := range n.Args {
		have = append(have, article(a))
	}
	c.wrong(n.at, typeHint(f, n.Args), f.shown()+" takes "+f.takes+", not "+enumerate(have))
}

// typeHint proposes how to correct a call.
func typeHint(f function, args []*Node) string {
	category := ""
	for _, a := range args {
		if a.Op == Read && a.column.Domain != nil {
			category = a.Column
		}
	}
	has := func(t Type) bool { return slices.ContainsFunc(args, func(a *Node) bool { return a.Type == t }) }
	switch compares := f.op == Equal || f.op == Less || f.op == LessEqual || f.op == In; {
	case f.op == In && args[1].Op != listed:
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
	case has(Bool) && f.op != If && (has(Number) || f.op == Add):
		return "number() makes a bool 0 or 1"
	}
	return ""
}

// enumerate joins words as a sentence does.
func enumerate(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
