package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Bounds of what is read back from an output folder, in bytes.
const (
	maxReport  = 256 << 20
	maxRelease = 2 << 30
)

// Holds reports whether a folder holds these files, byte for byte; the pages may have
// been written again by another version of this program.
func Holds(dir string, files []ledger.File) bool {
	return len(files) > 0 && Difference(dir, files) == ""
}

// Difference names the first file of a folder that is not as it was released.
func Difference(dir string, files []ledger.File) string {
	for _, f := range files {
		b, err := readIn(dir, f.Path)
		page := f.Path == PageFile || f.Path == publicFile
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
	b, err := readIn(dir, reportFile)
	return r, err == nil && json.Unmarshal(b, &r) == nil
}

// ReadReleases finds every release below some folders, and what its files are now:
// what ledger verify compares a ledger with.
func ReadReleases(folders []string) ([]ledger.Seen, error) {
	var out []ledger.Seen
	for _, root := range folders {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && unpublished(d.Name()) {
				return fs.SkipDir
			}
			if d.IsDir() || d.Name() != reportFile {
				return nil
			}
			s, ok := readRelease(filepath.Dir(path))
			if ok {
				out = append(out, s)
			}
			return nil
		})
		if err != nil {
			return nil, failure.New(failure.ExitUsage, "RELEASES_UNREADABLE", "%s cannot be searched for releases: %s", root, failure.Reason(err))
		}
	}
	return out, nil
}

func readRelease(dir string) (ledger.Seen, bool) {
	s := ledger.Seen{Where: dir}
	r, ok := StoredReport(dir)
	if !ok || r.Job.Digest == "" {
		return s, false
	}
	if r.Budget != nil {
		s.Mark = MarkOf(&r)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, false
	}
	for _, e := range entries {
		b, err := file.Read(filepath.Join(dir, e.Name()), maxRelease)
		if err != nil {
			continue // it will be missing
		}
		sum := sha256.Sum256(b)
		s.Files = append(s.Files, ledger.Sum{Path: e.Name(), SHA256: hex.EncodeToString(sum[:])})
	}
	return s, true
}

// StoredResults reads released values back from the stored files, for the summary
// of a run that made nothing new. A release that is stored in neither CSV nor JSON
// is left out.
func StoredResults(rep report.Report, files []ledger.File) map[string]sdk.Result {
	read := func(path string) ([]byte, error) {
		for _, f := range files {
			if f.Path == path {
				return f.Data, nil
			}
		}
		return nil, fs.ErrNotExist
	}
	out := map[string]sdk.Result{}
	for _, r := range rep.Releases {
		t, err := stored.Values("", r, read, nil)
		if err == nil && slices.ContainsFunc(t.Columns, func(c report.Column) bool { return c.Len() > 0 }) {
			out[r.Name] = sdk.Result{Columns: t.Columns}
		}
	}
	return out
}
