package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/params"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/specs"
)

// reportSchema is the JSON Schema of report.json.
var reportSchema = sync.OnceValues(func() (*params.Schema, error) {
	text, err := specs.FS.ReadFile("report-v1.schema.json")
	if err != nil {
		return nil, err
	}
	return params.Compile(text)
})

// readReport reads the report of an output folder, and says what is wrong with it.
func readReport(dir string) (report.Report, error) {
	var r report.Report
	path := filepath.Join(dir, reportFile)
	unreadable := func(format string, args ...any) error {
		return failure.New(failure.ExitUsage, "REPORT_UNREADABLE", format, args...)
	}
	text, err := os.ReadFile(path)
	switch info, gone := os.Stat(dir); {
	case errors.Is(gone, fs.ErrNotExist):
		return r, unreadable("%s does not exist; name the output folder of a run", dir)
	case gone == nil && !info.IsDir():
		return r, unreadable("%s is not a folder; name the output folder of a run", dir)
	case errors.Is(err, fs.ErrNotExist):
		return r, unreadable("%s holds no report.json; name the output folder of a run", dir)
	case errors.Is(err, syscall.EISDIR) || err != nil:
		return r, unreadable("%s cannot be read", path)
	}
	var head struct {
		Version *int `json:"version"`
		Tool    report.Tool
	}
	const restore = "the stored one comes back when the job is run again without this folder; nothing is spent by that"
	switch err := json.Unmarshal(text, &head); {
	case err != nil && !json.Valid(text):
		return r, unreadable("%s is not whole, or not JSON: %v; %s", path, err, restore)
	case head.Version == nil:
		return r, unreadable("%s is not a report: it has no version; %s", path, restore)
	case *head.Version != report.Version:
		return r, unreadable("%s is of version %d, and this program reads version %d; use the dprelease that wrote it", path, *head.Version, report.Version)
	}
	schema, err := reportSchema()
	if err != nil {
		return r, failure.New(failure.ExitBug, "REPORT", "%v", err)
	}
	if err := schema.Validate(text); err != nil {
		return r, unreadable("%s does not follow specs/report-v1.md: %s; was it changed, or written by a later dprelease?", path, invalidity(err))
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, unreadable("%s cannot be read as a report: %v", path, err)
	}
	return r, nil
}

// invalidity is the place and the words of a violation of the schema.
func invalidity(err error) string {
	var p params.Problems
	if !errors.As(err, &p) {
		return err.Error()
	}
	return "/" + strings.Join(p[0].Path, "/") + ": " + p[0].Message
}

// Holds says that a folder holds these files, byte for byte; the pages may have
// been written again by another version of this program.
func Holds(dir string, files []ledger.File) bool {
	return len(files) > 0 && Difference(dir, files) == ""
}

// Difference names the first file of a folder that is not as it was released.
func Difference(dir string, files []ledger.File) string {
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Path))
		page := f.Path == pageFile || f.Path == publicFile
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return f.Path + " is missing"
		case err != nil:
			return f.Path + " cannot be read"
		case !page && !bytes.Equal(b, f.Data):
			return f.Path + " was changed"
		}
	}
	return ""
}

// ReportIn reads the report among stored files.
func ReportIn(files []ledger.File) (report.Report, bool) {
	var r report.Report
	for _, f := range files {
		if f.Path == reportFile {
			return r, json.Unmarshal(f.Data, &r) == nil
		}
	}
	return r, false
}

// StoredReport reads the report in an output folder.
func StoredReport(dir string) (report.Report, bool) {
	var r report.Report
	b, err := os.ReadFile(filepath.Join(dir, reportFile))
	return r, err == nil && json.Unmarshal(b, &r) == nil
}
