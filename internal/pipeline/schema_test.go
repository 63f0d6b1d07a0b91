package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("../../specs", name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s: %v", filepath.Base(path), err)
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
