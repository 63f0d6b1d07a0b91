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

func byList(src *noise.Source, size, rows int64) Selector {
	list := listSubset(src, size, rows) // what is still to come
	return &placed{walk: walk{rows: rows}, src: src, rest: func() bool { return len(list) > 0 }, pick: func(w *walk, first int64) error {
		i := 0
		for ; i < len(list) && list[i] < w.pos; i++ {
			w.out = append(w.out, uint32(list[i]-first))
		}
		list = list[i:]
		return nil
	}}
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

func byMap(src *noise.Source, size, rows int64) Selector {
	set := mapSubset(src, size, rows)
	return &placed{walk: walk{rows: rows}, src: src, pick: func(w *walk, first int64) error {
		w.selectLanes(first, func(i int64) uint64 { return set[i] })
		return nil
	}}
}

// inSequence decides row after row: of the left rows that remain, need are still to be
// drawn, and this one is with probability need/left.
func inSequence(src *noise.Source, need, rows int64) Selector {
	return &placed{walk: walk{rows: rows}, src: src, rest: func() bool { return need != 0 }, pick: func(w *walk, first int64) error {
		for at := first; at < w.pos && need > 0; at++ {
			if takes(src, need, rows-at) {
				need--
				w.out = append(w.out, uint32(at-first))
			}
		}
		return nil
	}}
}

// takes is true with probability need/left.
func takes(src *noise.Source, need, left int64) bool {
	return need >= left || src.Uint64n(uint64(left)) < uint64(need)
}
