package output

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// The names of the report in an output folder: for programs, for the statistician
// who signs the release, and for the public.
const (
	reportFile = "report.json"
	PageFile   = "report.html"
	publicFile = "report-public.html"
)

// diagnosticsFile holds private facts; it is written only when asked for, beside
// the releases, readable by its owner alone, and never stored in the ledger (P19).
const diagnosticsFile = "CONFIDENTIAL-diagnostics.json"

// WriteReports writes the report in its three forms. Released values stand in the pages,
// and nothing else that follows from data (P19).
func WriteReports(out *Folder, page *report.Page, rep *report.Report, values map[string]report.Table) error {
	var own, public bytes.Buffer
	_, err := out.write(reportFile, 0o644, rep.WriteJSON)
	if err == nil {
		err = page.WriteHTML(&own, &public, rep, values)
	}
	if err == nil {
		out.add(PageFile, 0o644, own.Bytes())
		out.add(publicFile, 0o644, public.Bytes())
	}
	return err
}

// ValuesOf are the released tables.
func ValuesOf(results map[string]sdk.Result) map[string]report.Table {
	all := make(map[string]report.Table, len(results))
	for name, result := range results {
		all[name] = report.Table{Columns: result.Columns}
	}
	return all
}

// WriteFiles writes one release in every format of the job.
func WriteFiles(out *Folder, entry *report.Release, result sdk.Result, formats []string) error {
	values := report.Table{Columns: result.Columns}
	if entry.Verdict == "" {
		entry.Verdict = result.Verdict()
	}
	for _, format := range formats {
		name, content := entry.Name+"."+format, table.Release(values)
		if format == "csv" {
			content = table.Release(values.WithoutNoiseDigits())
		}
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

// WriteSidecar writes the metadata of one release.
func WriteSidecar(out *Folder, rep *report.Report, entry report.Release) error {
	side := report.Sidecar{Version: report.Version, Tool: rep.Tool, Job: rep.Job, Dataset: rep.Dataset, Release: entry}
	_, err := out.write(entry.Name+".meta.json", 0o644, side.WriteJSON)
	return err
}

// WriteDiagnostics adds the private facts to a folder whose releases are stored already.
func WriteDiagnostics(out *Folder, content any) error {
	_, err := out.write(diagnosticsFile, 0o600, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(content)
	})
	return err
}
