package linear

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// totalAVX2 adds up the bits of (value - numbers[0]) * numbers[1] + numbers[2], of 16 values at a time.
//
//go:noescape
func totalAVX2(sums *[4]int64, values, numbers *float64, sixteens int)

// sixteens adds up the first values for total, four at a time, and returns how many.
func (l Lattice) sixteens(values []float64) (sum int64, done int) {
	if len(values) < 16 || !hasAVX2 {
		return 0, 0
	}
	var sums [4]int64
	totalAVX2(&sums, &values[0], &[]float64{l.Centre, l.inverse, magic}[0], len(values)/16)
	return sums[0] + sums[1] + sums[2] + sums[3], len(values) &^ 15
}
