//go:build !amd64

package rows

func lessAVX(*uint64, *float64, *float64, int)      {}
func lessEqualAVX(*uint64, *float64, *float64, int) {}
func betweenAVX(*uint64, *float64, *float64, int)   {}
