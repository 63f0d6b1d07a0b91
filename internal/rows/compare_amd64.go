package rows

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
