package linear

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// NumberColumn looks up a declared column of numbers whose bounds are apart.
func NumberColumn(public sdk.Public, parameter, name string) (sdk.Column, error) {
	c, ok := public.Column(name)
	switch {
	case !ok:
		return c, fmt.Errorf("%s: %q is not declared in dataset.columns", parameter, name)
	case c.Type != sdk.Number:
		return c, fmt.Errorf("%s: %q is not a number; give it lower and upper", parameter, name)
	case !(c.Lower < c.Upper):
		return c, fmt.Errorf("%s: %q needs lower below upper", parameter, name)
	}
	return c, nil
}

// Divisor is the public constant that turns a sum over the sample into a mean over the
// population. It is 0 where the number of values is secret. It is never the realised size of the
// sample (P12).
func Divisor(public sdk.Public, cells Cells, values ...sdk.Column) float64 {
	d := public.Design
	switch {
	case len(cells.Groups) > 0 || cells.Units(public, values...).Leaves:
		return 0
	case !d.EqualWeights:
		return float64(public.Population) // Σ w(y−c)/N
	case d.SampleSize > 0:
		return float64(d.SampleSize)
	case d.Rate > 0 && public.Population > 0:
		return d.Rate * float64(public.Population)
	}
	return 0
}

// Varies reports whether the weights of the rows of a sample add up to another number in each draw. The divisor is their mean
// over the draws then, and the ratio of two sums (Hájek's estimator) varies less than a sum over the divisor, unless the mean is
// near the middle of the bounds.
func Varies(d sdk.Design) bool {
	if d.EqualWeights {
		return d.SampleSize == 0
	}
	return d.Kind != "stratified" || d.SampleSize == 0 // a fixed number of each stratum weighs as much as its stratum
}

// AtMost bounds the weighted number of values of one mean; 0 where no bound is public.
func AtMost(public sdk.Public) float64 {
	d := public.Design
	switch {
	case public.Cap != nil:
		return 0
	case d.EqualWeights:
		return float64(d.SampleSize)
	}
	return float64(public.Population)
}

// OnlyReplace reports whether replace-one is the only relation that the sample demands.
func OnlyReplace(public sdk.Public) bool {
	for _, r := range public.SampleRelations {
		if r != privacy.ReplaceOne {
			return false
		}
	}
	return true
}

// Middle is the middle of the range of a column, without an overflow.
func Middle(c sdk.Column) float64 { return c.Lower + (c.Upper-c.Lower)/2 }

// Clamp holds x to the bounds of a column.
func Clamp(c sdk.Column, x float64) float64 { return math.Min(math.Max(x, c.Lower), c.Upper) }

// Figure prints four digits, without an exponent for numbers of everyday size.
func Figure(x float64) string {
	if x >= 1000 && x < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
