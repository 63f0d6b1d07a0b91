package run

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// spool keeps the rows of a release by cell, for a mechanism that is run on each cell by itself. It stands in for the
// mechanism while the sample is read. A row is words: a bit for each column whether it has a value, the values, the weight.
type spool struct {
	cells    int
	codes    []bool // of each column, whether it holds categories
	weighted bool
	memory   int64         // the most bytes of rows in memory
	sorted   *units.Sorter // by cell, nil before the first row
	row      []uint32
}

func newSpool(cells, columns int, memory int64) *spool {
	return &spool{cells: cells, codes: make([]bool, columns), memory: memory}
}

// Write is not used: rows come by add.
func (s *spool) Write(sdk.Batch) error {
	return errors.New("rows of a release by group come with their group")
}

// add keeps the rows that are in a cell.
func (s *spool) add(codes []int32, columns []sdk.Values, weights []float64) error {
	for i, code := range codes {
		if code < 0 {
			continue
		}
		row := append(s.row[:0], make([]uint32, s.flags())...)
		for k, v := range columns {
			if s.codes[k] = v.Codes != nil; s.codes[k] {
				row = append(row, uint32(v.Codes[i]))
				continue
			}
			if v.Valid == nil || v.Valid[i>>3]>>(i&7)&1 == 1 {
				row[k>>5] |= 1 << (k & 31)
			}
			row = appendFloat(row, v.Float64[i])
		}
		if s.weighted = weights != nil; s.weighted {
			row = appendFloat(row, weights[i])
		}
		if s.row = row; s.sorted == nil {
			s.sorted = units.NewSorter(s.cells, s.memory, "")
		}
		if err := s.sorted.Add(int(code), row...); err != nil {
			return err
		}
	}
	return nil
}

// flags returns how many words tell which columns have a value.
func (s *spool) flags() int { return (len(s.codes) + 31) / 32 }

func appendFloat(row []uint32, x float64) []uint32 {
	bits := math.Float64bits(x)
	return append(row, uint32(bits), uint32(bits>>32))
}

// spoolRows bounds the rows of a cell that are handed over at once.
const spoolRows = 1 << 16

// feed hands the rows of one cell to a mechanism, in their order.
func (s *spool) feed(cell int, w host.RowWriter) error {
	if s.sorted == nil {
		return nil
	}
	b := sdk.Batch{Columns: make([]sdk.Values, len(s.codes))}
	flush := func() (err error) {
		if b.Rows > 0 {
			err = w.Write(b)
		}
		b = sdk.Batch{Columns: make([]sdk.Values, len(s.codes))}
		return err
	}
	err := s.sorted.Each(cell, func(words []uint32) error {
		for len(words) > 0 {
			words = s.read(words, &b)
			if b.Rows == spoolRows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return err
}

// read adds a row to a batch, and returns the words behind it.
func (s *spool) read(words []uint32, to *sdk.Batch) []uint32 {
	flags, words := words[:s.flags()], words[s.flags():]
	float := func() float64 {
		x := math.Float64frombits(uint64(words[1])<<32 | uint64(words[0]))
		words = words[2:]
		return x
	}
	for k, codes := range s.codes {
		c := &to.Columns[k]
		if codes {
			c.Codes, words = append(c.Codes, int32(words[0])), words[1:]
			continue
		}
		if to.Rows>>3 == len(c.Valid) {
			c.Valid = append(c.Valid, 0)
		}
		c.Valid[to.Rows>>3] |= byte(flags[k>>5]>>(k&31)&1) << (to.Rows & 7)
		c.Float64 = append(c.Float64, float())
	}
	if s.weighted {
		to.Weights = append(to.Weights, float())
	}
	to.Rows++
	return words
}

// close gives up the rows.
func (s *spool) close() {
	if s.sorted != nil {
		_ = s.sorted.Close() // its file has no name: nothing is left of it
	}
}
