package pipeline

import (
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// noiseIntervals are the columns in which a mechanism gives an interval for its noise
// alone. A reader takes it for an interval for the population's value, which it is not
// where the rows are a sample: it leaves out the error of the draw (P30).
var noiseIntervals = []string{"noise_low", "noise_high"}

// withheld says that the draw's releases leave out a column of their mechanism.
func (d *draw) withheld(j *job.Job, column string) bool {
	return (j.Dataset.Collected != nil || d.design.Kind() != "full") && slices.Contains(noiseIntervals, column)
}

// fields are the columns that a mechanism planned, in the words of the report.
func fields(planned []sdk.Field) []report.Field {
	var out []report.Field
	for _, f := range planned {
		out = append(out, report.Field{Name: f.Name, Type: string(f.Type), Doc: f.Doc})
	}
	return out
}
