package arrow

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrLarge is the error for texts of a batch that its offsets cannot count.
var ErrLarge = errors.New("arrow: a batch has more than two gigabytes of text")

// Column holds the buffers of a column of a batch: the bitmap of the rows that have a value, or nil if all have one; the offsets
// of the texts, if it is one of texts; and the values.
type Column [][]byte

// Builder collects the values of one column, row by row.
type Builder struct {
	typ     Type
	rows    int
	missing bool
	valid   []byte
	ends    []byte // of texts
	values  []byte
}

// NewBuilder makes an empty builder.
func NewBuilder(typ Type) *Builder {
	b := &Builder{typ: typ}
	b.Reset()
	return b
}

// Reset takes all rows away.
func (b *Builder) Reset() {
	b.rows, b.missing, b.valid, b.ends, b.values = 0, false, b.valid[:0], append(b.ends[:0], 0, 0, 0, 0), b.values[:0]
}

// Rows returns the number of rows.
func (b *Builder) Rows() int { return b.rows }

func appendBit(to []byte, row int, v bool) []byte {
	if row%8 == 0 {
		to = append(to, 0)
	}
	if v {
		to[row/8] |= 1 << (row % 8)
	}
	return to
}

// append appends a row of numbers, or the end of its text.
func (b *Builder) append(valid bool, v int64) {
	b.valid = appendBit(b.valid, b.rows, valid)
	b.missing = b.missing || !valid
	switch b.typ {
	case Text:
		b.ends = binary.LittleEndian.AppendUint32(b.ends, uint32(len(b.values)))
	case Bool:
		b.values = appendBit(b.values, b.rows, v != 0)
	case Int32, Date:
		b.values = binary.LittleEndian.AppendUint32(b.values, uint32(v))
	case Decimal:
		b.values = binary.LittleEndian.AppendUint64(b.values, uint64(v))
		b.values = binary.LittleEndian.AppendUint64(b.values, uint64(v>>63))
	default:
		b.values = binary.LittleEndian.AppendUint64(b.values, uint64(v))
	}
	b.rows++
}

// Null appends a missing value.
func (b *Builder) Null() { b.append(false, 0) }

// Int appends a value of any type but Text and Float64: the digits of a decimal, zero or one for a bool.
func (b *Builder) Int(v int64) { b.append(true, v) }

// Float appends a value of type Float64.
func (b *Builder) Float(v float64) { b.append(true, int64(math.Float64bits(v))) }

// Text appends a value of type Text.
func (b *Builder) Text(v []byte) {
	b.values = append(b.values, v...)
	b.append(true, 0)
}

// Column returns the rows, until the next call of another method.
func (b *Builder) Column() (Column, error) {
	c := Column{nil, b.values}
	if b.typ == Text {
		c = Column{nil, b.ends, b.values}
	}
	if b.missing {
		c[0] = b.valid
	}
	if len(b.values) > math.MaxInt32 && b.typ == Text {
		return nil, ErrLarge
	}
	return c, nil
}
