package plan

import (
	"slices"

	"github.com/dprelease/dprelease/internal/job"
)

// noiseIntervals are the columns in which a mechanism gives an interval for its noise
// alone. A reader takes it for an interval for the population's value, which it is not
// where the rows are a sample: it leaves out the error of the draw (P30).
var noiseIntervals = []string{"noise_low", "noise_high"}

// Withheld says that the draw's releases leave out a column of their mechanism.
func (d *Draw) Withheld(j *job.Job, column string) bool {
	return (j.Dataset.Collected != nil || d.Design.Kind() != "full") && slices.Contains(noiseIntervals, column)
}
