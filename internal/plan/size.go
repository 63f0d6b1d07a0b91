package plan

import (
	"cmp"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/samplers"
)

// Span is the largest distance between the linear values of two tables of the population's
// size, 0 where the value is not linear or the size is 0. Weights add up to the number of rows
// of the table. Equal weights are left out of the sum.
func Span(j *job.Job, d samplers.Design, l *sdk.Linear) float64 {
	return span(population(j, d), d, l)
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
// facts let expect. For sums and means of a column it is the mean that the job assumes of
// the column (column.assume), else the span that the bounds allow. Where the release has a
// row for each of several groups, the table's rows are taken to be spread evenly over them.
// It is 0 where the value is not linear. Where the number of rows is secret, it is that for
// dataset.at_least rows, or for one. A size that is no mere span is one to expect.
func (r *PlannedRelease) Size(j *job.Job, d samplers.Design, e sdk.ExpectedError) (size float64, expect bool) {
	if e.Linear == nil {
		return 0, false
	}
	j = j.Of(r.Job.Table)
	public := max(population(j, d), j.Dataset.AtLeast)
	rows, sums := max(public, 1), sums(e.Linear)
	size = span(rows, d, e.Linear)
	mean, _, _ := assumed(j, sums)
	if mean != 0 {
		size = summed(rows, d, e.Linear) * math.Abs(mean)
	}
	if e.Linear.Column == "" {
		size /= float64(r.cells())
	}
	return size, public > 0 && (sums == "" || mean != 0)
}

// Even are the moments of what a row adds to one of several groups over which the rows are
// spread evenly, nil where nothing is assumed of a column that is added up.
func (r *PlannedRelease) Even(j *job.Job, l *sdk.Linear) *samplers.Moments {
	if j = j.Of(r.Job.Table); l.Column != "" || j.Dataset.Cap != nil {
		return nil
	}
	mean, sd := l.High, 0.0
	var strata map[string]float64
	if sums := sums(l); sums != "" {
		if mean, sd, strata = assumed(j, sums); sd == 0 {
			return nil
		}
	}
	p := 1 / float64(r.cells())
	if p < 1 {
		strata = nil // a group holds a part of each stratum
	}
	return &samplers.Moments{Strata: strata, Mean: p * mean, SD: math.Sqrt(p*(sd*sd+mean*mean) - p*p*mean*mean), KnownMean: true}
}

// sums is the column whose values a linear value adds up, "" where it counts.
func sums(l *sdk.Linear) string {
	return cmp.Or(l.Column, l.Adds)
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
		n *= int64(r.Cells.cells)
	}
	return max(n, 1)
}
