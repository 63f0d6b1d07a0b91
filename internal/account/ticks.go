package account

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/figure"
)

// round marks round numbers.
var round = figure.Even(func(x float64) string { return plain(fmt.Sprintf("%.9e", x)) })

// decades marks powers of ten as 1e-6, at most about ten of them.
var decades = figure.Decades{Most: 10, Else: round, Label: func(k int) string {
	label := fmt.Sprintf("1e%d", k)
	if math.Abs(float64(k)) <= 2 {
		return plain(label)
	}
	return label
}}
