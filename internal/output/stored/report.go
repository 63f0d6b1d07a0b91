package stored

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/specs"
)

// Error is a fault of a folder: a code of docs/exit-codes.md and a sentence.
type Error struct{ Code, Message string }

// Error is the code and the sentence.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// reportSchema is the JSON Schema of report.json.
var reportSchema = sync.OnceValues(func() (*params.Schema, error) {
	text, err := specs.FS.ReadFile("report-v1.schema.json")
	if err != nil {
		return nil, err
	}
	return params.Compile(text)
})

// Bounds of what is read back from an output folder, in bytes.
const (
	maxReport  = 256 << 20
	maxRelease = 2 << 30
)

// readReport reads the report of an output folder, and says what is wrong with it.
func readReport(dir string) (report.Report, error) {
	var r report.Report
	path := filepath.Join(dir, "report.json")
	unreadable := func(format string, args ...any) error {
		return &Error{"REPORT_UNREADABLE", fmt.Sprintf(format, args...)}
	}
	text, err := file.Read(path, maxReport)
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
		return r, unreadable("%s is not whole, or not JSON; %s", path, restore)
	case head.Version == nil:
		return r, unreadable("%s is not a report: it has no version; %s", path, restore)
	case *head.Version != report.Version:
		return r, unreadable("%s is of version %d, and this program reads version %d; use the dprelease that wrote it", path, *head.Version,
			report.Version)
	}
	schema, err := reportSchema()
	if err != nil {
		return r, err
	}
	if err := schema.Validate(text); err != nil {
		return r, unreadable("%s does not follow specs/report-v1.md; was it changed, or written by a later dprelease?", path)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, unreadable("%s cannot be read as a report", path)
	}
	return r, nil
}
