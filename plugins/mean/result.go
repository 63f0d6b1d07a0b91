package mean

import (
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// output is the shape of the release: one row a column and group.
func (l *layout) output() []sdk.Field {
	fields := []sdk.Field{{Name: "column", Type: sdk.String, Doc: "the averaged column"}}
	if l.params.By != "" {
		fields = append(fields, sdk.Field{Name: "group", Type: sdk.String, Doc: "value of " + l.params.By})
	}
	fields = append(fields,
		sdk.Field{Name: "estimate", Type: sdk.Float64, Doc: "the mean, with noise"},
		sdk.Field{Name: "noise_sd", Type: sdk.Float64, Doc: "standard deviation of the noise in the estimate"},
	)
	if l.params.Interval != nil {
		fields = l.params.Interval.With(fields)
	} else {
		fields = append(fields,
			sdk.Field{Name: "noise_low", Type: sdk.Float64, Doc: "lower end of the 95 % interval of the noise alone"},
			sdk.Field{Name: "noise_high", Type: sdk.Float64, Doc: "upper end of the 95 % interval of the noise alone"},
		)
	}
	if l.queries[0].Divisor == 0 {
		fields = append(fields, sdk.Field{Name: "count", Type: sdk.Float64, Doc: "the number of values, with noise; with design weights it estimates the population's"})
	}
	if len(l.queries) == 1 { // with several columns each row has its own unit
		fields = linear.Of(fields, []string{l.queries[0].Column.Name}, nil, "count")
	}
	return fields
}

// result turns noisy sums into the released table. It is post-processing: it
// sees nothing but the noisy sums and public constants.
func (l *layout) result(sums [][]int64, noises []linear.Noise) sdk.Result {
	var column, group []string
	var est, sd, low, high, count []float64
	for i, q := range l.queries {
		for g := range l.cells.N {
			parts := q.Reach.Parts
			e := q.Estimate(sums[i][g*parts:(g+1)*parts], noises[i])
			column = append(column, q.Column.Name)
			if l.params.By != "" {
				group = append(group, l.cells.Groups[0].Domain[g])
			}
			est, sd = append(est, e.Value), append(sd, e.SD)
			low, high, count = append(low, e.Low), append(high, e.High), append(count, e.Count)
		}
	}
	values := map[string]sdk.ResultColumn{
		"column": {String: column}, "group": {String: group}, "estimate": {Float64: est}, "noise_sd": {Float64: sd},
		"noise_low": {Float64: low}, "noise_high": {Float64: high}, "count": {Float64: count},
		linear.LowField: {Float64: low}, linear.HighField: {Float64: high},
	}
	var out sdk.Result
	for _, f := range l.output() {
		c := values[f.Name]
		c.Name = f.Name
		out.Columns = append(out.Columns, c)
	}
	return out
}
