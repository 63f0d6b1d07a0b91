package rows

import (
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/internal/rows/formula"
)

// bools compiles a formula of type Bool. Two bitmaps hold three values: And is true where all arguments are, and false
// where one is; Not swaps the bitmaps.
func (e *Evaluator) bools(n *formula.Node) boolFn {
	switch n.Op {
	case formula.Read:
		s := e.slot(n.Column)
		return func(b *block, t truth) {
			s.get(b)
			copy(t.yes, s.truth.yes)
			copy(t.no, s.truth.no)
		}
	case formula.Literal:
		return func(b *block, t truth) { t.set(int(n.Whole), b.n) }
	case formula.Null:
		return func(b *block, t truth) { t.set(-1, b.n) }
	case formula.Not:
		eval := e.bools(n.Args[0])
		return func(b *block, t truth) { eval(b, truth{t.no, t.yes}) }
	case formula.And:
		return e.all(n.Args)
	case formula.Or: // a || b is !(!a && !b)
		eval := e.all(negated(n.Args))
		return func(b *block, t truth) { eval(b, truth{t.no, t.yes}) }
	case formula.Missing:
		return e.missing(n.Args[0])
	case formula.If:
		return e.chosen(n)
	case formula.StartsWith, formula.EndsWith, formula.Contains:
		if n.Args[1].Op == formula.Literal {
			part := n.Args[1].Text
			return e.tested(n.Args[0], func(text string) bool { return n.Op.Test(text, part) })
		}
		return e.testedPair(n)
	case formula.In:
		return e.in(n)
	}
	return e.compared(n)
}

func negated(args []*formula.Node) []*formula.Node {
	out := make([]*formula.Node, len(args))
	for i, a := range args {
		out[i] = &formula.Node{Op: formula.Not, Type: formula.Bool, Args: []*formula.Node{a}}
	}
	return out
}

// all compiles a conjunction.
func (e *Evaluator) all(args []*formula.Node) boolFn {
	var evals []boolFn
	for _, a := range args {
		evals = append(evals, e.bools(a))
	}
	own := newTruth()
	return func(b *block, t truth) {
		evals[0](b, t)
		room := t.like(own)
		for _, eval := range evals[1:] {
			eval(b, room)
			and(t.yes, room.yes)
			or(t.no, room.no)
		}
	}
}

// missing compiles missing(x), which is true or false in every row.
func (e *Evaluator) missing(n *formula.Node) boolFn {
	var there func(b *block, w []uint64) // clears the bits of missing rows
	switch n.Type {
	case formula.Number:
		eval, room := e.numbers(n), make([]float64, step)
		there = func(b *block, w []uint64) {
			if x, clean := eval(b, room[:b.n]); !clean {
				known(w, x, nan)
			}
		}
	case formula.Date, formula.Timestamp:
		eval, room := e.wholes(n), make([]int64, step)
		there = func(b *block, w []uint64) { known(w, eval(b, room[:b.n]), none) }
	case formula.Text:
		eval, room := e.codes(n), make([]int32, step)
		there = func(b *block, w []uint64) {
			codes, _ := eval(b, room[:b.n])
			known(w, codes, -1)
		}
	case formula.Bool:
		eval, room := e.bools(n), newTruth()
		there = func(b *block, w []uint64) {
			t := room.cut(b.n)
			eval(b, t)
			or(t.yes, t.no)
			and(w, t.yes)
		}
	}
	own := make([]uint64, step/64)
	return func(b *block, t truth) {
		w := own[:words(b.n)]
		ones(w, b.n)
		there(b, w)
		copy(t.no, w)
		if t.yes != nil {
			ones(t.yes, b.n)
			for i := range t.yes {
				t.yes[i] &^= w[i]
			}
		}
	}
}

// chosen compiles condition ? a : b of conditions.
func (e *Evaluator) chosen(n *formula.Node) boolFn {
	cond, left, right := e.choice(n), e.bools(n.Args[1]), e.bools(n.Args[2])
	own := newTruth()
	return func(b *block, t truth) {
		c, room := cond(b), t.like(own)
		left(b, t)
		right(b, room)
		for _, w := range [][2][]uint64{{t.yes, room.yes}, {t.no, room.no}} {
			for i := range w[0] {
				w[0][i] = c.yes[i]&w[0][i] | c.no[i]&w[1][i]
			}
		}
	}
}

// tested compiles a test of a text. It tests each dictionary entry once.
func (e *Evaluator) tested(n *formula.Node, test func(text string) bool) boolFn {
	yes := &perText[byte]{value: func(text string) byte { return byte(bit(test(text))) }}
	eval, room, own := e.codes(n), make([]int32, step), make([]uint64, step/64)
	return func(b *block, t truth) {
		codes, dict := eval(b, room[:b.n])
		w := t.yes
		if w == nil {
			w = own[:words(b.n)]
		}
		pick(w, yes.get(dict), codes)
		if t.no != nil {
			ones(t.no, b.n)
			known(t.no, codes, -1)
			for i := range t.no {
				t.no[i] &^= w[i]
			}
		}
	}
}

// pick sets the bits of the rows whose dictionary entries are 1 in of, eight rows at a time, as less does.
func pick(w []uint64, of []byte, codes []int32) {
	for k := range w {
		word, lo := uint64(0), k*64
		for j := 0; j < 64 && lo+j < len(codes); j += 8 {
			if lo+j+8 > len(codes) {
				for i := lo + j; i < len(codes); i++ {
					word |= uint64(of[codes[i]+1]) << (i & 63)
				}
				break
			}
			c := codes[lo+j : lo+j+8 : lo+j+8]
			word |= (uint64(of[c[0]+1]) | uint64(of[c[1]+1])<<1 | uint64(of[c[2]+1])<<2 | uint64(of[c[3]+1])<<3 |
				uint64(of[c[4]+1])<<4 | uint64(of[c[5]+1])<<5 | uint64(of[c[6]+1])<<6 | uint64(of[c[7]+1])<<7) << j
		}
		w[k] = word
	}
}

// testedPair compiles startsWith and the like of two columns. It tests the texts of each row.
func (e *Evaluator) testedPair(n *formula.Node) boolFn {
	left, right := e.codes(n.Args[0]), e.codes(n.Args[1])
	room, other := make([]int32, step), make([]int32, step)
	return func(b *block, t truth) {
		x, text := left(b, room[:b.n])
		y, part := right(b, other[:b.n])
		clear(t.yes)
		clear(t.no)
		for i := range x {
			if x[i] < 0 || y[i] < 0 {
				continue
			}
			yes := n.Op.Test(text.all[x[i]], part.all[y[i]])
			if t.yes != nil {
				t.yes[i>>6] |= bit(yes) << (i & 63)
			}
			if t.no != nil {
				t.no[i>>6] |= bit(!yes) << (i & 63)
			}
		}
	}
}

// in compiles x in [a, b]: a set of literals, or else Or of Equal.
func (e *Evaluator) in(n *formula.Node) boolFn {
	list := n.Args[1:]
	literals := !slices.ContainsFunc(list, func(a *formula.Node) bool { return a.Op != formula.Literal })
	if n.Args[0].Type == formula.Text && literals {
		set := map[string]bool{}
		for _, a := range list {
			set[a.Text] = true
		}
		return e.tested(n.Args[0], func(text string) bool { return set[text] })
	}
	const few = 8
	if n.Args[0].Type == formula.Number && literals && len(list) > few {
		return e.inSet(n.Args[0], list)
	}
	or, left := &formula.Node{Op: formula.Or, Type: formula.Bool}, e.once(n.Args[0])
	for _, a := range list {
		or.Args = append(or.Args, &formula.Node{Op: formula.Equal, Type: formula.Bool, Args: []*formula.Node{left, a}})
	}
	return e.bools(or)
}

// once gives a formula a slot, so that several readers share one computation.
func (e *Evaluator) once(n *formula.Node) *formula.Node {
	if n.Op == formula.Read || n.Op == formula.Literal || n.Op == formula.Null {
		return n
	}
	name := "\x00" + strconv.Itoa(len(e.slots)) // no column is called so
	s := &slot{Column: formula.Column{Name: name, Type: n.Type}}
	s.fill = e.derived(s, n)
	e.slots[name] = s
	return &formula.Node{Op: formula.Read, Type: n.Type, Column: name}
}

func (e *Evaluator) inSet(n *formula.Node, list []*formula.Node) boolFn {
	set := map[float64]bool{}
	for _, a := range list {
		set[a.Number] = true
	}
	eval, room := e.numbers(n), make([]float64, step)
	return func(b *block, t truth) {
		clear(t.yes)
		clear(t.no)
		x, _ := eval(b, room[:b.n])
		for i, x := range x {
			yes := set[x]
			if t.yes != nil {
				t.yes[i>>6] |= bit(yes) << (i & 63)
			}
			if t.no != nil {
				t.no[i>>6] |= bit(!yes && x == x) << (i & 63)
			}
		}
	}
}

// compared compiles Equal, Less and LessEqual.
func (e *Evaluator) compared(n *formula.Node) boolFn {
	a, c := n.Args[0], n.Args[1]
	switch a.Type {
	case formula.Number:
		x, y := e.numbers(a), e.numbers(c)
		room, other := make([]float64, step), make([]float64, step)
		return func(b *block, t truth) {
			left, _ := x(b, room[:b.n])
			right, _ := y(b, other[:b.n])
			compare(t, n.Op, left, right)
		}
	case formula.Date, formula.Timestamp:
		x, y := e.wholes(a), e.wholes(c)
		room, other := make([]int64, step), make([]int64, step)
		return func(b *block, t truth) { compareWholes(t, n.Op, x(b, room[:b.n]), y(b, other[:b.n]), none) }
	case formula.Bool:
		return e.same(a, c)
	}
	switch {
	case c.Op == formula.Literal && n.Op == formula.Equal:
		return e.tested(a, func(text string) bool { return text == c.Text })
	case a.Op == formula.Literal && n.Op == formula.Equal:
		return e.tested(c, func(text string) bool { return text == a.Text })
	case c.Op == formula.Literal:
		return e.tested(a, func(text string) bool { return text < c.Text || n.Op == formula.LessEqual && text == c.Text })
	case a.Op == formula.Literal:
		return e.tested(c, func(text string) bool { return a.Text < text || n.Op == formula.LessEqual && text == a.Text })
	}
	x, y, both := e.codes(a), e.codes(c), &pair{}
	room, other := make([]int32, step), make([]int32, step)
	left, right := make([]int32, step), make([]int32, step)
	return func(b *block, t truth) {
		codes, dict := x(b, room[:b.n])
		others, second := y(b, other[:b.n])
		ranks, otherRanks := both.rank(dict, second)
		for i := range codes {
			left[i], right[i] = ranks[codes[i]+1], otherRanks[others[i]+1]
		}
		compareWholes(t, n.Op, left[:b.n], right[:b.n], -1)
	}
}

// same compiles a == b of conditions.
func (e *Evaluator) same(left, right *formula.Node) boolFn {
	x, y := e.bools(left), e.bools(right)
	first, second := newTruth(), newTruth()
	return func(b *block, t truth) {
		p, q := first.cut(b.n), second.cut(b.n)
		x(b, p)
		y(b, q)
		for i := range t.yes {
			t.yes[i] = p.yes[i]&q.yes[i] | p.no[i]&q.no[i]
		}
		for i := range t.no {
			t.no[i] = p.yes[i]&q.no[i] | p.no[i]&q.yes[i]
		}
	}
}
