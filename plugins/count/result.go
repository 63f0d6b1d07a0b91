package count

import (
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// output are the columns of the release beside the groups.
func (l *layout) output() []sdk.Field {
	what := "the number of records, with noise"
	if l.Sum != "" {
		what = "the sum of " + l.Sum + ", with noise"
	}
	fields := []sdk.Field{
		{Name: "estimate", Type: sdk.Float64, Granularity: l.unit(), Doc: what + ", scaled to the population"},
		{Name: "noise_sd", Type: sdk.Float64, Doc: "standard deviation of the noise in the estimate"},
	}
	if l.Interval != nil {
		fields = l.Interval.With(fields)
	} else {
		fields = append(fields,
			sdk.Field{Name: "noise_low", Type: sdk.Float64, Doc: "lower end of the 95 % interval of the noise alone"},
			sdk.Field{Name: "noise_high", Type: sdk.Float64, Doc: "upper end of the 95 % interval of the noise alone"})
	}
	if l.adjusts() {
		fields = append(fields, sdk.Field{Name: "consistent", Type: sdk.Float64,
			Doc: "post-processing of the estimates: not negative, and adding up to the public number of records"})
	}
	return fields
}

// adjusts says whether the consistent column is released.
func (l *layout) adjusts() bool { return l.Sum == "" && (l.Consistent == nil || *l.Consistent) }

// total is the public number of records that the cells must add up to, 0 where
// there is none.
func (l *layout) total() float64 {
	if l.units.Leaves {
		return 0
	}
	return float64(l.public.Population)
}

// result is post-processing: it sees the noisy cells and public facts alone.
func (l *layout) result(sums [][]int64, noises []linear.Noise) []sdk.ResultColumn {
	unit, n := l.unit(), l.cells.N
	estimate, sd := make([]float64, n), make([]float64, n)
	low, high := make([]float64, n), make([]float64, n)
	tail := noises[0].Tail(0.05)
	ends := []string{"noise_low", "noise_high"}
	for i := range n {
		c := sums[0][i*l.additive.Reach.Parts:][:l.additive.Reach.Parts]
		estimate[i] = unit * float64(c[0])
		sd[i], low[i], high[i] = unit*noises[0].SD, estimate[i]-unit*tail, estimate[i]+unit*tail
		if l.Interval != nil {
			low[i], high[i] = l.additive.Interval(c, noises[0], 0, l.weights.Scale)
			ends = []string{linear.LowField, linear.HighField}
		}
	}
	out := []sdk.ResultColumn{
		{Name: "estimate", Float64: estimate}, {Name: "noise_sd", Float64: sd}, {Name: ends[0], Float64: low}, {Name: ends[1], Float64: high},
	}
	if l.adjusts() {
		out = append(out, sdk.ResultColumn{Name: "consistent", Float64: consistent(estimate, l.total())})
	}
	return out
}

// consistent moves counts to the nearest ones that are not negative and, where
// total is positive, add up to it: the Euclidean projection on the simplex.
func consistent(x []float64, total float64) []float64 {
	shift := 0.0
	if total > 0 {
		sorted := slices.Clone(x)
		slices.SortFunc(sorted, func(a, b float64) int {
			if a > b {
				return -1
			}
			return 1
		})
		sum := 0.0
		for i, v := range sorted {
			sum += v
			if s := (sum - total) / float64(i+1); v-s > 0 {
				shift = s
			}
		}
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = max(0, v-shift)
	}
	return out
}
