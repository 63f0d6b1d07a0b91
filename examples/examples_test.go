package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/german"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/report"
)

// program builds the real program and the one of its mechanisms.
func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "dprelease")
	out, err := exec.Command("go", "build", "-o", filepath.Dir(bin)+"/", "../cmd/dprelease", "../cmd/dprelease-mechanisms").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// Every example job is valid, can be planned and run, and run again without
// drawing anything new.
func TestExamplesRun(t *testing.T) {
	tier.Full(t, "TestExampleJobs of cmd/dprelease")
	bin := program(t)
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	jobs, err := filepath.Glob(filepath.Join(root, "*", "job.yaml"))
	if err != nil || len(jobs) < 2 {
		t.Fatalf("%d example jobs found, %v", len(jobs), err)
	}
	for _, job := range jobs {
		t.Run(filepath.Base(filepath.Dir(job)), func(t *testing.T) {
			// What a developer's own run left behind is not part of the example.
			out := filepath.Join(filepath.Dir(job), "out")
			os.RemoveAll(out)
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(job), "*.db*"))
			for _, l := range left {
				os.Remove(l)
			}
			commands := [][]string{{"check", job}, {"plan", job}, {"run", job}, {"run", job}}
			for _, args := range commands {
				text, err := exec.Command(bin, args...).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", strings.Join(args[:1], " "), err, text)
				}
			}
			reports, _ := filepath.Glob(filepath.Join(out, "report.json"))
			if len(reports) == 0 {
				reports, _ = filepath.Glob(filepath.Join(out, "*", "report.json"))
			}
			if len(reports) != 1 {
				t.Fatalf("%d reports", len(reports))
			}
			b, err := os.ReadFile(reports[0])
			var r report.Report
			if err != nil || json.Unmarshal(b, &r) != nil {
				t.Fatalf("the report: %v", err)
			}
			german.Check(t, &r, nil)
		})
	}
}
