package pipeline

import (
	"context"
	"encoding/json"
	"io"

	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// The names of the report in an output folder: for programs, for the statistician
// who signs the release, and for the public.
const (
	reportFile = "report.json"
	pageFile   = "report.html"
	publicFile = "report-public.html"
)

// deliver makes all files of all releases, has them stored, and puts the folder
// that holds them in place.
func (r *running) deliver(ctx context.Context, out *folder, b *budget) (*Outcome, error) {
	rep := r.plan.report
	rep.Budget, rep.Look = b.account(), r.looked
	rep.Releases = append([]report.Release(nil), rep.Releases...)
	for i := range rep.Releases {
		entry := &rep.Releases[i]
		if err := r.writeRelease(out, entry); err != nil {
			return nil, err
		}
		if err := writeSidecar(out, &rep, *entry); err != nil {
			return nil, err
		}
	}
	if err := writeReports(out, r.page, &rep, r.values()); err != nil {
		return nil, err
	}
	if err := b.seal(ctx, out.files); err != nil {
		return nil, err
	}
	b.options.reach("sealed")
	if err := r.private.write(out, rep.Job, r.table.rows()); err != nil {
		return nil, err
	}
	if err := out.publish(); err != nil {
		return nil, resting(fail(ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; they are stored, run the job again"))
	}
	return &Outcome{Dir: out.final, Report: rep, results: r.results}, nil
}

// paged is the report's page in the making: its figures need the plan alone.
type paged struct {
	done chan struct{}
	page *report.Page
	err  error
}

// beginPage starts to make the page of a plan's report, which must not change any
// more.
func beginPage(r *report.Report) *paged {
	p := &paged{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.page, p.err = report.NewPage(r)
	}()
	return p
}

// wait waits for the page, where one is made.
func (p *paged) wait() (*report.Page, error) {
	if p == nil {
		return nil, nil
	}
	<-p.done
	return p.page, p.err
}

// writeReports writes the report in its three forms, side by side. Released values
// stand in the pages, and nothing else that follows from data (P19).
func writeReports(out *folder, page *report.Page, rep *report.Report, values map[string]report.Table) error {
	html := func(public bool) func(io.Writer) error {
		return func(w io.Writer) error { return page.WriteHTML(w, rep, values, public) }
	}
	return out.writeAll(0o644, []string{reportFile, pageFile, publicFile},
		[]func(io.Writer) error{rep.WriteJSON, html(false), html(true)})
}

// values are the released tables.
func (r *running) values() map[string]report.Table {
	all := make(map[string]report.Table, len(r.results))
	for name, result := range r.results {
		var t report.Table
		for _, c := range result.Columns {
			t.Columns = append(t.Columns, report.Column{Name: c.Name, Float64: c.Float64, Int64: c.Int64, Text: c.String})
		}
		all[name] = t
	}
	return all
}

// writeRelease writes one release in every format of the job.
func (r *running) writeRelease(out *folder, entry *report.Release) error {
	content := asTable(r.results[entry.Name])
	if entry.Verdict == "" {
		entry.Verdict = r.results[entry.Name].Verdict()
	}
	for _, format := range r.plan.job.Output.Formats {
		name := entry.Name + "." + format
		sum, err := out.write(name, 0o644, func(w io.Writer) error { return writers[format](w, content) })
		if err != nil {
			return err
		}
		entry.Files = append(entry.Files, report.File{Path: name, SHA256: sum})
	}
	return nil
}

// writers are the formats of a job's output.
var writers = map[string]func(io.Writer, table.Release) error{
	"parquet": table.WriteParquet, "arrow": table.WriteArrow, "csv": table.WriteCSV, "json": table.WriteJSON,
}

func asTable(r sdk.Result) table.Release {
	var out table.Release
	for _, c := range r.Columns {
		out.Columns = append(out.Columns, table.ReleaseColumn{Name: c.Name, Float64: c.Float64, Int64: c.Int64, Text: c.String})
	}
	return out
}

// writeSidecar writes the metadata of one release.
func writeSidecar(out *folder, rep *report.Report, entry report.Release) error {
	side := report.Sidecar{Version: report.Version, Tool: rep.Tool, Job: rep.Job, Dataset: rep.Dataset, Release: entry}
	_, err := out.write(entry.Name+".meta.json", 0o644, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(side)
	})
	return err
}
