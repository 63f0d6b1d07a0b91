package samplers

import (
	"math"
	"math/bits"
	"slices"
)

// Selector is one secret draw. It walks the table once, in row order, block
// after block, and is not safe for concurrent use.
type Selector interface {
	// Next says which of the next n rows are in the sample; n may be any size.
	// Designs with a frame refuse it.
	Next(n int) (Selection, error)
	// NextUnits is Next for the next len(units) rows, given each row's unit as
	// Frame.UnitOf numbers it. Designs without a frame ignore the units.
	NextUnits(units []int32) (Selection, error)
	// Done must be called after the last row and its error heeded: it checks that
	// the table was what the design says, and the draw what was promised.
	Done() error
}

// Selection is the part of the sample that lies in one block.
type Selection struct {
	All     bool      // every row of the block
	Rows    []uint32  // offsets inside the block, ascending; valid until the next call
	Weights []float64 // nil when all weights are equal; else parallel to Rows
}

// walk follows the position of a draw in its table and holds the block's
// selection. Every selector embeds it.
type walk struct {
	pos  int64 // rows gone by
	rows int64 // rows of the table, −1 where not known
	out  []uint32
	over bool
}

// advance moves over a block of n rows and returns where it starts.
func (w *walk) advance(n int) (first int64, err error) {
	if w.over || n < 0 || int64(n) > math.MaxUint32 {
		return 0, fail(Misuse)
	}
	if w.pos > math.MaxInt64-1-int64(n) {
		return 0, fail(Misuse)
	}
	first = w.pos
	w.pos += int64(n)
	if w.rows >= 0 && w.pos > w.rows {
		return 0, fail(SizeMismatch)
	}
	w.out = w.out[:0]
	return first, nil
}

// selectLanes selects the rows of the block that starts at first whose lane is 1:
// row i is decided by bit i mod 64 of word(i/64), whatever the blocks. word is
// called in ascending order, and again for a word that a block boundary cuts.
func (w *walk) selectLanes(first int64, word func(i int64) uint64) {
	for at := first; at < w.pos; {
		lane := uint(at & 63)
		width := min(64-int64(lane), w.pos-at)
		hits := word(at>>6) >> lane
		if width < 64 {
			hits &= 1<<uint(width) - 1
		}
		n := len(w.out)
		w.out = slices.Grow(w.out, 64)[:n+bits.OnesCount64(hits)]
		for out, base := w.out[n:], uint32(at-first); hits != 0; hits &= hits - 1 {
			out[0] = base + uint32(bits.TrailingZeros64(hits))
			out = out[1:]
		}
		at += width
	}
}

// finish checks that the whole table went by, once.
func (w *walk) finish() error {
	if w.over {
		return fail(Misuse)
	}
	w.over = true
	if w.rows >= 0 && w.pos != w.rows {
		return fail(SizeMismatch)
	}
	return nil
}

// firstError is the first of errs that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
