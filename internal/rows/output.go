package rows

import (
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// output gathers the values of a column over the steps of a block.
type output struct {
	slot    *slot
	numbers []float64
	wholes  []int64
	codes   []int32
	valid   []byte
	missing bool // some rows are missing, and valid says which
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

// keep adds the values of a step.
func (o *output) keep(b *block) {
	switch s := o.slot; s.Type {
	case formula.Number:
		if !s.clean {
			drop(o, o.numbers[b.from:b.from+b.n], b, nan) // s.numbers is this memory
		}
	case formula.Date, formula.Timestamp:
		dst := o.wholes[b.from : b.from+b.n]
		copy(dst, s.wholes)
		if slices.Contains(dst, none) {
			drop(o, dst, b, none)
		}
	case formula.Bool:
		dst := o.codes[b.from : b.from+b.n]
		codes(dst, s.truth)
		o.texts = bools
		if slices.Contains(dst, -1) {
			drop(o, dst, b, -1)
		}
	default:
		dst := o.codes[b.from : b.from+b.n]
		copy(dst, s.codes)
		o.texts = s.texts
		if slices.Contains(dst, -1) {
			drop(o, dst, b, -1)
		}
	}
}

// drop marks the missing rows of a step and puts zero in their places.
func drop[T int32 | int64 | float64](o *output, values []T, b *block, missing T) {
	if !o.missing {
		o.missing = true
		o.valid = sized(o.valid, (o.rows+7)/8)
		fill(o.valid, 0xff)
		if last := o.rows % 8; last > 0 {
			o.valid[len(o.valid)-1] = 1<<last - 1
		}
	}
	var room [step / 64]uint64
	w := room[:words(b.n)]
	ones(w, b.n)
	known(w, values, missing)
	toBytes(o.valid[b.from/8:(b.from+b.n+7)/8], w)
	for k, there := range w {
		for gone := ^there; gone != 0; gone &= gone - 1 {
			if i := 64*k + bits.TrailingZeros64(gone); i < b.n {
				values[i] = 0
			}
		}
	}
}

func (o *output) values() table.Values {
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

// codes turns false into 0, true into 1 and missing into -1.
func codes(dst []int32, t truth) {
	for i := range dst {
		yes, no := int32(t.yes[i>>6]>>(i&63)&1), int32(t.no[i>>6]>>(i&63)&1)
		dst[i] = 2*yes + no - 1
	}
}

// bools is the dictionary of a bool.
var bools = newTexts([]string{"false", "true"})
