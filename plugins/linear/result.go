package linear

import (
	"iter"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// The columns that every linear mechanism releases beside the groups.
const (
	EstimateField = "estimate"
	SDField       = "noise_sd"
)

// Fields are the fields of an estimate and of its noise, and further ones.
func Fields(doc string, granularity float64, more ...sdk.Field) []sdk.Field {
	return append([]sdk.Field{
		{Name: EstimateField, Type: sdk.Float64, Granularity: granularity, Doc: doc + ", with noise"},
		{Name: SDField, Type: sdk.Float64, Doc: "standard deviation of the noise in the estimate"},
	}, more...)
}

// Number is a field of numbers.
func Number(name, doc string) sdk.Field {
	return sdk.Field{Name: name, Type: sdk.Float64, Doc: doc}
}

// Of sets the unit of every number field except the named ones: the product of the columns in of
// over those in per.
func Of(fields []sdk.Field, of, per []string, but ...string) []sdk.Field {
	out := slices.Clone(fields)
	for i, f := range out {
		if f.Type == sdk.Float64 && !slices.Contains(but, f.Name) {
			out[i].Of, out[i].Per = of, per
		}
	}
	return out
}

// Names are the names of fields.
func Names(fields []sdk.Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return out
}

// Results are the columns of fields of numbers, from rows that have a number for each field.
func Results(fields []sdk.Field, rows iter.Seq[[]float64]) []sdk.ResultColumn {
	out := make([]sdk.ResultColumn, len(fields))
	for j, f := range fields {
		out[j].Name = f.Name
	}
	for row := range rows {
		for j, x := range row {
			out[j].Float64 = append(out[j].Float64, x)
		}
	}
	return out
}

// PerRow describes the noise in a value that is divided by a secret number of rows. Per is the
// standard deviation times that number, width the range of the value.
func PerRow(public sdk.Public, what string, per, width float64) sdk.ExpectedError {
	e := sdk.ExpectedError{
		Field:        EstimateField,
		Note:         what + ": noise of standard deviation at most " + Figure(per) + "/m in the first order, m the number of values (the column count)",
		SamplingNote: "it depends on how many values the sample holds in each group, which is secret; the more of them, the smaller it is",
	}
	if rows := AtMost(public); rows > 0 && per/rows > width {
		e.Note = sdk.NoUse + e.Note + "; there are at most " + Figure(rows) + ", so the noise is larger than the range of the value"
	}
	return e
}

// Project moves x to the nearest numbers of at least 0 that add up to sum.
func Project(x []float64, sum float64) {
	rest, shift := 0.0, 0.0
	order := slices.Sorted(slices.Values(x))
	for i := len(order) - 1; i >= 0; i-- { // the largest ones stay above 0
		rest += order[i]
		shift = (rest - sum) / float64(len(order)-i)
		if i > 0 && order[i-1] <= shift {
			break
		}
	}
	for i := range x {
		x[i] = max(0, x[i]-shift)
	}
}
