package mean

import (
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// numbers are the columns of the release after those that say what a row is about.
func (l *layout) numbers() []sdk.Field {
	fields := l.params.Interval.WithError(linear.Estimating(sdk.StatisticMean, linear.Fields("the mean", 0)))
	if l.queries[0].Divisor == 0 {
		fields = append(fields, linear.Counted(l.public.Design))
	}
	fields = append(fields, linear.Flag(linear.TooFew))
	if len(l.queries) == 1 { // with several columns each row has its own unit
		fields = linear.Of(fields, []string{l.queries[0].Column.Name}, nil, linear.CountField)
	}
	return fields
}

// output is the shape of the release: one row a column and group.
func (l *layout) output() []sdk.Field {
	fields := []sdk.Field{{Name: "column", Type: sdk.String, Doc: "the averaged column"}}
	if l.params.By != "" {
		fields = append(fields, sdk.Field{Name: "group", Type: sdk.String, Doc: "value of " + l.params.By})
	}
	return append(fields, l.numbers()...)
}

// result turns noisy sums into the released table. It is post-processing: it
// sees nothing but the noisy sums and public constants.
func (l *layout) result(f *linear.Form, sums [][]int64, noises []linear.Noise) sdk.Result {
	fields := l.numbers()
	var column, group []string
	var rows [][]float64
	for i, q := range l.queries {
		for c := range l.cells.N {
			rows, column = append(rows, f.At(i, c, sums, noises).Row(fields)), append(column, q.Column.Name)
		}
		if l.params.By != "" {
			group = append(group, l.cells.Groups[0].Domain...)
		}
	}
	columns := []sdk.ResultColumn{{Name: "column", Texts: column}}
	if l.params.By != "" {
		columns = append(columns, sdk.ResultColumn{Name: "group", Texts: group})
	}
	return sdk.Result{Columns: append(columns, linear.Results(fields, slices.Values(rows))...)}
}
