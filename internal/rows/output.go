package rows

import (
	"slices"

	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/table"
)

// output gathers the values of a column over the steps of a block.
type output struct {
	slot    *slot
	numbers []float64
	wholes  []int64
	codes   []int32
	valid   []byte
	missing bool // valid says which rows are there; until then all are
	texts   *texts
	rows    int
}

func (o *output) start(rows int) {
	o.rows, o.missing, o.texts = rows, false, nil
	switch o.slot.Type {
	case formula.Number:
		o.numbers = sized(o.numbers, rows)
	case formula.Date, formula.Timestamp:
		o.wholes = sized(o.wholes, rows)
	default:
		o.codes = sized(o.codes, rows)
	}
}

// keep takes the values of a step.
func (o *output) keep(b *block) {
	switch s := o.slot; s.Type {
	case formula.Number:
		dst := o.numbers[b.from : b.from+b.n] // s.numbers is this memory
		if !finite(dst) {
			drop(o, dst, b, func(x float64) bool { return x != x })
		}
	case formula.Date, formula.Timestamp:
		dst := o.wholes[b.from : b.from+b.n]
		copy(dst, s.wholes)
		if slices.Contains(dst, none) {
			drop(o, dst, b, func(x int64) bool { return x == none })
		}
	case formula.Bool:
		dst := o.codes[b.from : b.from+b.n]
		codes(dst, s.truth)
		o.texts = bools
		if slices.Contains(dst, -1) {
			drop(o, dst, b, func(c int32) bool { return c < 0 })
		}
	default:
		dst := o.codes[b.from : b.from+b.n]
		copy(dst, s.codes)
		o.texts = s.texts
		if slices.Contains(dst, -1) {
			drop(o, dst, b, func(c int32) bool { return c < 0 })
		}
	}
}

// drop marks the missing rows of a step and puts zero in their place.
func drop[T any](o *output, values []T, b *block, missing func(T) bool) {
	if !o.missing {
		o.missing = true
		o.valid = sized(o.valid, (o.rows+7)/8)
		for i := range o.valid {
			o.valid[i] = 0xff
		}
		if o.rows%8 != 0 {
			o.valid[len(o.valid)-1] = 1<<(o.rows%8) - 1
		}
	}
	var zero T
	for i, v := range values {
		if missing(v) {
			values[i] = zero
			at := b.from + i
			o.valid[at>>3] &^= 1 << (at & 7)
		}
	}
}

func (o *output) values(rows int) table.Values {
	var v table.Values
	switch o.slot.Type {
	case formula.Number:
		v = table.Values{Kind: table.Float, Float64: o.numbers}
	case formula.Date:
		v = table.Values{Kind: table.Date, Int64: o.wholes}
	case formula.Timestamp:
		v = table.Values{Kind: table.Timestamp, Int64: o.wholes, Unit: table.Microsecond}
	default:
		v = table.Values{Kind: table.String, Codes: o.codes}
		if o.texts != nil { // nil in a block without rows
			v.Dict, v.DictID = o.texts.all, o.texts.id
		}
	}
	if o.missing {
		v.Valid = o.valid
	}
	return v
}

// codes makes 0 of false, 1 of true and -1 of missing.
func codes(dst []int32, t truth) {
	for i := range dst {
		yes, no := int32(t.yes[i>>6]>>(i&63)&1), int32(t.no[i>>6]>>(i&63)&1)
		dst[i] = 2*yes + no - 1
	}
}

// bools is the dictionary of a bool.
var bools = newTexts([]string{"false", "true"})
