package linear

import (
	"iter"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// CountField is the column of a noisy number of values, beside an estimate that is divided by it.
const CountField = "count"

// The columns of the sums of a ratio.
const (
	AboveField = "numerator"
	BelowField = "denominator"
)

// Counted is the field of that column.
func Counted(d sdk.Design) sdk.Field {
	return sdk.Field{Name: CountField, Type: sdk.Float64, Statistic: sdk.StatisticCount, Doc: "the number of values, with noise; " + About(d)}
}

// About names the rows that a sum over a design is about: rows of equal weight count once each, others with their weights.
func About(d sdk.Design) string {
	switch {
	case !d.EqualWeights:
		return "it is about the population, by weights"
	case d.Kind == "full" || d.Rate == 1:
		return "it is about the table"
	}
	return "it is about the sample, and not the population"
}

// Estimating returns fields whose first one, the estimate, has a statistic.
func Estimating(s sdk.Statistic, fields []sdk.Field) []sdk.Field {
	fields[0].Statistic = s
	return fields
}

// Fields are the fields of an estimate and of its noise, and further ones.
func Fields(doc string, granularity float64, more ...sdk.Field) []sdk.Field {
	return append([]sdk.Field{
		{Name: sdk.EstimateField, Type: sdk.Float64, Granularity: granularity, Doc: doc + ", with noise"},
		{Name: sdk.SDField, Type: sdk.Float64, Doc: "standard deviation of the noise in the estimate"},
	}, more...)
}

// Number is a field of numbers.
func Number(name, doc string) sdk.Field {
	return sdk.Field{Name: name, Type: sdk.Float64, Doc: doc}
}

// The flags of a value that would be divided by a noisy number of values, or by a noisy sum, which
// may be 0.
const (
	TooFew   = "too few values"
	NearZero = "denominator near zero"
)

// OneSided is the flag field of a statistic whose interval may have one end.
func OneSided(reason string) sdk.Field {
	f := Flag(reason)
	f.Texts = append(f.Texts, sdk.AtLeast, sdk.AtMost)
	f.Doc = "says why a value is blank: the number by which it would be divided is within its noise of zero, or the interval holds " +
		"everything that is possible. Where the interval has one end, the other is blank, and flag names the one that there is"
	return f
}

// Flag is the field that says why a row has no value. Results fills it: with the reason where the
// estimate is NaN, else with "".
func Flag(reason string) sdk.Field {
	return sdk.Field{Name: sdk.FlagField, Type: sdk.String, Texts: []string{"", reason},
		Doc: "says why the estimate is blank: the number by which it would be divided is within its noise of zero, or the interval holds " +
			"everything that is possible"}
}

// Of sets the unit of every number field except the named ones: the product of the columns in of
// over those in per.
func Of(fields []sdk.Field, of, per []string, but ...string) []sdk.Field {
	out := slices.Clone(fields)
	for i, f := range out {
		if f.Type == sdk.Float64 && f.Name != CVField && f.Name != FreedomField && !slices.Contains(but, f.Name) {
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

// Results are the columns of fields, from rows that have a number for each field of numbers. NaN
// is a blank value.
func Results(fields []sdk.Field, rows iter.Seq[[]float64]) []sdk.ResultColumn {
	out := make([]sdk.ResultColumn, len(fields))
	place := func(name string) int {
		return slices.IndexFunc(fields, func(f sdk.Field) bool { return f.Name == name })
	}
	estimate, low, high := place(sdk.EstimateField), place(LowField), place(HighField)
	for j, f := range fields {
		out[j].Name = f.Name
	}
	for row := range rows {
		at := 0
		for j, f := range fields {
			if f.Type != sdk.String {
				out[j].Float64 = append(out[j].Float64, row[at])
				at++
				continue
			}
			flag := ""
			switch ends := len(f.Texts) > 2 && low >= 0; {
			case ends && !math.IsNaN(row[low]) && math.IsNaN(row[high]):
				flag = sdk.AtLeast
			case ends && math.IsNaN(row[low]) && !math.IsNaN(row[high]):
				flag = sdk.AtMost
			case math.IsNaN(row[estimate]):
				flag = f.Texts[1]
			}
			out[j].Texts = append(out[j].Texts, flag)
		}
	}
	return out
}

// PerRow describes the noise in a value that is divided by a secret number of rows. Width is the range of the value.
func PerRow(public sdk.Public, what string, above, rows sdk.Term, width float64) sdk.ExpectedError {
	above.Linear.Scale, rows.Linear = 1, sdk.Linear{High: 1, Scale: 1}
	e := sdk.ExpectedError{Field: sdk.EstimateField, Over: &rows, Above: &above}
	per := e.PerRow()
	e.Note = what + ": noise of standard deviation at most " + Figure(per) +
		"/m in the first order, m the number of values (the column count)"
	e.SamplingNote = "it depends on how many values the sample holds in each group, which is secret; the more of them, the smaller it is"
	if most := AtMost(public); most > 0 && per/most > width {
		e.Note = sdk.NoUse + e.Note + "; there are at most " + Figure(most) + ", so the noise is larger than the range of the value"
	}
	return Finite(e)
}

// Finite leaves the sums of a quotient out where their errors are too large for a number: nothing is forecast of such bounds.
func Finite(e sdk.ExpectedError) sdk.ExpectedError {
	for _, t := range []*sdk.Term{e.Over, e.Above} {
		if sum := t.NoiseSD + t.Half95 + t.Unsure; math.IsInf(sum, 0) || math.IsNaN(sum) {
			e.Over, e.Above = nil, nil
			break
		}
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
