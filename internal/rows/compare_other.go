//go:build !amd64

package rows

// numbersLess sets the bits of the rows where x < y.
func numbersLess(w []uint64, x, y []float64) { less(w, x, y) }

// numbersLessEqual sets the bits of the rows where x <= y.
func numbersLessEqual(w []uint64, x, y []float64) { lessEqual(w, x, y) }

// numbersBetween sets the bits of the numbers that are between the bounds.
func numbersBetween(w []uint64, x []float64, bounds *[2]float64) { between(w, x, bounds) }
