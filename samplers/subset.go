package samplers

import (
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
)

// Three ways to draw a uniform subset of fixed size; srswor.proof.md has the
// argument for each.

// listSubset returns the first size distinct values of a stream of uniform row
// numbers, in ascending order.
func listSubset(src *noise.Source, size, rows int64) []int64 {
	list := make([]int64, 0, size)
	for int64(len(list)) < size {
		// Never more values than are missing: the list always holds the distinct
		// values of a prefix of the stream.
		for range size - int64(len(list)) {
			list = append(list, int64(src.Uint64n(uint64(rows))))
		}
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

type listSelector struct {
	walk
	src  *noise.Source
	list []int64 // what is still to come
}

func (s *listSelector) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err != nil {
		return Selection{}, err
	}
	i := 0
	for ; i < len(s.list) && s.list[i] < s.pos; i++ {
		s.out = append(s.out, uint32(s.list[i]-first))
	}
	s.list = s.list[i:]
	return Selection{Rows: s.out}, s.src.Err()
}

func (s *listSelector) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *listSelector) Done() error {
	if err := firstError(s.finish(), s.src.Err()); err != nil {
		return err
	}
	if len(s.list) > 0 {
		return fail(SizeMismatch)
	}
	return nil
}

// mapSubset tosses a coin of size/rows for every row, then takes out, or puts
// in, rows chosen uniformly until size are left.
func mapSubset(src *noise.Source, size, rows int64) []uint64 {
	set := make([]uint64, (rows+63)/64)
	// 0 < size < rows: NewCoins cannot refuse.
	coins, err := noise.NewCoins(uint64(size), uint64(rows))
	if err != nil {
		return set
	}
	for i := range set {
		set[i] = coins.Toss(src)
	}
	if tail := rows % 64; tail > 0 {
		set[len(set)-1] &= 1<<uint(tail) - 1
	}
	var count int64
	for _, w := range set {
		count += int64(bits.OnesCount64(w))
	}
	for count != size {
		row := src.Uint64n(uint64(rows))
		word, bit := &set[row/64], uint64(1)<<(row%64)
		switch has := *word&bit != 0; {
		case count > size && has:
			count--
			*word ^= bit
		case count < size && !has:
			count++
			*word ^= bit
		}
	}
	return set
}

type mapSelector struct {
	walk
	src  *noise.Source
	bits []uint64
}

func (s *mapSelector) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err != nil {
		return Selection{}, err
	}
	s.selectLanes(first, func(i int64) uint64 { return s.bits[i] })
	return Selection{Rows: s.out}, s.src.Err()
}

func (s *mapSelector) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *mapSelector) Done() error { return firstError(s.finish(), s.src.Err()) }

// sequentialSelector decides row after row: of the left rows that remain, need
// are still to be drawn, and this one is with probability need/left.
type sequentialSelector struct {
	walk
	src  *noise.Source
	need int64
}

func (s *sequentialSelector) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err != nil {
		return Selection{}, err
	}
	for at := first; at < s.pos && s.need > 0; at++ {
		if takes(s.src, s.need, s.rows-at) {
			s.need--
			s.out = append(s.out, uint32(at-first))
		}
	}
	return Selection{Rows: s.out}, s.src.Err()
}

func (s *sequentialSelector) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *sequentialSelector) Done() error {
	if err := firstError(s.finish(), s.src.Err()); err != nil {
		return err
	}
	if s.need != 0 {
		return fail(SizeMismatch)
	}
	return nil
}

// takes is true with probability need/left.
func takes(src *noise.Source, need, left int64) bool {
	return need >= left || src.Uint64n(uint64(left)) < uint64(need)
}
