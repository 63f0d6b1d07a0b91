package rows

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dprelease/dprelease/internal/rows/formula"
)

// A formula is compiled into functions that compute it for the rows of a step, b.n values at a time. A function may write
// its values to dst, or return memory of its own, which nobody else writes to. A number is finite or NaN; clean says that
// none is NaN.
type (
	numberFn func(b *block, dst []float64) (x []float64, clean bool)
	wholeFn  func(b *block, dst []int64) []int64
	codeFn   func(b *block, dst []int32) ([]int32, *texts)
	boolFn   func(b *block, t truth) // fills what t asks for
)

// numbers compiles a formula of type Number.
func (e *Evaluator) numbers(n *formula.Node) numberFn {
	switch n.Op {
	case formula.Read:
		s := e.slot(n.Column)
		return func(b *block, _ []float64) ([]float64, bool) { s.get(b); return s.numbers, s.clean }
	case formula.Literal, formula.Null:
		all := constant(n, n.Number, nan)
		return func(b *block, _ []float64) ([]float64, bool) { return all[:b.n], n.Op == formula.Literal }
	case formula.If:
		cond, a, c := e.choice(n), e.numbers(n.Args[1]), e.numbers(n.Args[2])
		other := make([]float64, step)
		return func(b *block, dst []float64) ([]float64, bool) {
			x, _ := a(b, dst)
			y, _ := c(b, other[:b.n])
			choose(dst, cond(b), x, y, nan)
			return dst, finite(dst)
		}
	case formula.Size, formula.ToNumber:
		if n.Args[0].Type == formula.Bool {
			return e.boolNumbers(n.Args[0])
		}
		eval, values, room := e.codes(n.Args[0]), parsedBy(formula.ParseNumber, nan), make([]int32, step)
		if n.Op == formula.Size {
			values.value = func(text string) float64 { return float64(len([]rune(text))) }
		}
		return func(b *block, dst []float64) ([]float64, bool) {
			codes, dict := eval(b, room[:b.n])
			values.fill(dst, dict, codes)
			return dst, finite(dst)
		}
	case formula.Year, formula.Month, formula.Day, formula.Weekday, formula.Hour:
		return e.parts(n)
	case formula.DaysBetween:
		return e.daysBetween(n)
	case formula.Negate, formula.Abs, formula.Floor, formula.Ceil, formula.Round, formula.Sqrt:
		return unary(n.Op, e.numbers(n.Args[0]))
	}
	if c := n.Args[1]; n.Op == formula.Multiply && c.Op == formula.Literal {
		return scaled(e.numbers(n.Args[0]), c.Number)
	}
	eval := e.numbers(n.Args[0])
	for _, arg := range n.Args[1:] {
		eval = arithmetic(n.Op, eval, e.numbers(arg))
	}
	return eval
}

// constant holds the value of a literal, or that of Null, for a step.
func constant[T any](n *formula.Node, literal, null T) []T {
	if n.Op == formula.Null {
		literal = null
	}
	return slices.Repeat([]T{literal}, step)
}

func unary(op formula.Op, eval numberFn) numberFn {
	return func(b *block, dst []float64) ([]float64, bool) {
		x, clean := eval(b, dst)
		switch op {
		case formula.Negate:
			for i, v := range x {
				dst[i] = -v
			}
		case formula.Abs:
			for i, v := range x {
				dst[i] = math.Abs(v)
			}
		case formula.Floor:
			for i, v := range x {
				dst[i] = math.Floor(v)
			}
		case formula.Sqrt: // of a negative number: missing
			for i, v := range x {
				dst[i] = math.Sqrt(v)
			}
			return result(dst, clean)
		case formula.Ceil:
			for i, v := range x {
				dst[i] = math.Ceil(v)
			}
		default:
			for i, v := range x {
				dst[i] = math.Round(v)
			}
		}
		return dst, clean
	}
}

// arithmetic computes left op right. gonum's loops work on several numbers at a time.
func arithmetic(op formula.Op, left, right numberFn) numberFn {
	other := make([]float64, step)
	return func(b *block, dst []float64) ([]float64, bool) {
		x, clean := left(b, dst)
		y, also := right(b, other[:b.n])
		switch op {
		case formula.Add:
			floats.AddTo(dst, x, y)
		case formula.Subtract:
			floats.SubTo(dst, x, y)
		case formula.Multiply:
			floats.MulTo(dst, x, y)
		case formula.Divide:
			floats.DivTo(dst, x, y)
		case formula.Modulo:
			for i, v := range x {
				dst[i] = math.Mod(v, y[i])
			}
		case formula.Min:
			for i, v := range x {
				dst[i] = min(v, y[i])
			}
		case formula.Max:
			for i, v := range x {
				dst[i] = max(v, y[i])
			}
		default:
			panic("rows: an operation without code")
		}
		return result(dst, clean && also)
	}
}

// scaled computes x * by.
func scaled(x numberFn, by float64) numberFn {
	return func(b *block, dst []float64) ([]float64, bool) {
		x, clean := x(b, dst)
		floats.ScaleTo(dst, by, x)
		return result(dst, clean)
	}
}

// result turns values that are not finite into missing ones. clean says that no argument was missing.
func result(dst []float64, clean bool) ([]float64, bool) {
	if clean && finite(dst) {
		return dst, true
	}
	toNaN(dst)
	return dst, false
}

// finite reports whether no value is NaN or infinite: then their sum is neither. It may be wrong, and return false, for
// numbers that are too large to be added up.
func finite(x []float64) bool {
	sum := floats.Sum(x)
	return sum-sum == 0
}

// toNaN turns infinities into NaN: v - v is 0 for a finite v and NaN for all others. A zero keeps its sign, because other
// rows decide whether a block gets here.
func toNaN(x []float64) {
	for i, v := range x {
		x[i] = v - (v - v)
	}
}

// boolNumbers turns true into 1 and false into 0.
func (e *Evaluator) boolNumbers(n *formula.Node) numberFn {
	eval, room := e.bools(n), newTruth()
	return func(b *block, dst []float64) ([]float64, bool) {
		t := room.cut(b.n)
		eval(b, t)
		for i := range dst {
			dst[i] = [...]float64{nan, 1, 0, nan}[t.at(i)]
		}
		return dst, finite(dst)
	}
}

func (e *Evaluator) parts(n *formula.Node) numberFn {
	eval, of, room := e.wholes(n.Args[0]), part(n.Op), make([]int64, step)
	if n.Op != formula.Hour {
		eval = e.dayOf(n.Args[0])
	}
	return func(b *block, dst []float64) ([]float64, bool) {
		for i, x := range eval(b, room[:b.n]) {
			dst[i] = nan
			if x != none {
				dst[i] = of(x)
			}
		}
		return dst, finite(dst)
	}
}

func (e *Evaluator) daysBetween(n *formula.Node) numberFn {
	from, to := e.dayOf(n.Args[0]), e.dayOf(n.Args[1])
	room, other := make([]int64, step), make([]int64, step)
	return func(b *block, dst []float64) ([]float64, bool) {
		x, y := from(b, room[:b.n]), to(b, other[:b.n])
		for i := range dst {
			dst[i] = nan
			if x[i] != none && y[i] != none {
				dst[i] = float64(y[i] - x[i])
			}
		}
		return dst, finite(dst)
	}
}

// dayOf computes the day of a date or of a timestamp.
func (e *Evaluator) dayOf(n *formula.Node) wholeFn {
	eval := e.wholes(n)
	if n.Type == formula.Date {
		return eval
	}
	return func(b *block, dst []int64) []int64 {
		copy(dst, eval(b, dst))
		days(dst)
		return dst
	}
}

// wholes compiles a formula of type Date or Timestamp.
func (e *Evaluator) wholes(n *formula.Node) wholeFn {
	switch n.Op {
	case formula.Read:
		s := e.slot(n.Column)
		return func(b *block, _ []int64) []int64 { return s.get(b).wholes }
	case formula.Literal, formula.Null:
		all := constant(n, n.Whole, none)
		return func(b *block, _ []int64) []int64 { return all[:b.n] }
	case formula.If:
		cond, a, c := e.choice(n), e.wholes(n.Args[1]), e.wholes(n.Args[2])
		other := make([]int64, step)
		return func(b *block, dst []int64) []int64 {
			choose(dst, cond(b), a(b, dst), c(b, other[:b.n]), none)
			return dst
		}
	case formula.ToDate, formula.ToTimestamp:
		return e.moments(n)
	}
	eval := e.wholes(n.Args[0])
	for _, arg := range n.Args[1:] { // of Min and Max
		eval = extreme(n.Op, eval, e.wholes(arg))
	}
	return eval
}

func extreme(op formula.Op, left, right wholeFn) wholeFn {
	other := make([]int64, step)
	return func(b *block, dst []int64) []int64 {
		x, y := left(b, dst), right(b, other[:b.n])
		for i, v := range x {
			switch w := y[i]; {
			case v == none || w == none:
				dst[i] = none
			case op == formula.Min:
				dst[i] = min(v, w)
			default:
				dst[i] = max(v, w)
			}
		}
		return dst
	}
}

// moments converts texts to dates or timestamps, and these into each other.
func (e *Evaluator) moments(n *formula.Node) wholeFn {
	arg := n.Args[0]
	if arg.Type != formula.Text {
		eval := e.wholes(arg)
		return func(b *block, dst []int64) []int64 {
			copy(dst, eval(b, dst))
			if n.Op == formula.ToDate {
				days(dst)
			} else {
				midnights(dst)
			}
			return dst
		}
	}
	eval, values, room := e.codes(arg), wholesOf(n.Type), make([]int32, step)
	return func(b *block, dst []int64) []int64 {
		codes, dict := eval(b, room[:b.n])
		values.fill(dst, dict, codes)
		return dst
	}
}

// codes compiles a formula of type Text.
func (e *Evaluator) codes(n *formula.Node) codeFn {
	switch n.Op {
	case formula.Read:
		s := e.slot(n.Column)
		return func(b *block, _ []int32) ([]int32, *texts) { s.get(b); return s.codes, s.texts }
	case formula.Literal, formula.Null:
		all, dict := constant(n, int32(0), -1), newTexts([]string{n.Text})
		return func(b *block, _ []int32) ([]int32, *texts) { return all[:b.n], dict }
	}
	cond, left, right := e.choice(n), e.codes(n.Args[1]), e.codes(n.Args[2])
	other, both := make([]int32, step), &pair{}
	return func(b *block, dst []int32) ([]int32, *texts) {
		x, a := left(b, dst)
		y, c := right(b, other[:b.n])
		moved := other[:b.n]
		for i, code := range y { // its entries follow those of the left dictionary
			if code >= 0 {
				code += int32(len(a.all))
			}
			moved[i] = code
		}
		choose(dst, cond(b), x, moved, -1)
		return dst, both.join(a, c)
	}
}

// choice computes the condition of an If.
func (e *Evaluator) choice(n *formula.Node) func(b *block) truth {
	eval, room := e.bools(n.Args[0]), newTruth()
	return func(b *block) truth {
		t := room.cut(b.n)
		eval(b, t)
		return t
	}
}

// fold computes the parts of a formula that do not depend on the row.
func fold(n *formula.Node) *formula.Node {
	if n.Op == formula.Read || n.Op == formula.Literal || n.Op == formula.Null {
		return n
	}
	own := *n
	own.Args = make([]*formula.Node, len(n.Args))
	constant := true
	for i, a := range n.Args {
		own.Args[i] = fold(a)
		constant = constant && (own.Args[i].Op == formula.Literal || own.Args[i].Op == formula.Null)
	}
	if !constant {
		return &own
	}
	e, b := newEvaluator(nil), &block{n: 1, serial: 1}
	value := &formula.Node{Op: formula.Literal, Type: n.Type}
	missing := false
	switch n.Type {
	case formula.Number:
		x, _ := e.numbers(&own)(b, make([]float64, 1))
		value.Number, missing = x[0], x[0] != x[0]
	case formula.Date, formula.Timestamp:
		value.Whole = e.wholes(&own)(b, make([]int64, 1))[0]
		missing = value.Whole == none
	case formula.Text:
		codes, dict := e.codes(&own)(b, make([]int32, 1))
		if missing = codes[0] < 0; !missing {
			value.Text = dict.all[codes[0]]
		}
	case formula.Bool:
		t := newTruth().cut(1)
		e.bools(&own)(b, t)
		value.Whole, missing = int64(t.yes[0]), t.yes[0]|t.no[0] == 0
	}
	if missing {
		return &formula.Node{Op: formula.Null, Type: n.Type}
	}
	return value
}
