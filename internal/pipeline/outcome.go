package pipeline

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Outcome is the result of a run.
type Outcome struct {
	// Already says that the releases were there: nothing was drawn or debited.
	Already bool
	Dir     string        // the folder that holds the releases
	Report  report.Report // what stands in its report.json
	// Results are the released values by the names of the releases. Where Already,
	// those that could be read back.
	Results map[string]sdk.Result
	asked   []string // where Already, the formats of the job
	// reworded says, where Already, that the job has other words about its publication than the report.
	reworded bool
	late     string // says that the run missed its hour, "" where it did not
	made     string // says that the ledger is new, "" where it is not
}

// MarshalJSON is the outcome for programs.
func (o *Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Already bool          `json:"already_released"`
		Dir     string        `json:"dir"`
		Made    string        `json:"new_ledger,omitempty"`
		Late    string        `json:"late,omitempty"`
		Report  report.Report `json:"report"`
	}{o.Already, o.Dir, o.made, o.late, o.Report})
}

// WriteText prints a summary for a person.
func (o *Outcome) WriteText(w io.Writer) error { return o.told().WriteText(w, false) }

// WriteDetail prints everything that the report says in words.
func (o *Outcome) WriteDetail(w io.Writer) error { return o.told().WriteText(w, true) }

func (o *Outcome) told() *report.Told {
	t := &report.Told{Already: o.Already, Made: o.made, Late: o.late, Dir: o.Dir, Page: address.In(o.Dir, output.PageFile),
		Report: &o.Report, Values: output.ValuesOf(o.Results)}
	if o.Already {
		t.Unmade = o.unmade()
	}
	return t
}

// unmade lists the formats that the job asks for and that were not made when it first ran.
func (o *Outcome) unmade() string {
	var missing []string
	for _, f := range o.asked {
		for _, r := range o.Report.Releases {
			if !slices.ContainsFunc(r.Files, func(file report.File) bool { return file.Path == r.Name+"."+f }) {
				missing = append(missing, f)
				break
			}
		}
	}
	if len(missing) == 0 && !o.reworded {
		return ""
	}
	if len(missing) == 0 {
		return "the pages have the words of the first run: dprelease report DIR --words JOB writes them anew, with the same figures\n"
	}
	return "the files are those of the first run: output.formats now asks for " + strings.Join(missing, " and ") + ", which was not made\n"
}
