package pipeline

import (
	"encoding/json"
	"io"

	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// reportFile is the name of the report in an output folder.
const reportFile = "report.json"

// publish writes all files of all releases into the folder and puts it in place.
func (r *running) publish(out *folder) (*Outcome, error) {
	rep := r.plan.report
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
	if _, err := out.write(reportFile, 0o644, rep.WriteJSON); err != nil {
		return nil, err
	}
	if err := out.publish(); err != nil {
		return nil, err
	}
	return &Outcome{Dir: out.final, Report: rep, results: r.results}, nil
}

// writeRelease writes one release in every format of the job.
func (r *running) writeRelease(out *folder, entry *report.Release) error {
	content := asTable(r.results[entry.Name])
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
