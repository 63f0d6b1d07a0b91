package specs_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/specs"
)

// What is published is embedded, and every schema is JSON.
func TestEmbedded(t *testing.T) {
	found := map[string]int{}
	err := fs.WalkDir(specs.FS, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[path.Ext(p)]++
		data, err := specs.FS.ReadFile(p)
		if err != nil {
			return err
		}
		if len(data) == 0 {
			t.Errorf("%s is empty", p)
		}
		if path.Ext(p) == ".json" && !json.Valid(data) {
			t.Errorf("%s is not JSON", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for ext, least := range map[string]int{".md": 1, ".json": 1, ".proto": 1, ".txtar": 60} {
		if found[ext] < least {
			t.Errorf("%d files %s, want at least %d", found[ext], ext, least)
		}
	}
	for _, p := range []string{"job-v1.md", "job-v1.schema.json"} {
		if _, err := fs.Stat(specs.FS, p); err != nil {
			t.Error(err)
		}
	}
}

// A sidecar holds entries of the report, so what the two schemas both define is the
// same.
func TestReleaseSchemaIsPartOfReportSchema(t *testing.T) {
	var report, release struct {
		Defs map[string]any `json:"$defs"`
	}
	for name, into := range map[string]any{"report-v1.schema.json": &report, "release-v1.schema.json": &release} {
		data, err := specs.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	if len(release.Defs) == 0 {
		t.Fatal("no definitions")
	}
	for name, def := range release.Defs {
		if !reflect.DeepEqual(def, report.Defs[name]) {
			t.Errorf("%s is not as in the report", name)
		}
	}
}

// A report may say all that the program can believe: else it is written, and never read again.
func TestReportSchemaHasAllBeliefs(t *testing.T) {
	data, err := specs.FS.ReadFile("report-v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Believed struct {
				Items struct{ Enum []report.Belief }
			}
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if got := schema.Properties.Believed.Items.Enum; !reflect.DeepEqual(got, report.Beliefs) {
		t.Errorf("the schema has %v, and a report may have %v", got, report.Beliefs)
	}
}
