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

// numbersLess sets the bits of the rows where x < y.
func numbersLess(w []uint64, x, y []float64) {
	whole := 0
	if whole = len(x) / 64; hasAVX && whole > 0 {
		lessAVX(&w[0], &x[0], &y[:len(x)][0], whole)
	} else {
		whole = 0
	}
	less(w[whole:], x[64*whole:], y[64*whole:])
}

// numbersLessEqual sets the bits of the rows where x <= y.
func numbersLessEqual(w []uint64, x, y []float64) {
	whole := 0
	if whole = len(x) / 64; hasAVX && whole > 0 {
		lessEqualAVX(&w[0], &x[0], &y[:len(x)][0], whole)
	} else {
		whole = 0
	}
	lessEqual(w[whole:], x[64*whole:], y[64*whole:])
}
