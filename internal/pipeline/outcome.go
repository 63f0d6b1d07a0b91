package pipeline

import (
	"io"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Outcome is the result of a run.
type Outcome struct {
	report.Told
	// Results are the released values by the names of the releases. Where Already,
	// those that could be read back.
	Results map[string]sdk.Result `json:"-"`
}

// outcome tells a run whose releases lie in a folder.
func outcome(dir string, r report.Report, results map[string]sdk.Result) *Outcome {
	return &Outcome{Results: results,
		Told: report.Told{Dir: dir, Page: address.In(dir, output.PageFile), Report: r, Values: output.ValuesOf(results)}}
}

// WriteText prints a summary for a person.
func (o *Outcome) WriteText(w io.Writer) error { return o.Told.WriteText(w, false) }

// WriteDetail prints everything that the report says in words.
func (o *Outcome) WriteDetail(w io.Writer) error { return o.Told.WriteText(w, true) }

// unmade lists the formats that a job asks for and that were not made when it first ran, and says where its words are others than
// those of the report.
func unmade(j *job.Job, r *report.Report) string {
	var missing []string
	for _, f := range j.Output.Formats {
		for _, e := range r.Releases {
			if !slices.ContainsFunc(e.Files, func(file report.File) bool { return file.Path == e.Name+"."+f }) {
				missing = append(missing, f)
				break
			}
		}
	}
	switch {
	case len(missing) > 0:
		return "the files are those of the first run: output.formats now asks for " + strings.Join(missing, " and ") + ", which was not made"
	case !output.SameWords(j, r):
		return "the pages have the words of the first run: dprelease report DIR --words JOB writes them anew, with the same figures"
	}
	return ""
}
