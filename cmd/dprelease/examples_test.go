package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestExamples runs the jobs of examples/ on their real tables, as a user would.
func TestExamples(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               scripts(t, "testdata/examples", "counts", "panel"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			return copyExamples("../../examples", filepath.Join(e.WorkDir, "examples"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "kept": putKept},
	})
}

// Some jobs of examples/ are valid: TestExamplesRun of examples checks and runs every one.
func TestExampleJobs(t *testing.T) {
	jobs, err := filepath.Glob("../../examples/*/job.yaml")
	if err != nil || len(jobs) < 2 {
		t.Fatalf("%d example jobs found, %v", len(jobs), err)
	}
	for i := 0; i < len(jobs); i += 10 {
		if exit, stdout, stderr := commandLine(t, "check", jobs[i]); exit != 0 {
			t.Errorf("%s: exit %d\n%s%s", jobs[i], exit, stdout, stderr)
		}
	}
}

// putKept puts the id of the sample that a report names into a job.
func putKept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kept REPORT JOB")
	}
	_, id, ok := strings.Cut(ts.ReadFile(args[0]), `"id": "`)
	for ok && strings.Index(id, `"`) != 32 {
		_, id, ok = strings.Cut(id, `"id": "`)
	}
	if !ok {
		ts.Fatalf("%s names no kept sample", args[0])
	}
	path := ts.MkAbs(args[1])
	text := strings.ReplaceAll(ts.ReadFile(args[1]), strings.Repeat("0", 32), id[:32])
	ts.Check(os.WriteFile(path, []byte(text), 0o644))
}

// copyExamples copies jobs and data, and nothing that an earlier run left behind.
func copyExamples(from, to string) error {
	jobs := 0
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "out" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		switch filepath.Ext(path) {
		case ".yaml":
			jobs++
		case ".csv", ".parquet":
		default:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err == nil && jobs == 0 {
		err = errors.New("there are no examples")
	}
	return err
}
