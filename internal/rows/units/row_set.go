package units

import (
	"math/bits"
	"sync/atomic"
)

// RowSet is a set of rows of a table, or of units, one bit each.
type RowSet struct {
	words []uint64
	rank  []int64 // how many are in the set before every eighth word, after Count
}

// NewRowSet makes an empty set of some of so many rows.
func NewRowSet(rows int64) *RowSet { return &RowSet{words: make([]uint64, (rows+63)/64)} }

// Add adds a row.
func (s *RowSet) Add(row int64) { s.words[row>>6] |= 1 << (row & 63) }

// Has reports whether a row is in the set.
func (s *RowSet) Has(row int64) bool { return s.words[row>>6]>>(row&63)&1 == 1 }

// Count counts the rows, after the last one is added.
func (s *RowSet) Count() (n int64) {
	s.rank = make([]int64, 0, len(s.words)/8+1)
	for i, w := range s.words {
		if i&7 == 0 {
			s.rank = append(s.rank, n)
		}
		n += int64(bits.OnesCount64(w))
	}
	if len(s.words)&7 == 0 {
		s.rank = append(s.rank, n)
	}
	return n
}

// Before counts the rows of the set before a row, after Count.
func (s *RowSet) Before(row int64) int64 {
	at := row >> 6
	n := s.rank[at>>3]
	for _, w := range s.words[at&^7 : at] {
		n += int64(bits.OnesCount64(w))
	}
	if row&63 > 0 {
		n += int64(bits.OnesCount64(s.words[at] & (1<<(row&63) - 1)))
	}
	return n
}

// Without counts the rows of the set that are not in another one.
func (s *RowSet) Without(other *RowSet) (n int64) {
	for i, w := range s.words {
		n += int64(bits.OnesCount64(w &^ other.words[i]))
	}
	return n
}

// Kept is the set of rows that a cap keeps.
type Kept struct {
	*RowSet
	from int64 // the rows among which they were chosen
}

// keep adds a row. Several goroutines may call it.
func (k *Kept) keep(row int64) { atomic.OrUint64(&k.words[row>>6], 1<<(row&63)) }

// Dropped returns how many rows of a unit and a cell there were, and how many of them are not kept. Both are private.
func (k *Kept) Dropped() (rows, dropped int64) { return k.from, k.from - k.Count() }
