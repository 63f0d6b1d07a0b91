package linear

// totalAVX2 adds up the bits of (value - numbers[0]) * numbers[1] + numbers[2], of 16 values at a time.
//
//go:noescape
func totalAVX2(sums *[4]int64, values, numbers *float64, sixteens int)
