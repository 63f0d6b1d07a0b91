package samplers

import (
	"math"
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
)

// Selector is one secret draw. It walks the table once, in row order, block
// after block, and is not safe for concurrent use.
type Selector interface {
	// Next selects those of the next n rows that are in the sample; n may be any size.
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

// placed is a draw that goes by the places of rows alone, and not by their units.
type placed struct {
	walk
	src  *noise.Source                    // nil where nothing is left to chance
	all  bool                             // every row is selected
	pick func(w *walk, first int64) error // puts the rows drawn of the block that begins at first into w.out; nil for none
	rest func() bool                      // whether rows are still to be drawn; nil where the number is random
}

func (s *placed) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err == nil && s.pick != nil {
		err = s.pick(&s.walk, first)
	}
	if err == nil && s.src != nil {
		err = s.src.Err()
	}
	if err != nil {
		return Selection{}, err
	}
	return Selection{All: s.all, Rows: s.out}, nil
}

func (s *placed) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *placed) Done() error {
	err := s.finish()
	if err == nil && s.src != nil {
		err = s.src.Err()
	}
	if err == nil && s.rest != nil && s.rest() {
		err = fail(SizeMismatch)
	}
	return err
}

// unitwise is the common part of draws that go by the unit of each row.
type unitwise struct {
	walk
	src     *noise.Source
	weights []float64 // by unit, nil where all are equal
	w       []float64
}

// Next only serves an empty block: the units decide.
func (s *unitwise) Next(n int) (Selection, error) {
	if n != 0 {
		return Selection{}, fail(Misuse)
	}
	_, err := s.advance(0)
	return Selection{}, err
}

// take selects row i of the block, which lies in unit u.
func (s *unitwise) take(i int, u int32) {
	s.out = append(s.out, uint32(i))
	if s.weights != nil {
		s.w = append(s.w, s.weights[u])
	}
}

// block begins the next n rows.
func (s *unitwise) block(n int) error {
	_, err := s.advance(n)
	s.w = s.w[:0]
	return err
}

// taken returns the selection of the block.
func (s *unitwise) taken() (Selection, error) {
	out := Selection{Rows: s.out}
	if s.weights != nil {
		out.Weights = s.w
	}
	return out, s.src.Err()
}

func (s *unitwise) Done() error {
	if err := s.finish(); err != nil {
		return err
	}
	return s.src.Err()
}

// unitSelector draws, inside each ultimate unit, the records that are needed of
// it, by sequential selection as the rows stream by in any order of units.
type unitSelector struct {
	unitwise
	need []int64 // by unit: records still to be drawn; 0 in units not drawn
	left []int64 // by unit: records still to come
}

func newUnitSelector(src *noise.Source, d overFrame) *unitSelector {
	f := d.frame
	s := &unitSelector{unitwise: unitwise{walk: walk{rows: f.records}, src: src, weights: d.uneven()}, need: make([]int64, f.Len()),
		left: make([]int64, f.Len())}
	for i, u := range f.units {
		s.left[i] = u.Records
	}
	return s
}

func (s *unitSelector) NextUnits(units []int32) (Selection, error) {
	if err := s.block(len(units)); err != nil {
		return Selection{}, err
	}
	for i, u := range units {
		if u < 0 || int(u) >= len(s.left) || s.left[u] == 0 {
			return Selection{}, fail(FrameMismatch)
		}
		if need := s.need[u]; need > 0 && takes(s.src, need, s.left[u]) {
			s.need[u]--
			s.take(i, u)
		}
		s.left[u]--
	}
	return s.taken()
}

func (s *unitSelector) Done() error {
	if err := s.unitwise.Done(); err != nil {
		return err
	}
	// As many rows went by as the frame has records, none in a unit that was
	// full: every unit is complete, and so is its draw.
	for u := range s.left {
		if s.left[u] != 0 || s.need[u] != 0 {
			return fail(FrameMismatch)
		}
	}
	return nil
}
