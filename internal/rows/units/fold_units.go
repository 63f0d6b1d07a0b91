package units

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// blockUnits is the number of units of a block.
const blockUnits = 1 << 16

// FoldedUnits are all units of a table, folded.
type FoldedUnits struct {
	folds   []cell
	blocks  []*foldedBlock
	filling *foldedBlock
	units   int64
	size    int      // of a block: blockUnits, or fewer for a small table
	dicts   []uint64 // of each fold the DictID of its domain
	memory  int64    // the most bytes that blocks may take
	taken   int64    // by all blocks, on the disk or not
	dir     string
	disk    *unlinked.File
}

// foldedBlock holds the folded values of up to blockUnits units.
type foldedBlock struct {
	rows  int
	folds [][]uint64 // of each fold the values, and behind them a bitmap of those that are there; nil on the disk
	at    int64      // where the block is on the disk
}

// foldBytes returns how many bytes one fold of a block takes.
func (u *FoldedUnits) foldBytes() int64 { return 8 * int64(u.size+u.size/64) }

// block returns the block that is being filled, or an empty one if that is full.
func (u *FoldedUnits) block() (*foldedBlock, error) {
	if u.units%blockUnits == 0 {
		if err := u.end(); err != nil {
			return nil, err
		}
		u.filling = &foldedBlock{folds: make([][]uint64, len(u.folds))}
		for i := range u.folds {
			u.filling.folds[i] = make([]uint64, u.size+u.size/64)
		}
	}
	return u.filling, nil
}

// end closes the current block, and writes it to the disk if memory is short.
func (u *FoldedUnits) end() (err error) {
	b := u.filling
	if b == nil {
		return nil
	}
	u.filling = nil
	u.blocks = append(u.blocks, b)
	if u.taken += int64(len(u.folds)) * u.foldBytes(); u.taken <= u.memory {
		return nil
	}
	if u.disk == nil {
		if u.disk, err = unlinked.New(u.dir); err != nil {
			return err
		}
	}
	b.at = u.disk.Size()
	for _, fold := range b.folds {
		if _, err := u.disk.Append(asBytes(fold)); err != nil {
			return err
		}
	}
	b.folds = nil
	return nil
}

// read returns the values of a fold and a bitmap of those that are there. It may use the memory of to.
func (u *FoldedUnits) read(b *foldedBlock, fold int, to *[]uint64) (values, valid []uint64, err error) {
	if b.folds != nil {
		return b.folds[fold][:u.size], b.folds[fold][u.size:], nil
	}
	if *to == nil {
		*to = make([]uint64, u.foldBytes()/8)
	}
	err = u.disk.Fill(asBytes(*to), b.at+int64(fold)*u.foldBytes())
	return (*to)[:u.size], (*to)[u.size:], err
}

// Units returns the number of units. Under add-remove it is private (P19).
func (u *FoldedUnits) Units() int64 { return u.units }

// Close frees the units.
func (u *FoldedUnits) Close() error {
	u.blocks = nil
	err := u.disk.Close()
	u.disk = nil
	return err
}

// View returns the units as one view sees them.
func (u *FoldedUnits) View(view int) *Folded { return &Folded{units: u, view: view} }

// Folded is a table in which each row is a unit. Several goroutines may call its methods.
type Folded struct {
	units *FoldedUnits
	view  int
}

// Rows returns the number of units, which is the same in all views. Under add-remove it is private (P19).
func (f *Folded) Rows() int64 { return f.units.units }

// Scan hands over the folded values as (*table.Table).Scan does, in blocks of 65,536 units. Until visit returns, it may
// write to the slices of a batch. Scan ignores Workers and Content.
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
		b := f.units.blocks[at]
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
				words, valid, err := f.units.read(b, w, &columns[i].words)
				if err != nil {
					return err
				}
				batch.Columns = append(batch.Columns, columns[i].values(&f.units.folds[w], f.units.dicts[w], words, valid, batch.Picked, batch.Rows))
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

// foldedColumn is the memory for one column of a scan.
type foldedColumn struct {
	words  []uint64
	floats []float64
	codes  []int32
	valid  []byte
}

// values copies the picked units of a block.
func (c *foldedColumn) values(fold *cell, dict uint64, words, valid []uint64, pick table.Pick, rows int) table.Values {
	c.valid = fit(c.valid, (rows+7)/8)
	clear(c.valid)
	if fold.delivers() {
		c.floats = fit(c.floats, rows)
	} else {
		c.codes = fit(c.codes, rows)
	}
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
		if valid[at>>6]>>(at&63)&1 == 1 {
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
