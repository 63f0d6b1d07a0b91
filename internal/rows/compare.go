package rows

import "golang.org/x/sys/cpu"

var hasAVX = cpu.X86.HasAVX

// inAVX returns how many whole words of the bits of n numbers the processor sets four bits at a time: all, or none.
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
