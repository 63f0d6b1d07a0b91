package sgd

import (
	"errors"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// maxRows bounds the table so that every sum on the lattice fits an int64.
const maxRows = 1 << 27

// blockBits is the logarithm of the number of rows in a block. Blocks let a table of
// unknown size grow without being copied.
const blockBits = 13

var errTooLarge = errors.New("the table has too many records")

// matrix is the encoded table, row by row. A row holds its coordinates without the
// intercept, its target and its clipping limit, so that a step finds everything about a
// record in one place.
type matrix struct {
	width  int
	stride int
	blocks [][]float64
	n      int64
}

func newMatrix(width int) *matrix { return &matrix{width: width, stride: width + 2} }

func (m *matrix) row(i int64) []float64 {
	at := int(i&(1<<blockBits-1)) * m.stride
	return m.blocks[i>>blockBits][at : at+m.stride : at+m.stride]
}

// prefetch asks the memory for records and does not wait for them.
func (m *matrix) prefetch(sample []int64) {
	for _, i := range sample {
		prefetch(&m.row(i)[0], 8*m.stride)
	}
}

// read encodes all rows of the stream.
func (e *encoder) read(rows sdk.Rows) (*matrix, error) {
	m := newMatrix(e.Width)
	var present []bool
	var whole []float64
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		n := b.Rows
		if m.n+int64(n) > maxRows {
			return errTooLarge
		}
		if cap(present) < n {
			present, whole = make([]bool, n), make([]float64, n*m.stride)
		}
		present, whole = present[:n], whole[:n*m.stride]
		clear(whole)
		e.encode(b, whole, m.stride, present)
		m.add(whole)
		return nil
	})
	return m, err
}

// add appends encoded rows.
func (m *matrix) add(rows []float64) {
	for len(rows) > 0 {
		at := int(m.n & (1<<blockBits - 1))
		if at == 0 {
			m.blocks = append(m.blocks, make([]float64, m.stride<<blockBits))
		}
		k := copy(m.blocks[len(m.blocks)-1][at*m.stride:], rows)
		rows = rows[k:]
		m.n += int64(k / m.stride)
	}
}
