package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/specs"
)

// studySchema is the embedded schema of the planner's answers.
func studySchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := specs.FS.ReadFile("study-v1.schema.json")
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

// What the planner prints for programs follows specs/study-v1.md: every kind of
// study, with and without assumptions, of every mechanism of the examples.
func TestStudiesFollowTheirSchema(t *testing.T) {
	tier.Full(t, "TestScripts")
	schema := studySchema(t)
	dir := t.TempDir()
	if err := copyExamples("../../examples", dir); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "dprelease")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	asked := []string{
		"schools/job.yaml --sweep rate --points 4",
		"districts/job.yaml --sweep epsilon --points 3",
		"schools/job.yaml --sweep n --points 3 --release api_sampled",
		"schools/job.yaml --solve rse<2%",
		"schools/job.yaml --solve noise<4 --over n",
		"schools/job.yaml --compare",
		"counts/job.yaml --sweep rate --points 3",
		"median/job.yaml --sweep rate --points 3 --release api_median_sampled",
		"median/job.yaml --compare --release api_median_sampled",
		"randomized-response/job.yaml --sweep epsilon --points 3",
		"sgd-schools/job.yaml --sweep epsilon --points 2",
		"energy/job.yaml --compare --repetitions 16",
		"papers/study.yaml --sweep rate --points 3 --repetitions 16",
		"papers/study.yaml --compare --repetitions 16",
	}
	if testing.Short() {
		asked = []string{asked[0], asked[3], asked[5], "energy/job.yaml --compare --repetitions 16"} // one of each kind, and a collected table
	}
	for _, args := range asked {
		cmd := exec.Command(program, append([]string{"plan", "--json"}, strings.Fields(args)...)...)
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Errorf("plan %s: %v\n%s%s", args, err, out.String(), errs.String())
			continue
		}
		var study map[string]any
		if err := json.Unmarshal(out.Bytes(), &study); err != nil {
			t.Errorf("plan %s: %v", args, err)
			continue
		}
		if err := schema.Validate(study); err != nil {
			t.Errorf("plan %s: %v", args, err)
		}
		kinds[study["kind"].(string)]++

		// The schema is not so wide that anything fits it.
		study["private"] = 1
		if schema.Validate(study) == nil {
			t.Errorf("plan %s: a key that the specification does not know is valid", args)
		}
		delete(study, "private")
		delete(study, "assumptions")
		if schema.Validate(study) == nil {
			t.Errorf("plan %s: a study without assumptions is valid", args)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("kinds of studies seen: %v", kinds)
	}
}
