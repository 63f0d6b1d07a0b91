package pipeline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func schema(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../specs", name))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func valid(t *testing.T, s *jsonschema.Resolved, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s: %v", filepath.Base(path), err)
	}
	doc["private"] = 1
	if s.Validate(doc) == nil {
		t.Errorf("%s: a key that the specification does not know is valid", filepath.Base(path))
	}
}

// What a run writes is what the schemas of report-v1 and release-v1 allow.
func TestOutputsFollowTheirSchemas(t *testing.T) {
	o, err := run(t, write(t, schoolsJob))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, schema(t, "report-v1.schema.json"), filepath.Join(o.Dir, "report.json"))
	for _, r := range o.Report.Releases {
		valid(t, schema(t, "release-v1.schema.json"), filepath.Join(o.Dir, r.Name+".meta.json"))
	}
}
