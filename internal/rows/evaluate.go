package rows

import (
	"encoding/binary"
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// step is the number of rows that are computed at a time, so that they stay in a processor's caches. It is a multiple of 64.
const step = 2048

// none is a missing date or timestamp. A missing number is NaN, a missing text code -1.
const none = math.MinInt64

var nan = math.NaN()

// Rows are the results for one block of rows.
type Rows struct {
	// Columns are those of Spec.Outputs. Numbers are in Float64, texts and bools are Codes into Dict, dates are Int64 of
	// Kind Date, and timestamps are Int64 in microseconds. Valid says which rows have a value.
	Columns []table.Values
	// Masks are those of Spec.Conditions: bit i (least significant first) is set if the condition is true in row i. Bits
	// behind the last row are not set.
	Masks [][]byte
}

// Evaluator runs a Program. It holds memory for intermediate values, so each goroutine
// needs one of its own.
type Evaluator struct {
	program    *Program
	slots      map[string]*slot
	lookups    map[*Lookup]*slot
	outputs    []*output
	conditions []conditionOf
	block      block
	out        Rows
}

// block is the current step: n rows, of which the first is from.
type block struct {
	columns []table.Values
	from, n int
	serial  uint64
}

type conditionOf struct {
	eval boolFn
	room truth
}

// slot is a column of the table, of a lookup, or a derived one. The first reader in a step fills it.
type slot struct {
	formula.Column
	fill   func(b *block)
	serial uint64

	numbers []float64 // of the step
	clean   bool      // no number is NaN
	wholes  []int64
	codes   []int32
	texts   *texts
	truth   truth

	into *output // of a column in Spec.Outputs; else nil
}

func (s *slot) get(b *block) *slot {
	if s.serial != b.serial {
		s.serial = b.serial
		s.fill(b)
	}
	return s
}

func newEvaluator(p *Program) *Evaluator {
	return &Evaluator{program: p, slots: map[string]*slot{}, lookups: map[*Lookup]*slot{}}
}

// Evaluator makes what runs the program.
func (p *Program) Evaluator() *Evaluator {
	e := newEvaluator(p)
	for i, name := range p.needs {
		s := &slot{Column: p.types[name]}
		s.fill = loader(s, i)
		e.slots[name] = s
	}
	for _, name := range p.spec.Outputs {
		s := e.slot(name)
		s.into = &output{slot: s}
		e.outputs = append(e.outputs, s.into)
	}
	for _, c := range p.spec.Conditions {
		room := newTruth()
		room.no = nil
		e.conditions = append(e.conditions, conditionOf{e.bools(fold(c.Root)), room})
	}
	e.out = Rows{Columns: make([]table.Values, len(e.outputs)), Masks: make([][]byte, len(e.conditions))}
	return e
}

// slot returns the slot of a column. The columns that it reads get theirs first.
func (e *Evaluator) slot(name string) *slot {
	if s, ok := e.slots[name]; ok {
		return s
	}
	s := &slot{Column: e.program.types[name]}
	e.slots[name] = s
	for _, d := range e.program.spec.Derived {
		if d.Name == name && d.Bins != nil {
			s.fill = e.bins(s, d.Bins)
		} else if d.Name == name {
			s.fill = e.derived(s, fold(d.Formula.Root))
		}
	}
	for _, l := range e.program.spec.Lookups {
		if l.column(name) != nil {
			s.fill = e.lookup(s, l)
		}
	}
	return s
}

// derived computes the column of a formula. It computes numbers in the memory of the output, if there is one.
func (e *Evaluator) derived(s *slot, n *formula.Node) func(b *block) {
	switch n.Type {
	case formula.Number:
		eval, own := e.numbers(n), make([]float64, step)
		return func(b *block) {
			dst := own[:b.n]
			if s.into != nil {
				dst = s.into.numbers[b.from : b.from+b.n]
			}
			s.numbers, s.clean = eval(b, dst)
			if s.into != nil && &s.numbers[0] != &dst[0] { // the formula is another column
				copy(dst, s.numbers)
				s.numbers = dst
			}
		}
	case formula.Date, formula.Timestamp:
		eval, own := e.wholes(n), make([]int64, step)
		return func(b *block) { s.wholes = eval(b, own[:b.n]) }
	case formula.Text:
		eval, own := e.codes(n), make([]int32, step)
		return func(b *block) { s.codes, s.texts = eval(b, own[:b.n]) }
	}
	eval, own := e.bools(n), newTruth()
	return func(b *block) {
		s.truth = own.cut(b.n)
		eval(b, s.truth)
	}
}

func (e *Evaluator) bins(s *slot, bins *formula.Bins) func(b *block) {
	from, own, labels := e.slot(bins.Column), make([]int32, step), newTexts(bins.Labels())
	if bins.Dates {
		day := e.dayOf(&formula.Node{Op: formula.Read, Type: from.Type, Column: bins.Column})
		room := make([]int64, step)
		return func(b *block) {
			s.codes, s.texts = own[:b.n], labels
			for i, d := range day(b, room[:b.n]) {
				if s.codes[i] = -1; d != none {
					s.codes[i] = bins.Code(float64(d))
				}
			}
		}
	}
	return func(b *block) {
		s.codes, s.texts = own[:b.n], labels
		for i, x := range from.get(b).numbers {
			s.codes[i] = bins.Code(x)
		}
	}
}

// Eval computes the rows of a block from the columns that Needs names. The result is valid until the next call, and no
// longer than the columns are.
//
// # Contract
//
// Row i of the result is a function of row i of the columns, of the Spec and of the
// public lookups, and of nothing else. Eval has no failure. See evaluate.proof.md (P24).
func (e *Evaluator) Eval(columns []table.Values, rows int) Rows {
	e.block.columns = columns
	for _, o := range e.outputs {
		o.start(rows)
	}
	for i := range e.out.Masks {
		e.out.Masks[i] = sized(e.out.Masks[i], (rows+7)/8)
	}
	for from := 0; from < rows; from += step {
		b := &e.block
		b.from, b.n = from, min(step, rows-from)
		b.serial++
		for i, c := range e.conditions {
			t := c.room.cut(b.n)
			c.eval(b, t)
			toBytes(e.out.Masks[i][from/8:], t.yes)
		}
		for _, o := range e.outputs {
			o.slot.get(b)
		}
		for _, o := range e.outputs { // last: it puts zeros where values are missing
			o.keep(b)
		}
	}
	for i, o := range e.outputs {
		e.out.Columns[i] = o.values()
	}
	return e.out
}

// sized returns memory for n values and does not clear it.
func sized[T any](have []T, n int) []T {
	if cap(have) < n {
		return make([]T, n)
	}
	return have[:n]
}

// toBytes writes words into a bitmap.
func toBytes(dst []byte, words []uint64) {
	for _, w := range words {
		if len(dst) < 8 {
			for i := range dst {
				dst[i] = byte(w >> (8 * i))
			}
			return
		}
		binary.LittleEndian.PutUint64(dst, w)
		dst = dst[8:]
	}
}
