package finish

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// quantiles returns, for each group of noisy counts, a quantile for each rank; NaN where the total
// of the group is not positive.
func quantiles(counts []int64, q sdk.Quantiles) []float64 {
	var out []float64
	bins := len(q.Edges) - 1
	for ; len(counts) >= bins; counts = counts[bins:] {
		mass, total := nearest(numbers(counts[:bins]))
		for _, p := range q.At {
			out = append(out, quantile(mass, total, q.Edges, p))
		}
	}
	return out
}

// nearest returns the counts that are not negative, have the same total, and are nearest to the
// noisy ones (least squares): each is lowered by the same, down to 0. The total is that of what it
// returns, NaN where that of the noisy counts is not positive.
func nearest(noisy []float64) (counts []float64, total float64) {
	sorted := slices.Clone(noisy)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	all := 0.0
	for _, x := range noisy {
		all += x
	}
	if !(all > 0) {
		return nil, math.NaN()
	}
	sum, less := 0.0, 0.0
	for k, x := range sorted {
		sum += x
		if t := (sum - all) / float64(k+1); x > t {
			less = t
		}
	}
	for _, x := range noisy {
		counts = append(counts, max(0, x-less))
		total += counts[len(counts)-1]
	}
	return counts, total
}

// quantile returns the value below which a share p of the counts lies. Values lie evenly in a bin.
func quantile(counts []float64, total float64, edges []float64, p float64) float64 {
	if !(total > 0) {
		return math.NaN()
	}
	target, below, last := p*total, 0.0, edges[0]
	for i, c := range counts {
		if c == 0 {
			continue
		}
		if target <= below+c {
			part := min(1, max(0, (target-below)/c))
			return edges[i]*(1-part) + edges[i+1]*part
		}
		below += c
		last = edges[i+1]
	}
	return last
}
