package rows

import "golang.org/x/sys/cpu"

var hasAVX = cpu.X86.HasAVX

// lessAVX sets the bits of the rows where x < y, for 64 rows in each of the words.
//
//go:noescape
func lessAVX(dst *uint64, x, y *float64, words int)

// lessEqualAVX sets the bits of the rows where x <= y, for 64 rows in each of the words.
//
//go:noescape
func lessEqualAVX(dst *uint64, x, y *float64, words int)

// betweenAVX sets the bits of the rows where bounds[0] <= x <= bounds[1], for 64 rows in each of the words.
//
//go:noescape
func betweenAVX(dst *uint64, x, bounds *float64, words int)

// inAVX returns how many whole words of the bits of n numbers the functions above set: all, or none.
func inAVX(n int) int {
	if !hasAVX {
		return 0
	}
	return n / 64
}

// numbersLess sets the bits of the rows where x < y.
func numbersLess(w []uint64, x, y []float64) {
	n := inAVX(len(x))
	if n > 0 {
		lessAVX(&w[0], &x[0], &y[:len(x)][0], n)
	}
	less(w[n:], x[64*n:], y[64*n:])
}

// numbersLessEqual sets the bits of the rows where x <= y.
func numbersLessEqual(w []uint64, x, y []float64) {
	n := inAVX(len(x))
	if n > 0 {
		lessEqualAVX(&w[0], &x[0], &y[:len(x)][0], n)
	}
	lessEqual(w[n:], x[64*n:], y[64*n:])
}

// numbersBetween sets the bits of the numbers that are between the bounds.
func numbersBetween(w []uint64, x []float64, bounds *[2]float64) {
	n := inAVX(len(x))
	if n > 0 {
		betweenAVX(&w[0], &x[0], &bounds[0], n)
	}
	between(w[n:], x[64*n:], bounds)
}
