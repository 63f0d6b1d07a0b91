package count

import (
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

const consistentField = "consistent"

// output are the columns of the release beside the groups.
func (l *layout) output() []sdk.Field {
	fields := l.Interval.WithError(linear.Estimating(sdk.StatisticCount, linear.Fields("the number of records", l.unit())))
	fields[0].Doc += ", scaled to the population"
	if l.adjusts() {
		fields = append(fields,
			linear.Number(consistentField, "post-processing of the estimates: not negative, and adding up to the public number of records"))
	}
	return fields
}

// adjusts reports whether the consistent column is released.
func (l *layout) adjusts() bool { return l.Consistent == nil || *l.Consistent }

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
	fields, unit, n := l.output(), l.unit(), noises[0]
	out := linear.Results(fields, func(yield func([]float64) bool) {
		for s := range slices.Chunk(sums[0], l.additive.Reach.Parts) {
			e := linear.Estimate{Value: unit * float64(s[0]), SD: unit * n.SD}
			if l.Interval != nil {
				e.Low, e.High = l.additive.Interval(s, n, 0, l.weights.Scale)
				e.Error, e.Freedom = l.additive.Error(s, n, l.weights.Scale)
			}
			if !yield(e.Row(fields)) {
				return
			}
		}
	})
	if l.adjusts() {
		out[len(out)-1].Float64 = consistent(out[0].Float64, l.total(), linear.Varies(l.public.Design))
	}
	return out
}

// consistent makes counts that are not negative and, where total is positive, add up to it. Where the weights of a draw add up
// to another number each time, the counts are scaled first, unless noise may be most of their sum.
func consistent(x []float64, total float64, varies bool) []float64 {
	out := slices.Clone(x)
	if total > 0 {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		for i := range out {
			if varies && 4*sum > total {
				out[i] *= total / sum
			}
		}
		linear.Project(out, total)
	}
	for i, v := range out {
		out[i] = max(0, v)
	}
	return out
}
