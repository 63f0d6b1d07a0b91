package units

import (
	"context"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
)

// blockUnits is the number of units of a block.
const blockUnits = 1 << 16

// FoldedUnits are all units of a table, folded, in blocks. A block has a page for each fold: the values, and behind them a bitmap
// of those that are there.
type FoldedUnits struct {
	paged[uint64]
	folds   []cell
	filling [][]uint64 // the pages of the last block
	units   int64
	size    int      // of a block: blockUnits, or fewer for a small table
	dicts   []uint64 // of each fold the DictID of its domain
}

func newFoldedUnits(f *Folder) *FoldedUnits {
	u := &FoldedUnits{folds: f.folds, size: int(min(blockUnits, (f.spec.Units+63)&^63))}
	words := int64(u.size + u.size/64)
	u.paged = paged[uint64]{dir: f.spec.Dir, length: words, room: f.spec.Memory / 4 / max(8*words, 1)}
	for range f.folds {
		u.dicts = append(u.dicts, table.NewDictID())
	}
	return u
}

// begin ends the last block and begins another.
func (u *FoldedUnits) begin() error {
	if err := u.end(); err != nil {
		return err
	}
	for range u.folds {
		u.filling = append(u.filling, make([]uint64, u.length))
	}
	return nil
}

// end ends the last block.
func (u *FoldedUnits) end() error {
	for _, page := range u.filling {
		if _, err := u.keep(page); err != nil {
			return err
		}
	}
	u.filling = nil
	return nil
}

// Units returns the number of units. Under add-remove it is private (P19).
func (u *FoldedUnits) Units() int64 { return u.units }

// Close frees the units.
func (u *FoldedUnits) Close() error {
	err := u.disk.Close()
	u.paged, u.units = paged[uint64]{}, 0
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

// fold returns the place of a column of the view among all folds.
func (f *Folded) fold(column string) (int, error) {
	at := slices.IndexFunc(f.units.folds, func(c cell) bool { return c.view == f.view && c.Column == column })
	if at < 0 {
		return 0, fmt.Errorf("units: column %s is not folded in view %d", column, f.view)
	}
	return at, nil
}

// Scan hands over the folded values as (*table.Table).Scan does, in blocks of 65,536 units. Until visit returns, it may
// write to the slices of a batch. Scan ignores Workers and Content.
func (f *Folded) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	folds, rooms := make([]int, len(o.Columns)), make([]Gathered, len(o.Columns))
	for i, name := range o.Columns {
		var err error
		if folds[i], err = f.fold(name); err != nil {
			return err
		}
	}
	for first := int64(0); first < f.Rows(); first += blockUnits {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := table.Block{First: first, Rows: int(min(blockUnits, f.Rows()-first))}
		batch := table.Batch{Block: block, Picked: table.Pick{All: true}, Rows: block.Rows}
		if o.Pick != nil {
			pick, err := o.Pick(block)
			if err != nil {
				return err
			}
			if batch.Picked = pick; !pick.All {
				batch.Rows = len(pick.Rows)
			}
		}
		if batch.Rows > 0 {
			for i, fold := range folds {
				v, err := f.units.picked(fold, batch, &rooms[i])
				if err != nil {
					return err
				}
				batch.Columns = append(batch.Columns, v)
			}
			if err := visit(batch); err != nil {
				return err
			}
		}
		if o.Progress != nil {
			o.Progress(first + int64(block.Rows))
		}
	}
	return ctx.Err()
}

// picked copies a fold of the picked units of a block.
func (u *FoldedUnits) picked(fold int, b table.Batch, g *Gathered) (table.Values, error) {
	page, err := u.whole(u.pageOf(fold, int32(b.Block.First)), g)
	if err != nil {
		return table.Values{}, err
	}
	g.begin(&u.folds[fold], b.Rows)
	for i := range b.Rows {
		at := i
		if !b.Picked.All {
			at = int(b.Picked.Rows[i])
		}
		g.put(i, page, u.size, at)
	}
	return u.values(fold, g), nil
}
