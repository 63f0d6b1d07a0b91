package units

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/table"
)

// blockUnits is how many units a block of folded units has.
const blockUnits = 1 << 16

// FoldedUnits are all units of a table, folded.
type FoldedUnits struct {
	folds   []cell
	blocks  []foldedBlock
	units   int64
	missing int64
	dicts   []uint64 // the names of the domains, for each fold
}

// foldedBlock holds the folded values of up to blockUnits units.
type foldedBlock struct {
	rows   int
	values [][]uint64 // for each fold
	valid  [][]byte
}

// dictionaries numbers the domains of folded columns. The numbers of package table begin at 1 and do not come this far.
var dictionaries atomic.Uint64

func newDictionary() uint64 { return 1<<63 | dictionaries.Add(1) }

// Finish ends the table. It returns ErrNullKey where a row names no unit and the rule is to refuse.
func (f *Folder) Finish() (*FoldedUnits, error) {
	if err := f.set.keys.err(); err != nil {
		return nil, err
	}
	u := &FoldedUnits{folds: f.folds, missing: f.set.keys.missing}
	for range f.folds {
		u.dicts = append(u.dicts, newDictionary())
	}
	sources := make([]stream, shards)
	for i := range sources {
		sources[i] = &foldedShard{folder: f, unit: &f.set.shards[i], tally: &f.tally[i]}
	}
	err := merge(sources, 1+len(f.folds)+(len(f.folds)+63)/64, f.set.row, u.add)
	return u, err
}

// foldedShard is a stream of the results of a shard's units.
type foldedShard struct {
	folder *Folder
	unit   *unitShard
	tally  *tally
	at     int
}

func (s *foldedShard) peek() (int64, error) {
	if s.at == s.unit.records.count {
		return ended, nil
	}
	return int64(s.unit.records.at(uint32(s.at))[firstWord] &^ ownUnit), nil
}

// next writes the first row, the results, and a bit for each of them that is there.
func (s *foldedShard) next(out []uint64) {
	record := s.unit.records.at(uint32(s.at))
	s.at++
	f := s.folder
	n := len(f.folds)
	clear(out)
	out[0] = record[firstWord] &^ ownUnit
	for i := range f.folds {
		c := &f.folds[i]
		if at := f.passed[c.view]; at > 0 && record[at] == 0 {
			continue
		}
		if x, ok := c.result(s.tally, record[c.at:]); ok {
			out[1+i] = x
			out[1+n+i>>6] |= 1 << (i & 63)
		}
	}
}

// add takes the results of the next unit.
func (u *FoldedUnits) add(record []uint64) error {
	n := len(u.folds)
	if u.units%blockUnits == 0 {
		b := foldedBlock{values: make([][]uint64, n), valid: make([][]byte, n)}
		for i := range n {
			b.values[i], b.valid[i] = make([]uint64, 0, blockUnits), make([]byte, blockUnits/8)
		}
		u.blocks = append(u.blocks, b)
	}
	b := &u.blocks[len(u.blocks)-1]
	for i := range n {
		b.values[i] = append(b.values[i], record[1+i])
		if record[1+n+i>>6]>>(i&63)&1 == 1 {
			b.valid[i][b.rows>>3] |= 1 << (b.rows & 7)
		}
	}
	b.rows++
	u.units++
	return nil
}

// Units is the number of units. Under add-remove it is private (P19).
func (u *FoldedUnits) Units() int64 { return u.units }

// NullRows is the number of rows that name no unit. It is private.
func (u *FoldedUnits) NullRows() int64 { return u.missing }

// Close gives up the file of units that did not fit in memory.
func (u *FoldedUnits) Close() error { return nil }

// View returns the units as one view sees them.
func (u *FoldedUnits) View(view int) *Folded { return &Folded{units: u, view: view} }

// Folded is a table of units: a row of it is a unit. Its methods may be called from several goroutines.
type Folded struct {
	units *FoldedUnits
	view  int
}

// Rows is the number of units, the same in all views. Under add-remove it is private (P19).
func (f *Folded) Rows() int64 { return f.units.units }

// Scan hands the folded values over as (*table.Table).Scan does, in blocks of 65,536 units. The slices of a batch belong
// to visit until it returns, which may write to them. Workers and Content have no meaning here.
func (f *Folded) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	wanted := make([]int, len(o.Columns))
	columns := make([]foldedColumn, len(o.Columns))
	for i, name := range o.Columns {
		wanted[i] = slices.IndexFunc(f.units.folds, func(c cell) bool { return c.view == f.view && c.Column == name })
		if wanted[i] < 0 {
			return fmt.Errorf("units: column %s is not folded in view %d", name, f.view)
		}
	}
	for at := range f.units.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &f.units.blocks[at]
		batch := table.Batch{Block: table.Block{First: int64(at) * blockUnits, Rows: b.rows}, Picked: table.Pick{All: true}, Rows: b.rows}
		if o.Pick != nil {
			pick, err := o.Pick(batch.Block)
			if err != nil {
				return err
			}
			batch.Picked = pick
			if !pick.All {
				batch.Rows = len(pick.Rows)
			}
		}
		if batch.Rows > 0 {
			batch.Columns = batch.Columns[:0]
			for i, w := range wanted {
				batch.Columns = append(batch.Columns, columns[i].values(&f.units.folds[w], f.units.dicts[w], b.values[w], b.valid[w], batch.Picked, batch.Rows))
			}
			if err := visit(batch); err != nil {
				return err
			}
		}
		if o.Progress != nil {
			o.Progress(batch.Block.First + int64(batch.Block.Rows))
		}
	}
	return ctx.Err()
}

// foldedColumn is the memory in which one column of a scan is delivered.
type foldedColumn struct {
	floats []float64
	codes  []int32
	valid  []byte
}

// values gathers the picked units of a block.
func (c *foldedColumn) values(fold *cell, dict uint64, words []uint64, valid []byte, pick table.Pick, rows int) table.Values {
	if c.valid == nil {
		c.valid = make([]byte, blockUnits/8)
		if fold.delivers() {
			c.floats = make([]float64, blockUnits)
		} else {
			c.codes = make([]int32, blockUnits)
		}
	}
	clear(c.valid)
	all := true
	for i := range rows {
		at := i
		if !pick.All {
			at = int(pick.Rows[i])
		}
		if fold.delivers() {
			c.floats[i] = math.Float64frombits(words[at])
		} else {
			c.codes[i] = int32(words[at])
		}
		if bit(valid, at) {
			c.valid[i>>3] |= 1 << (i & 7)
		} else {
			all = false
		}
	}
	v := table.Values{Kind: table.Float}
	if fold.delivers() {
		v.Float64 = c.floats[:rows]
	} else {
		v.Kind, v.Codes, v.Dict, v.DictID = table.String, c.codes[:rows], fold.Domain, dict
	}
	if !all {
		v.Valid = c.valid[:(rows+7)/8]
	}
	return v
}
