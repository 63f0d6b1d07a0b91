package run

import (
	"encoding/binary"
	"errors"

	"github.com/dprelease/dprelease/internal/data/nameless"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// spool keeps the rows of a release by cell, for a mechanism that is run on each cell by itself. It stands in for the
// mechanism while the sample is read. Rows that do not fit in its memory go to a file of package nameless.
type spool struct {
	cells    []spooled
	codes    []bool // of each column, whether it holds categories
	weighted bool
	memory   int64 // the most bytes of rows in memory
	held     int64
	disk     *nameless.File // nil as long as all rows fit in memory
}

// spooled are the rows of a cell: the first ones on the disk, the others in memory.
type spooled struct {
	sdk.Batch
	stored []storedRows
}

// storedRows are consecutive rows of a cell on the disk.
type storedRows struct {
	rows     int
	at, size int64
}

func newSpool(cells, columns int, memory int64) *spool {
	s := &spool{cells: make([]spooled, cells), codes: make([]bool, columns), memory: memory}
	for i := range s.cells {
		s.cells[i].Columns = make([]sdk.Values, columns)
	}
	return s
}

// Write is not used: rows come by add.
func (s *spool) Write(sdk.Batch) error {
	return errors.New("rows of a release by group come with their group")
}

// add keeps the rows that are in a cell.
func (s *spool) add(codes []int32, columns []sdk.Values, weights []float64) error {
	row := int64(0)
	for k, v := range columns {
		s.codes[k] = v.Codes != nil
		row += 9
	}
	if s.weighted = weights != nil; s.weighted {
		row += 8
	}
	for i, code := range codes {
		if code < 0 {
			continue
		}
		to := &s.cells[code]
		for k, v := range columns {
			c := &to.Columns[k]
			if v.Codes != nil {
				c.Codes = append(c.Codes, v.Codes[i])
				continue
			}
			if to.Rows>>3 == len(c.Valid) {
				c.Valid = append(c.Valid, 0)
			}
			if v.Valid == nil || v.Valid[i>>3]>>(i&7)&1 == 1 {
				c.Valid[to.Rows>>3] |= 1 << (to.Rows & 7)
			}
			c.Float64 = append(c.Float64, v.Float64[i])
		}
		if weights != nil {
			to.Weights = append(to.Weights, weights[i])
		}
		to.Rows++
		if s.held += row; s.held > s.memory {
			if err := s.spill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// spill writes all rows to the disk.
func (s *spool) spill() (err error) {
	if s.disk == nil {
		if s.disk, err = nameless.New(""); err != nil {
			return err
		}
	}
	var b []byte
	for i := range s.cells {
		c := &s.cells[i]
		if c.Rows == 0 {
			continue
		}
		b = b[:0]
		for k := range c.Columns {
			for _, part := range s.parts(&c.Columns[k], k) {
				if b, err = binary.Append(b, binary.LittleEndian, part); err != nil {
					return err
				}
			}
		}
		if b, err = binary.Append(b, binary.LittleEndian, c.Weights); err != nil {
			return err
		}
		at, err := s.disk.Append(b)
		if err != nil {
			return err
		}
		c.stored = append(c.stored, storedRows{c.Rows, at, int64(len(b))})
		c.Batch = sdk.Batch{Columns: make([]sdk.Values, len(s.codes))}
	}
	s.held = 0
	return nil
}

// parts are the slices of a column in the order in which they are stored.
func (s *spool) parts(v *sdk.Values, column int) []any {
	if s.codes[column] {
		return []any{v.Codes}
	}
	return []any{v.Float64, v.Valid}
}

// read reads rows from the disk.
func (s *spool) read(from storedRows) (*sdk.Batch, error) {
	text := make([]byte, from.size)
	if err := s.disk.Fill(text, from.at); err != nil {
		return nil, err
	}
	b := &sdk.Batch{Rows: from.rows, Columns: make([]sdk.Values, len(s.codes))}
	var parts []any
	for k := range b.Columns {
		v := &b.Columns[k]
		if s.codes[k] {
			v.Codes = make([]int32, b.Rows)
		} else {
			v.Float64, v.Valid = make([]float64, b.Rows), make([]byte, (b.Rows+7)/8)
		}
		parts = append(parts, s.parts(v, k)...)
	}
	if s.weighted {
		b.Weights = make([]float64, b.Rows)
		parts = append(parts, b.Weights)
	}
	for _, part := range parts {
		n, err := binary.Decode(text, binary.LittleEndian, part)
		if err != nil {
			return nil, err
		}
		text = text[n:]
	}
	return b, nil
}

// feed hands the rows of one cell to a mechanism, in their order.
func (s *spool) feed(cell int, w host.RowWriter) error {
	c := &s.cells[cell]
	for _, stored := range c.stored {
		b, err := s.read(stored)
		if err == nil {
			err = writeRows(b, w)
		}
		if err != nil {
			return err
		}
	}
	return writeRows(&c.Batch, w)
}

// close gives up the file.
func (s *spool) close() { _ = s.disk.Close() } // it has no name: nothing is left of it

// spoolRows is the number of rows of a cell that are handed over at once.
const spoolRows = 1 << 16

// writeRows hands rows to a mechanism, in blocks.
func writeRows(all *sdk.Batch, w host.RowWriter) error {
	for first := 0; first < all.Rows; first += spoolRows {
		end := min(first+spoolRows, all.Rows)
		b := sdk.Batch{Rows: end - first, Columns: make([]sdk.Values, len(all.Columns))}
		for k, c := range all.Columns {
			if c.Codes != nil {
				b.Columns[k].Codes = c.Codes[first:end]
			} else {
				b.Columns[k] = sdk.Values{Float64: c.Float64[first:end], Valid: c.Valid[first/8 : (end+7)/8]}
			}
		}
		if all.Weights != nil {
			b.Weights = all.Weights[first:end]
		}
		if err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
