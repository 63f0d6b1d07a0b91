package plan

import (
	"cmp"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
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
	mean, _, _ := assumed(r.job, sums)
	if mean != 0 {
		size = summed(rows, r.design, l) * math.Abs(mean)
	}
	if l.Column == "" {
		size /= r.spreadOver()
	}
	return size, public > 0 && (sums == "" || mean != 0)
}

// assumed are the mean and the standard deviation that the job assumes of a column, 0 where
// it assumes none.
func assumed(j *job.Job, column string) (mean, sd float64, strata map[string]float64) {
	for _, c := range j.Dataset.Columns {
		if c.Name == column && c.Assume != nil {
			if c.Assume.Mean != nil {
				mean, _ = c.Assume.Mean.Float64()
			}
			if c.Assume.SD != nil {
				sd, _ = c.Assume.SD.Float64()
			}
			strata = c.Assume.Strata()
		}
	}
	return mean, sd, strata
}

// cells is the number of rows of the result.
func (r *PlannedRelease) cells() int64 {
	n := r.Plan.Rows
	if r.Apart {
		n *= int64(r.Cells.Len())
	}
	return max(n, 1)
}
