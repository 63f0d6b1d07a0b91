package plan

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// Span is the largest distance between the linear values of two tables of the population's
// size, 0 where the value is not linear or the size is 0. Weights add up to the number of rows
// of the table. Equal weights are left out of the sum.
func Span(j *job.Job, d samplers.Design, l *sdk.Linear) float64 {
	return span(planned.Population(j, d), d, l)
}

func span(rows int64, d samplers.Design, l *sdk.Linear) float64 {
	if l == nil {
		return 0
	}
	return summed(rows, d, l) * (l.High - l.Low)
}

// summed is the linear value of a table in which every z is 1.
func summed(rows int64, d samplers.Design, l *sdk.Linear) float64 {
	n := float64(rows)
	if f := d.Facts(); f.EqualWeights {
		if n *= f.Rate; f.SampleSize > 0 {
			n = float64(f.SampleSize)
		}
	}
	return math.Abs(l.Scale) * n
}

// Size returns what the error e of a release is relative to: the value that the public
// facts let expect. For a share it is the one that the release assumes, else that of SizeOf. It is 0 where the value is not linear.
func (r *PlannedRelease) Size(e sdk.ExpectedError) (size float64, expect bool) {
	if e.Linear == nil {
		return 0, false
	}
	size, expect = r.SizeOf(e.Linear)
	if r.Plan.Estimates() != sdk.StatisticShare {
		return size, expect
	}
	p := AssumedShare(&r.Job)
	return cmp.Or(p, size), p > 0
}

// SizeOf is the linear value that the public facts let expect. For sums and means of a column it is the mean that the job assumes of
// the column (column.assume), else the span that the bounds allow. Where the release has a
// row for each of several groups, the table's rows are taken to be spread evenly over them.
// Where the number of rows is secret, it is that for
// dataset.at_least rows, or for one. A size that is no mere span is one to expect.
func (r *PlannedRelease) SizeOf(l *sdk.Linear) (size float64, expect bool) {
	public := max(planned.Population(r.job, r.design), r.job.Dataset.AtLeast)
	rows, sums := max(public, 1), sums(l)
	size = span(rows, r.design, l)
	mean := assumed(r.job, sums).Mean
	if mean != 0 {
		size = summed(rows, r.design, l) * math.Abs(mean)
	}
	if l.Column == "" {
		size /= r.spreadOver()
	}
	return size, public > 0 && (sums == "" || mean != 0)
}

// Moments returns what the job assumes of the values of a column, in numbers and in words. inside has the words for what holds
// inside units; words is "" where the job assumes no standard deviation.
func Moments(c job.Column) (m samplers.Moments, words, inside string) {
	a := c.Assume
	if a == nil {
		return m, "", ""
	}
	m = samplers.Moments{Mean: rational.Near(a.Mean), SD: rational.Near(a.SD), ICC: rational.Near(a.ICC), KnownMean: a.Mean != nil,
		Strata: a.Strata()}
	if a.SD != nil {
		words = fmt.Sprintf("%s has standard deviation %g", c.Name, m.SD)
		if m.KnownMean {
			words += fmt.Sprintf(" and mean %g", m.Mean)
		}
	}
	if len(m.Strata) > 0 {
		inside = ", with one of its own inside each stratum"
	}
	if m.ICC > 0 {
		inside += fmt.Sprintf(", with correlation %g within units", m.ICC)
	}
	return m, words, inside
}

// assumed are the moments that the job assumes of a column, 0 where it assumes none.
func assumed(j *job.Job, column string) samplers.Moments {
	c, _ := j.Dataset.Column(column)
	m, _, _ := Moments(c)
	return m
}

// cells is the number of rows of the result.
func (r *PlannedRelease) cells() int64 {
	n := r.Plan.Rows
	if r.Apart {
		n *= int64(r.Cells.Len())
	}
	return max(n, 1)
}
