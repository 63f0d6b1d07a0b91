package stored_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/testkit/storedtest"
	"github.com/dprelease/dprelease/report"
)

// Who reads no Parquet reads the CSV file beside it. A Parquet file alone has no values, and one that was changed is refused.
func TestReadWithoutBinary(t *testing.T) {
	dir := storedtest.Folder(t, "../../../report/testdata/schools", nil)
	run, err := stored.Read(dir, nil)
	if err != nil || len(run.Values) != len(run.Report.Releases) {
		t.Fatal(err, len(run.Values))
	}
	e := run.Report.Releases[0]
	e.Files = nil
	for name, text := range map[string]string{"x.parquet": "PAR1", "x.csv": "n\n1\n2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(text))
		e.Files = append(e.Files, report.File{Path: name, SHA256: hex.EncodeToString(sum[:])})
	}
	e.Fields = []report.Field{{Name: "n", Type: "int64"}}
	read := func(files ...report.File) (report.Table, error) {
		e.Files = files
		return stored.Values(dir, e, os.ReadFile, nil)
	}
	parquet, csv := e.Files[0], e.Files[1]
	if parquet.Path != "x.parquet" {
		parquet, csv = csv, parquet
	}
	if v, err := read(parquet, csv); err != nil || len(v.Columns) != 1 || len(v.Columns[0].Int64) != 2 {
		t.Errorf("beside a CSV file: %v, %+v", err, v)
	}
	if v, err := read(parquet); err != nil || v.Columns != nil {
		t.Errorf("alone: %v, %+v", err, v)
	}
	parquet.SHA256 = csv.SHA256
	if _, err := read(parquet); err == nil {
		t.Error("a changed file is read")
	}
}
