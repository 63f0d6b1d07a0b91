package regression

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// output is the shape of the release: a row for each coefficient, the verdict, then
// figures about the whole fit.
var output = []sdk.Field{
	{Name: "kind", Type: sdk.String, Doc: "coefficient; verdict: whether the noise hides some of them; fit: a figure about all of them"},
	{Name: "name", Type: sdk.String,
		Doc: "(intercept), a column, or column=value against the first value of its domain; the verdict; or the figure"},
	{Name: "value", Type: sdk.Float64, Doc: "with noise; in the target's units per unit of the column, or of log(column) where the job " +
		"says log; for the verdict how many combinations of features the noise hides"},
	{Name: "noise_se", Type: sdk.Float64,
		Doc: "standard error from the noise alone: how far the value may lie from least squares on the same rows"},
	{Name: "standard_error", Type: sdk.Float64, Doc: "standard error from the noise and the scatter of the rows, as if they were drawn " +
		"from a population with equal scatter everywhere; the scatter does not cover unequal design weights"},
	linear.Flag(linear.TooFew),
}

// facts are the rows after the verdict.
var facts = []string{"rows", "residual_sd", "r_squared", "noise_sd"}

// counted are the facts that hold without any row.
var counted = []string{"rows", "noise_sd"}

// What a release says of itself.
const (
	none   = "the noise hides whether there are any rows"
	seen   = "the noise hides no combination of the features"
	hidden = "the noise hides some combination of the features: use fewer of them, tighter bounds or a larger epsilon"
)

func (l *layout) result(f fit, n linear.Noise) []sdk.ResultColumn {
	text := seen
	if f.weak > 0 {
		text = hidden
	}
	if f.none {
		text = none
	}
	names := append(append(l.set.Names(), text), facts...)
	kind := slices.Repeat([]string{"coefficient"}, len(f.coefficients))
	kind = append(append(kind, "verdict"), slices.Repeat([]string{"fit"}, len(facts))...)
	rowsError := 0.0
	if l.sums.count {
		rowsError = unit(n) * l.weight
	}
	about := []float64{float64(f.weak), f.rows, f.residual, f.explained, unit(n) * l.weight}
	aboutErrors := []float64{0, rowsError, f.residualError, 0, 0}
	flags := make([]string, len(kind))
	column := func(first, second []float64) []float64 {
		var out []float64
		for i, x := range append(append(out, first...), second...) {
			x = features.Finite(x)
			if f.none && !slices.Contains(counted, names[i]) && kind[i] != "verdict" { // nothing but the rows and the noise means anything
				x, flags[i] = math.NaN(), linear.TooFew
			}
			out = append(out, x)
		}
		return out
	}
	return []sdk.ResultColumn{
		{Name: "kind", Texts: kind}, {Name: "name", Texts: names},
		{Name: "value", Float64: column(f.coefficients, about)},
		{Name: "noise_se", Float64: column(f.noiseErrors, aboutErrors)},
		{Name: "standard_error", Float64: column(f.errors, aboutErrors)},
		{Name: sdk.FlagField, Texts: flags},
	}
}

// examples is the number of features that the plan gives figures for.
const examples = 4

// expected returns what is known of the noise before any row is read. How far it moves
// a coefficient depends on the spread of the columns, which is private. The plan
// therefore states it for a spread of a tenth of half the bounds.
func (l *layout) expected(n linear.Noise) []sdk.ExpectedError {
	private := "it depends on how the columns spread, which is private; the release states it as standard_error"
	out := []sdk.ExpectedError{{Field: "value", SamplingNote: private, Note: fmt.Sprintf(
		"noise of standard deviation %s in each of %d sums of products of columns that are scaled to [-1, 1]", figure(unit(n)), l.sums.n)}}
	for _, f := range l.set.Features {
		if f.Column.Type != sdk.Number || len(out) > examples {
			continue
		}
		const spread = 0.1
		slope := unit(n) * l.target.Half / (f.Half * spread * spread)
		per := "divided by the number of rows"
		if l.rows > 0 {
			slope, per = slope/l.rows, "in all"
		}
		out = append(out, sdk.ExpectedError{Field: "value", Note: fmt.Sprintf(
			"%s: noise of about %s %s where its values spread by %s, given the other features; a quarter of that for twice the spread",
			f.Name(), figure(slope), per, figure(spread*f.Half))})
	}
	return out
}

func figure(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
