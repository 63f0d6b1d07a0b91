package output

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/report"
)

// WritePages writes report.html and report-public.html again, from the report and
// the releases in an output folder. Neither the private table nor the ledger is
// touched, and nothing is spent. A release that is not the one that was reported
// is refused. Words, where given, take the place of those of the run; the pages then have names of their own, since the ledger
// knows the others. It returns the addresses of both pages.
func WritePages(ctx context.Context, dir string, words *report.Publication) (pages []string, err error) {
	run, err := stored.Read(dir, func(path string, fields []report.Field) (report.Table, error) { return readBinary(ctx, path, fields) })
	var wrong *stored.Error
	if errors.As(err, &wrong) {
		return nil, failure.New(failure.ExitUsage, wrong.Code, "%s", wrong.Message)
	}
	if err != nil {
		return nil, failure.New(failure.ExitBug, "REPORT", "%v", err)
	}
	r, values := run.Report, run.Values
	if words != nil {
		r.Publication = words
	}
	page, err := report.NewPage(&r)
	if err != nil {
		return nil, failure.New(failure.ExitUsage, "REPORT_UNREADABLE", "%s: %v", filepath.Join(dir, reportFile), err)
	}
	var own, public bytes.Buffer
	if err := page.WriteHTML(&own, &public, &r, values); err != nil {
		return nil, failure.New(failure.ExitBug, "REPORT", "%v", err)
	}
	for i, page := range []*bytes.Buffer{&own, &public} {
		path := filepath.Join(dir, []string{PageFile, publicFile}[i])
		if words != nil {
			path = strings.TrimSuffix(path, ".html") + "-anew.html"
		}
		if err := whole.WriteFile(path, page.Bytes(), 0o644); err != nil {
			return nil, failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "%s cannot be written", path)
		}
		pages = append(pages, path)
	}
	return pages, nil
}

var errType = errors.New("a column of another type than the report says")

func readBinary(ctx context.Context, path string, fields []report.Field) (report.Table, error) {
	t := stored.Empty(fields)
	in, err := table.Open(ctx, table.Spec{Path: path})
	if err != nil {
		return t, err
	}
	defer in.Close()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	err = in.Scan(ctx, table.ScanOptions{Columns: names}, func(b table.Batch) error {
		for i, f := range fields {
			c, v := &t.Columns[i], b.Columns[i]
			for k := range b.Rows {
				if v.Null(k) {
					c.Hide(c.Len() + k)
				}
			}
			switch {
			case f.Type == "float64" && v.Float64 != nil:
				c.Float64 = append(c.Float64, v.Float64[:b.Rows]...)
			case f.Type == "int64" && v.Int64 != nil:
				c.Int64 = append(c.Int64, v.Int64[:b.Rows]...)
			case f.Type == "string" && v.Codes != nil:
				for _, k := range v.Codes[:b.Rows] {
					c.Texts = append(c.Texts, v.Dict[k])
				}
			case b.Rows > 0:
				return errType
			}
		}
		return nil
	})
	return t, err
}
