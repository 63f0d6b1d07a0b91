package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// shownRows is the number of rows of a release that a summary prints.
const shownRows = 12

// Summary is the account of a run for a person.
type Summary struct {
	Already bool   // the releases were there
	Unmade  string // says which formats of them were not made
	Late    string // says that the run missed its hour, "" where it did not
	Made    string // says that the ledger is new, "" where it is not
	Dir     string
	Report  report.Report
	Results map[string]sdk.Result
}

// shownReleases is the number of releases that the short summary names, those of no use first.
const shownReleases = 5

// WriteText prints what a person wants to know after a run, in some ten lines.
func (o *Summary) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	if o.Already {
		fmt.Fprintf(b, "already released: nothing was drawn and nothing was debited\n%s", o.Unmade)
	}
	writeUseless(b, &o.Report)
	writeBriefs(b, report.Briefs(&o.Report, ValuesOf(o.Results)), shownReleases)
	writeLimits(b, 0, &o.Report)
	writeShares(b, &o.Report)
	writeCharged(b, &o.Report)
	Line(b, 0, "meaning", report.Chance(o.Report.Guarantee, o.Report.Dataset))
	if weak := report.Caution(o.Report.Guarantee, o.Report.Dataset); weak != "" {
		Line(b, 0, "caution", weak)
	}
	if r := o.Report.Budget; r != nil && len(r.Amounts) > 0 {
		unit := ""
		if r.Filter == ledger.RDP {
			unit = r.Amounts[0].Unit + ": "
		}
		Line(b, 0, "budget left", unit+accountLine(r.Amounts[0]))
	}
	if o.Late != "" {
		Line(b, 0, "late", o.Late)
	}
	if o.Made != "" {
		Line(b, 0, "ledger", o.Made)
	}
	if text := o.Report.Look.Text(); text != "" {
		Line(b, 0, "private look", text)
	}
	writeUnconfined(b, &o.Report)
	Line(b, 0, "report", address.In(o.Dir, pageFile)+" (-v prints the details)")
	return b.Flush()
}

// writeCharged prints what everything costs, and who paid for a panel.
func writeCharged(b *bufio.Writer, r *report.Report) {
	label := "charged for everything"
	if p := r.Dataset.Panel; p != nil {
		label = "charged for all waves"
		if r.Budget != nil && !slices.ContainsFunc(r.Budget.Amounts, func(a report.Amount) bool { return a.Cost != "0" }) {
			label = "paid by the first wave"
		}
		if p.Again {
			label = "charged once more"
		}
	}
	Line(b, 0, label, charge(r.Guarantee))
}

// writeUnconfined names the plugins of third parties that nothing confined.
func writeUnconfined(b *bufio.Writer, r *report.Report) {
	if names := r.Unconfined(); len(names) > 0 {
		Line(b, 0, "not confined", OneLine(strings.Join(names, ", "))+" (sandbox: off): it could read and write files and use the network")
	}
}

// signs begin the line of a release; a terminal gives them a colour.
var signs = map[string]string{"poor": "✗", "fair": "!", "good": "✓"}

// writeBriefs prints a line for each release.
func writeBriefs(b *bufio.Writer, all []report.Brief, most int) {
	name, label := 0, 0
	for _, one := range all[:min(len(all), most)] {
		name, label = max(name, len(one.Release)), max(label, utf8.RuneCountInString(one.Label))
	}
	for _, one := range all[:min(len(all), most)] {
		fmt.Fprintf(b, "%s %-*s  %-*s  %s\n", signs[one.Grade], name, one.Release, label, one.Label, OneLine(one.Values))
	}
	if n := len(all) - most; n > 0 {
		fmt.Fprintf(b, "  and %d more %s\n", n, plural(int64(n), "release", "releases"))
	}
}

// WriteDetail prints everything that the report says in words.
func (o *Summary) WriteDetail(w io.Writer) error {
	b := bufio.NewWriter(w)
	if o.Already {
		fmt.Fprintf(b, "already released: nothing was drawn and nothing was debited\n%s\n", o.Unmade)
	}
	writeUseless(b, &o.Report)
	for _, r := range o.Report.Releases {
		fmt.Fprintf(b, "%s: %s from %s\n", r.Name, r.Mechanism.Name, r.From)
		writeValues(b, o.Results[r.Name])
		if text := r.Asked(); text != "" {
			Line(b, 2, "asked", text)
		}
		Line(b, 2, "charged on the population", charge(r.Guarantee))
		if r.From != job.Table {
			Line(b, 2, "allowed on the sample", pointText(r.Sample, report.Allowed))
		}
		writeKeys(b, 2, r, o.Report.Dataset)
		writeLimited(b, 2, r)
		writeExpected(b, 2, r)
		if r.Verdict != "" {
			Line(b, 2, "verdict", r.Verdict)
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
	writeCharged(b, &o.Report)
	writeMeaning(b, 0, &o.Report)
	if o.Late != "" {
		Line(b, 0, "late", o.Late)
	}
	if o.Made != "" {
		Line(b, 0, "ledger", o.Made)
	}
	if text := o.Report.Look.Text(); text != "" {
		Line(b, 0, "private look", text)
	}
	Line(b, 0, "releases", o.Dir)
	writeUnconfined(b, &o.Report)
	Line(b, 0, "report", address.In(o.Dir, pageFile)+" (for programs: "+reportFile+")")
	return b.Flush()
}

// writeValues prints the first rows of a release.
func writeValues(b *bufio.Writer, r sdk.Result) {
	if len(r.Columns) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	rows := 0
	for _, c := range r.Columns {
		fmt.Fprintf(t, "  %s\t", OneLine(c.Name))
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
	case i < len(c.Blank) && c.Blank[i]:
		return "–"
	case c.Float64 != nil:
		return strconv.FormatFloat(c.Float64[i], 'g', 7, 64)
	case c.Int64 != nil:
		return strconv.FormatInt(c.Int64[i], 10)
	}
	return OneLine(c.String[i])
}

// OneLine keeps a text from breaking the line that it is shown on.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}
