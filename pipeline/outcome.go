package pipeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Outcome is what a run did.
type Outcome struct {
	// Already says that the releases were there: nothing was drawn or debited.
	Already bool
	Dir     string
	Report  report.Report
	results map[string]sdk.Result // where Already, what could be read back
	asked   []string              // where Already, the formats of the job
	made    string                // says that the ledger is new, "" where it is not
}

// MarshalJSON is the outcome for programs.
func (o *Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Already bool          `json:"already_released"`
		Dir     string        `json:"dir"`
		Made    string        `json:"new_ledger,omitempty"`
		Report  report.Report `json:"report"`
	}{o.Already, o.Dir, o.made, o.Report})
}

// shownRows is how many rows of a release a summary prints.
const shownRows = 12

// WriteText prints a summary for a person.
func (o *Outcome) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	if o.Already {
		fmt.Fprintf(b, "already released: nothing was drawn and nothing was debited\n%s\n", o.unmade())
	}
	writeUseless(b, &o.Report)
	for _, r := range o.Report.Releases {
		fmt.Fprintf(b, "%s: %s from %s\n", r.Name, r.Mechanism.Name, r.From)
		writeValues(b, o.results[r.Name])
		line(b, 2, "charged on the population", charge(r.Guarantee))
		if r.From != job.Table {
			line(b, 2, "allowed on the sample", pointText(r.Sample, report.Allowed))
		}
		writeExpected(b, 2, r)
		if r.Verdict != "" {
			line(b, 2, "verdict", r.Verdict)
		}
		fmt.Fprintln(b)
	}
	for _, d := range o.Report.Draws {
		if d.Kept != nil {
			fmt.Fprintf(b, "sample %s\n", d.Name)
			writeKept(b, d.Kept)
			fmt.Fprintln(b)
		}
	}
	line(b, 0, "charged for everything", charge(o.Report.Guarantee))
	writeMeaning(b, 0, &o.Report)
	if o.made != "" {
		line(b, 0, "ledger", o.made)
	}
	if text := o.Report.Look.Text(); text != "" {
		line(b, 0, "private look", text)
	}
	line(b, 0, "releases", o.Dir)
	line(b, 0, "report", filepath.Join(o.Dir, pageFile)+" (for programs: "+reportFile+")")
	return b.Flush()
}

// unmade says which formats the job asks for that were not made when it first ran.
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
	if len(missing) == 0 {
		return ""
	}
	return "the files are those of the first run: output.formats now asks for " + strings.Join(missing, " and ") + ", which was not made\n"
}

// writeValues prints the first rows of a release.
func writeValues(b *bufio.Writer, r sdk.Result) {
	if len(r.Columns) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	rows := 0
	for _, c := range r.Columns {
		fmt.Fprintf(t, "  %s\t", oneLine(c.Name))
		rows = max(rows, len(c.Float64), len(c.Int64), len(c.String))
	}
	fmt.Fprintln(t)
	for i := range min(rows, shownRows) {
		for _, c := range r.Columns {
			fmt.Fprintf(t, "  %s\t", cell(c, i))
		}
		fmt.Fprintln(t)
	}
	if rows > shownRows {
		fmt.Fprintf(t, "  and %d more rows\n", rows-shownRows)
	}
	t.Flush()
}

func cell(c sdk.ResultColumn, i int) string {
	switch {
	case c.Float64 != nil:
		return strconv.FormatFloat(c.Float64[i], 'g', 7, 64)
	case c.Int64 != nil:
		return strconv.FormatInt(c.Int64[i], 10)
	}
	return oneLine(c.String[i])
}

// oneLine keeps a text from breaking the line that it is shown on.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

// oneProblem makes a single problem of a job.
func oneProblem(j *job.Job, path, message, hint string) error {
	return job.Problems{j.Problem(path, message, hint)}
}
