package formula

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// never reports whether a condition is true in no row, whatever the row holds. It looks at each column by itself: it finds
// age > 60 && age < 18, and not age > size && size > age. With bounds, it also uses the declared bounds of numbers. Values
// may lie beyond these, so such a condition is doubtful and not wrong.
func never(n *Node, bounds bool) bool {
	return !facts{bounds: bounds, of: map[string]fact{}}.narrow(n, true)
}

// fact says that the number of a column lies between lo and hi, and that its text is one of texts. Dates and timestamps
// are numbers here, and bools are texts.
type fact struct {
	lo, hi         float64
	openLo, openHi bool
	texts          []string // nil: any
}

var anything = fact{lo: math.Inf(-1), hi: math.Inf(1)}

type facts struct {
	bounds bool
	of     map[string]fact
}

func (f facts) about(n *Node) fact {
	switch {
	case n.Op == Literal && n.Type == Number:
		return fact{lo: n.Number, hi: n.Number}
	case n.Op == Literal && (n.Type == Date || n.Type == Timestamp) && n.Whole < 1<<53 && n.Whole > -1<<53:
		return fact{lo: float64(n.Whole), hi: float64(n.Whole)}
	case n.Op == Literal && n.Type == Text:
		return fact{lo: anything.lo, hi: anything.hi, texts: []string{n.Text}}
	case n.Op == Literal && n.Type == Bool:
		return fact{lo: anything.lo, hi: anything.hi, texts: domain(n)[n.Whole : n.Whole+1]}
	case n.Op != Read:
		return anything
	}
	if known, ok := f.of[n.Column]; ok {
		return known
	}
	known := anything
	known.texts = domain(n)
	if f.bounds && n.column.Lower != nil {
		known.lo = *n.column.Lower
	}
	if f.bounds && n.column.Upper != nil {
		known.hi = *n.column.Upper
	}
	return known
}

// learn keeps a fact about a column. It returns false if no value is left.
func (f facts) learn(n *Node, known fact) bool {
	if n.Op == Read {
		f.of[n.Column] = known
	}
	return (known.texts == nil || len(known.texts) > 0) &&
		(known.lo < known.hi || known.lo == known.hi && !known.openLo && !known.openHi)
}

// narrow adds what follows if n is true or, with holds false, if n is false. It returns false if n cannot be that.
func (f facts) narrow(n *Node, holds bool) bool {
	switch n.Op {
	case Null:
		return false
	case Not:
		return f.narrow(n.Args[0], !holds)
	case Literal, Read:
		return f.one(n, domain(n)[map[bool]int{false: 0, true: 1}[holds]:][:1])
	case And, Or:
		if (n.Op == And) == holds {
			return f.all(n.Args, holds)
		}
		return slices.ContainsFunc(n.Args, func(a *Node) bool {
			return facts{f.bounds, maps.Clone(f.of)}.narrow(a, holds)
		})
	case Less, LessEqual:
		a, b, strict := n.Args[0], n.Args[1], n.Op == Less
		if !holds { // a < b is false: b <= a
			a, b, strict = b, a, !strict
		}
		return a.Type == Text || f.order(a, b, strict)
	case Equal, In:
		return f.among(n.Args[0], n.Args[1:], holds)
	case StartsWith, EndsWith, Contains:
		text, part := n.Args[0], n.Args[1]
		if known := f.about(text); part.Op == Literal && known.texts != nil {
			return f.one(text, keep(known.texts, func(t string) bool { return n.Op.Test(t, part.Text) == holds }))
		}
	}
	return true
}

// all narrows by several conditions, first by those that say something about a single column.
func (f facts) all(args []*Node, holds bool) bool {
	args = slices.Clone(args)
	slices.SortStableFunc(args, func(a, b *Node) int { return cmp.Compare(compound(a), compound(b)) })
	return !slices.ContainsFunc(args, func(a *Node) bool { return !f.narrow(a, holds) })
}

func compound(n *Node) int {
	for n.Op == Not {
		n = n.Args[0]
	}
	if n.Op == And || n.Op == Or {
		return 1
	}
	return 0
}

// one learns that n is one of the texts, and reports whether that is possible.
func (f facts) one(n *Node, texts []string) bool {
	known := f.about(n)
	if known.texts != nil {
		texts = keep(known.texts, func(t string) bool { return slices.Contains(texts, t) })
	}
	known.texts = texts
	return f.learn(n, known)
}

// order learns that a < b, or a <= b, and reports whether that is possible.
func (f facts) order(a, b *Node, strict bool) bool {
	left, right := f.about(a), f.about(b)
	if right.hi < left.hi || right.hi == left.hi && (strict || right.openHi) {
		left.hi, left.openHi = right.hi, strict || right.openHi
	}
	if !f.learn(a, left) {
		return false
	}
	left = f.about(a)
	if left.lo > right.lo || left.lo == right.lo && (strict || left.openLo) {
		right.lo, right.openLo = left.lo, strict || left.openLo
	}
	return f.learn(b, right)
}

// among learns that n equals one of the values, or none of them, and reports whether that
// is possible.
func (f facts) among(n *Node, values []*Node, holds bool) bool {
	var texts []string
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		known := f.about(v)
		if (n.Type == Text || n.Type == Bool) && v.Op != Literal {
			return true // another column: little is known about its values
		}
		texts = append(texts, known.texts...)
		lo, hi = min(lo, known.lo), max(hi, known.hi)
	}
	known := f.about(n)
	if n.Type == Text || n.Type == Bool {
		if holds {
			return f.one(n, texts)
		}
		return known.texts == nil || f.one(n, keep(known.texts, func(t string) bool { return !slices.Contains(texts, t) }))
	}
	if !holds {
		return true
	}
	if lo > known.lo {
		known.lo, known.openLo = lo, false
	}
	if hi < known.hi {
		known.hi, known.openHi = hi, false
	}
	return f.learn(n, known)
}

// keep never returns nil, which would mean any text.
func keep(texts []string, ok func(string) bool) []string {
	kept := []string{}
	for _, t := range texts {
		if ok(t) {
			kept = append(kept, t)
		}
	}
	return kept
}
