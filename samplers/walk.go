package samplers

import "math"

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
