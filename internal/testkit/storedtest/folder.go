package storedtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/report"
)

// Folder returns a new output folder: the report and the values of fixture, a folder with report.json and values.json. Each
// release is one file in JSON with its digest. change, unless nil, may change both before they are written.
func Folder(t *testing.T, fixture string, change func(*report.Report, map[string]report.Table)) string {
	t.Helper()
	var r report.Report
	var values map[string]report.Table
	for name, into := range map[string]any{"report.json": &r, "values.json": &values} {
		text, err := os.ReadFile(filepath.Join(fixture, name))
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&r, values)
	}
	dir := t.TempDir()
	for i, e := range r.Releases {
		text := encoded(t, rows(values[e.Name]))
		sum := sha256.Sum256(text)
		r.Releases[i].Files = []report.File{{Path: e.Name + ".json", SHA256: hex.EncodeToString(sum[:])}}
		put(t, filepath.Join(dir, e.Name+".json"), text)
	}
	put(t, filepath.Join(dir, "report.json"), encoded(t, &r))
	return dir
}

// rows turns columns into one object for each row.
func rows(t report.Table) []map[string]any {
	out := []map[string]any{}
	for _, c := range t.Columns {
		for i := range c.Len() {
			if i == len(out) {
				out = append(out, map[string]any{})
			}
			out[i][c.Name] = c.Value(i)
		}
	}
	return out
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
