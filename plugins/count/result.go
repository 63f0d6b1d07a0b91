package count

import (
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// output is the shape of the release: one row a cell of the public domains.
func (l *layout) output() []sdk.Field {
	var fields []sdk.Field
	for _, g := range l.groups {
		fields = append(fields, sdk.Field{Name: g.Name, Type: sdk.String, Doc: "group"})
	}
	what := "the number of records, with noise"
	if l.Sum != "" {
		what = "the sum of " + l.Sum + ", with noise"
	}
	fields = append(fields,
		sdk.Field{Name: "estimate", Type: sdk.Float64, Granularity: l.unit(), Doc: what + ", scaled to the population"},
		sdk.Field{Name: "noise_sd", Type: sdk.Float64, Doc: "standard deviation of the noise in the estimate"},
		sdk.Field{Name: "noise_low", Type: sdk.Float64, Doc: "lower end of the 95 % interval of the noise alone"},
		sdk.Field{Name: "noise_high", Type: sdk.Float64, Doc: "upper end of the 95 % interval of the noise alone"},
	)
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
	for _, g := range l.groups {
		if g.Missing == sdk.MissingDrop {
			return 0
		}
	}
	return float64(l.public.Population)
}

// result is post-processing: it sees the noisy cells and public facts alone.
func (l *layout) result(cells []int64) sdk.Result {
	unit := l.unit()
	estimate, sd := make([]float64, l.cells), make([]float64, l.cells)
	low, high := make([]float64, l.cells), make([]float64, l.cells)
	for i, c := range cells {
		estimate[i] = unit * float64(c)
		sd[i], low[i], high[i] = unit*l.sd, estimate[i]-unit*l.tail, estimate[i]+unit*l.tail
	}
	var out sdk.Result
	each := l.cells
	for _, g := range l.groups {
		each /= len(g.Domain)
		labels := make([]string, l.cells)
		for i := range labels {
			labels[i] = g.Domain[i/each%len(g.Domain)]
		}
		out.Columns = append(out.Columns, sdk.ResultColumn{Name: g.Name, String: labels})
	}
	out.Columns = append(out.Columns,
		sdk.ResultColumn{Name: "estimate", Float64: estimate}, sdk.ResultColumn{Name: "noise_sd", Float64: sd},
		sdk.ResultColumn{Name: "noise_low", Float64: low}, sdk.ResultColumn{Name: "noise_high", Float64: high})
	if l.adjusts() {
		out.Columns = append(out.Columns, sdk.ResultColumn{Name: "consistent", Float64: consistent(estimate, l.total())})
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
