package report

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/figure"
)

// even marks round numbers.
var even = figure.Even(func(x float64) string { return plain(x, 6) })

// decades marks powers of ten, at most about six of them.
var decades = figure.Decades{Most: 6, Label: power, Else: even}

func power(k int) string {
	if k >= -2 && k <= 3 {
		return trim(math.Pow(10, float64(k)))
	}
	return fmt.Sprintf("1e%d", k)
}
