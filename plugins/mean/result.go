package mean

import (
	"fmt"
	"math"
	"strconv"

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
		sdk.Field{Name: "noise_low", Type: sdk.Float64, Doc: "lower end of the 95 % interval of the noise alone"},
		sdk.Field{Name: "noise_high", Type: sdk.Float64, Doc: "upper end of the 95 % interval of the noise alone"},
	)
	if l.divisor == 0 {
		fields = append(fields, sdk.Field{Name: "count", Type: sdk.Float64, Doc: "the number of values, with noise; with design weights it estimates the population's"})
	}
	return fields
}

// expected says how large the noise will be, as far as that is public.
func (l *layout) expected() []sdk.ExpectedError {
	var all []sdk.ExpectedError
	for i, q := range l.queries {
		e := sdk.ExpectedError{Field: "estimate"}
		n := l.noise[i]
		if l.divisor > 0 {
			e.NoiseSD = q.granularity * n.sd / l.divisor
			e.Half95 = q.granularity * n.tail / l.divisor
			e.Note = q.column.Name
			// Without noise it is c + Σ w(y−c)/T.
			e.Linear = &sdk.Linear{Column: q.column.Name, Low: q.column.Lower - q.centre, High: q.column.Upper - q.centre, Scale: 1 / l.divisor}
		} else {
			per := (q.column.Upper - q.column.Lower) * n.sd / float64(q.high) * q.maxWeight
			e.Note = fmt.Sprintf("%s: noise of standard deviation at most %s/m in the first order, m the number of values that are averaged (the column count)", q.column.Name, figure(per))
			if rows := l.most(); rows > 0 && per/rows > q.column.Upper-q.column.Lower {
				e.Note = sdk.NoUse + e.Note + fmt.Sprintf("; there are at most %s, so the noise is larger than the range of the mean", figure(rows))
			}
			e.SamplingNote = "it depends on how many values of " + q.column.Name + " the sample holds, which is secret; the more of them, the smaller it is"
			if l.params.By != "" {
				e.SamplingNote = "it depends on how many rows of each group the sample holds, which is secret; the more of them, the smaller it is"
			}
		}
		all = append(all, e)
	}
	return all
}

// most is the largest number of values that a mean can have, in units of the count
// column, 0 where it is not public.
func (l *layout) most() float64 {
	if d := l.public.Design; d.EqualWeights {
		return float64(d.SampleSize)
	}
	return float64(l.public.Population)
}

// figure prints four digits, and no exponent where people use none.
func figure(x float64) string {
	if x >= 1000 && x < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// result turns noisy sums into the released table. It is post-processing: it
// sees nothing but the noisy sums and public constants.
func (l *layout) result(sums [][]int64) sdk.Result {
	var column, group []string
	var est, sd, low, high, count []float64
	for i, q := range l.queries {
		for g := range l.groups() {
			e := q.centred(sums[i], l.noise[i], l.divisor)
			if q.ratio {
				e = q.quotient(sums[i][2*g], sums[i][2*g+1], l.noise[i])
			}
			column = append(column, q.column.Name)
			if l.params.By != "" {
				group = append(group, l.group.Domain[g])
			}
			est, sd = append(est, e.value), append(sd, e.sd)
			low, high, count = append(low, e.low), append(high, e.high), append(count, e.count)
		}
	}
	values := map[string]sdk.ResultColumn{
		"column": {String: column}, "group": {String: group}, "estimate": {Float64: est}, "noise_sd": {Float64: sd},
		"noise_low": {Float64: low}, "noise_high": {Float64: high}, "count": {Float64: count},
	}
	var out sdk.Result
	for _, f := range l.output() {
		c := values[f.Name]
		c.Name = f.Name
		out.Columns = append(out.Columns, c)
	}
	return out
}

type estimate struct{ value, sd, low, high, count float64 }

// centred is c + sum/T: unbiased, and therefore not cut off at the bounds.
func (q query) centred(sum []int64, n noiseScale, divisor float64) estimate {
	if q.ratio {
		return estimate{}
	}
	unit := q.granularity / divisor
	v := q.centre + unit*float64(sum[0])
	return estimate{value: v, sd: unit * n.sd, low: v - unit*n.tail, high: v + unit*n.tail}
}

// quotient is L + (U−L)·A/(A+B). It grows with A and falls with B, so an
// interval for each gives one for the quotient.
func (q query) quotient(a, b int64, n noiseScale) estimate {
	lower, width := q.column.Lower, q.column.Upper-q.column.Lower
	at := func(a, b, share float64) float64 {
		a, b = math.Max(a, 0), math.Max(b, 0)
		if a+b > 0 {
			share = a / (a + b)
		}
		return lower + width*share
	}
	x, y := float64(a), float64(b)
	e := estimate{
		value: at(x, y, 0.5),
		low:   at(x-n.tail, y+n.tail, 0),
		high:  at(x+n.tail, y-n.tail, 1),
		count: (x + y) * q.maxWeight / float64(q.high),
	}
	// First-order error of the quotient, never more than the range itself.
	total := math.Max(math.Max(x, 0)+math.Max(y, 0), float64(q.high))
	e.sd = math.Min(width, width*n.sd*math.Hypot(math.Max(x, 0), math.Max(y, 0))/(total*total))
	return e
}
