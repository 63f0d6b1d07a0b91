package rows

import (
	"iter"
	"math/bits"

	"github.com/dprelease/dprelease/internal/rows/formula"
)

// truth is the result of a condition for the rows of a step. Bit i of yes is set if row i is true, and bit i of no if it
// is false; neither is set if it is missing, or behind the last row. A bitmap that nobody asks for may be nil.
type truth struct{ yes, no []uint64 }

// words returns how many words hold the bits of n rows.
func words(n int) int { return (n + 63) / 64 }

func (t truth) cut(n int) truth {
	if t.yes != nil {
		t.yes = t.yes[:words(n)]
	}
	if t.no != nil {
		t.no = t.no[:words(n)]
	}
	return t
}

func newTruth() truth {
	return truth{make([]uint64, step/64), make([]uint64, step/64)}
}

// like returns the bitmaps of room that t asks for.
func (t truth) like(room truth) truth {
	if t.yes == nil {
		room.yes = nil
	}
	if t.no == nil {
		room.no = nil
	}
	return room.cut(64 * max(len(t.yes), len(t.no)))
}

// set gives n rows one value: 1 for true, 0 for false, -1 for missing.
func (t truth) set(value, n int) {
	clear(t.yes)
	clear(t.no)
	if value == 1 && t.yes != nil {
		ones(t.yes, n)
	}
	if value == 0 && t.no != nil {
		ones(t.no, n)
	}
}

func ones(w []uint64, n int) {
	for i := range w {
		w[i] = ^uint64(0)
	}
	if n%64 != 0 && len(w) > 0 {
		w[len(w)-1] = 1<<(n%64) - 1
	}
}

func and(dst, a []uint64) {
	for i, w := range a {
		dst[i] &= w
	}
}

func or(dst, a []uint64) {
	for i, w := range a {
		dst[i] |= w
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// less sets the bits of the rows where x < y. It is fast because the eight comparisons of a step do not depend on each
// other.
func less[T int64 | int32 | float64](w []uint64, x, y []T) {
	for k := range w {
		word, lo := uint64(0), k*64
		for j := 0; j < 64 && lo+j < len(x); j += 8 {
			if lo+j+8 > len(x) {
				for i := lo + j; i < len(x); i++ {
					word |= bit(x[i] < y[i]) << (i & 63)
				}
				break
			}
			a, b := x[lo+j:lo+j+8:lo+j+8], y[lo+j:lo+j+8:lo+j+8]
			word |= (bit(a[0] < b[0]) | bit(a[1] < b[1])<<1 | bit(a[2] < b[2])<<2 | bit(a[3] < b[3])<<3 |
				bit(a[4] < b[4])<<4 | bit(a[5] < b[5])<<5 | bit(a[6] < b[6])<<6 | bit(a[7] < b[7])<<7) << j
		}
		w[k] = word
	}
}

// lessEqual sets the bits of the rows where x <= y.
func lessEqual[T int64 | int32 | float64](w []uint64, x, y []T) {
	for k := range w {
		word, lo := uint64(0), k*64
		for j := 0; j < 64 && lo+j < len(x); j += 8 {
			if lo+j+8 > len(x) {
				for i := lo + j; i < len(x); i++ {
					word |= bit(x[i] <= y[i]) << (i & 63)
				}
				break
			}
			a, b := x[lo+j:lo+j+8:lo+j+8], y[lo+j:lo+j+8:lo+j+8]
			word |= (bit(a[0] <= b[0]) | bit(a[1] <= b[1])<<1 | bit(a[2] <= b[2])<<2 | bit(a[3] <= b[3])<<3 |
				bit(a[4] <= b[4])<<4 | bit(a[5] <= b[5])<<5 | bit(a[6] <= b[6])<<6 | bit(a[7] <= b[7])<<7) << j
		}
		w[k] = word
	}
}

// between sets the bits of the numbers that are between the bounds.
func between(w []uint64, x []float64, bounds *[2]float64) {
	for k := range w {
		w[k] = 0
		for i, v := range x[64*k : min(64*k+64, len(x))] {
			w[k] |= bit(bounds[0] <= v) & bit(v <= bounds[1]) << i
		}
	}
}

// Outside yields the places of the numbers that are not between the bounds, NaN among them. The caller may change the number
// at the place that it gets.
func Outside(x []float64, lower, upper float64) iter.Seq[int] {
	return func(yield func(int) bool) {
		bounds := [2]float64{lower, upper}
		var inside [16]uint64
		for from := 0; from < len(x); from += 64 * len(inside) {
			part := x[from:min(from+64*len(inside), len(x))]
			n := words(len(part))
			numbersBetween(inside[:n], part, &bounds)
			for k := range n {
				for out := ^inside[k]; out != 0; out &= out - 1 {
					if i := from + 64*k + bits.TrailingZeros64(out); i >= len(x) || !yield(i) {
						return
					}
				}
			}
		}
	}
}

// compare compares numbers. A comparison with NaN is neither true nor false.
func compare(t truth, op formula.Op, x, y []float64) {
	var room [step / 64]uint64
	switch op {
	case formula.Less:
		if t.yes != nil {
			numbersLess(t.yes, x, y)
		}
		if t.no != nil {
			numbersLessEqual(t.no, y, x)
		}
	case formula.LessEqual:
		if t.yes != nil {
			numbersLessEqual(t.yes, x, y)
		}
		if t.no != nil {
			numbersLess(t.no, y, x)
		}
	case formula.Equal:
		if t.yes != nil {
			numbersLessEqual(t.yes, x, y)
			numbersLessEqual(room[:len(t.yes)], y, x)
			and(t.yes, room[:len(t.yes)])
		}
		if t.no != nil {
			numbersLess(t.no, x, y)
			numbersLess(room[:len(t.no)], y, x)
			or(t.no, room[:len(t.no)])
		}
	}
}

// compareWholes compares whole numbers. A comparison with the value missing is neither true nor false.
func compareWholes[T int64 | int32](t truth, op formula.Op, x, y []T, missing T) {
	var below, above, both [step / 64]uint64
	b, a, there := below[:words(len(x))], above[:words(len(x))], both[:words(len(x))]
	less(b, x, y)
	less(a, y, x)
	ones(there, len(x))
	known(there, x, missing)
	known(there, y, missing)
	for i := range there {
		yes := b[i]
		switch op {
		case formula.LessEqual:
			yes = ^a[i]
		case formula.Equal:
			yes = ^a[i] & ^b[i]
		}
		b[i], a[i] = yes&there[i], ^yes&there[i]
	}
	copy(t.yes, b)
	copy(t.no, a)
}

// known clears the bits of the rows that are missing.
func known[T int64 | int32 | float64](w []uint64, x []T, missing T) {
	for k := range w {
		word := uint64(0)
		for i, v := range x[k*64 : min(k*64+64, len(x))] {
			word |= bit(v != missing && v == v) << i
		}
		w[k] &= word
	}
}

// at returns 0 if row i is missing, 1 if it is true and 2 if it is false.
func (t truth) at(i int) uint64 {
	return t.yes[i>>6]>>(i&63)&1 | t.no[i>>6]>>(i&63)&1<<1
}

// choose takes a if the condition is true, b if it is false, and missing if it is neither. It does not branch by row,
// because a processor cannot predict conditions.
func choose[T any](dst []T, t truth, a, b []T, missing T) {
	a, b = a[:len(dst)], b[:len(dst)]
	from := [4]T{missing, missing, missing, missing}
	for i := range dst {
		from[1], from[2] = a[i], b[i]
		dst[i] = from[t.at(i)&3]
	}
}
