package units

import (
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
)

// Rows sorts rows of columns by parts, with a Sorter. A column has numbers, or codes, or only says which rows have a value.
type Rows struct {
	*Sorter
	shape []table.Values // a row of each column, from which its kind is seen
	row   []uint32
}

// NewRows makes a sorter of rows of columns.
func NewRows(parts int, memory int64, dir string) *Rows {
	return &Rows{Sorter: NewSorter(parts, memory, dir)}
}

// flags returns the number of words that say which columns of a row have a value.
func (r *Rows) flags() int { return (len(r.shape) + 31) / 32 }

// Add adds row i of some columns to a part. Columns are the same in all calls.
func (r *Rows) Add(part, i int, columns []table.Values) error {
	if r.shape == nil {
		r.shape = columns
	}
	row := append(r.row[:0], make([]uint32, r.flags())...)
	for k := range columns {
		v := &columns[k]
		if bit(v.Valid, i) {
			row[k>>5] |= 1 << (k & 31)
		}
		if v.Codes != nil {
			row = append(row, uint32(v.Codes[i]))
		} else if v.Float64 != nil {
			x := math.Float64bits(v.Float64[i])
			row = append(row, uint32(x), uint32(x>>32))
		}
	}
	r.row = row
	return r.Sorter.Add(part, row...)
}

// Each visits the rows of a part in their order, so many at a time. Several goroutines may call it. The columns are the
// visitor's own.
func (r *Rows) Each(part, most int, visit func(columns []table.Values, rows int) error) error {
	var columns []table.Values
	rows := 0
	flush := func() error {
		some, n := columns, rows
		if columns, rows = nil, 0; n == 0 {
			return nil
		}
		return visit(some, n)
	}
	err := r.Sorter.Each(part, func(words []uint32) error {
		for len(words) > 0 {
			if columns == nil {
				columns = make([]table.Values, len(r.shape))
			}
			words = r.read(words, columns, rows)
			if rows++; rows == most {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// read appends a row to some columns, and returns the words behind it.
func (r *Rows) read(words []uint32, columns []table.Values, at int) []uint32 {
	flags, words := words[:r.flags()], words[r.flags():]
	for k := range columns {
		v, of := &columns[k], &r.shape[k]
		if at>>3 == len(v.Valid) {
			v.Valid = append(v.Valid, 0)
		}
		v.Valid[at>>3] |= byte(flags[k>>5]>>(k&31)&1) << (at & 7)
		if of.Codes != nil {
			v.Codes, words = append(v.Codes, int32(words[0])), words[1:]
		} else if of.Float64 != nil {
			v.Float64, words = append(v.Float64, math.Float64frombits(uint64(words[1])<<32|uint64(words[0]))), words[2:]
		}
	}
	return words
}
