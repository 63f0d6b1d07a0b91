package pipeline_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A run that is killed at any moment leaves either the whole output or none of
// it, and never an output without a debit (P21).
func TestKillAtAnyMoment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, schoolsJob)
	start := time.Now()
	if out, err := child(self, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start)
	const kills = 40
	published, killed := 0, 0
	for i := range kills {
		path := write(t, schoolsJob)
		cmd := child(self, path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole * time.Duration(i) / kills)
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		if checkAfterKill(t, filepath.Dir(path)) {
			published++
		}
	}
	if killed == 0 {
		t.Fatal("no run was killed: the test shows nothing")
	}
	t.Logf("%d runs killed, %d outputs published", killed, published)
}

func child(self, job string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PIPELINE_TEST_RUN="+job)
	return cmd
}

// checkAfterKill reports whether an output is there; then it is whole and debited.
func checkAfterKill(t *testing.T, dir string) bool {
	t.Helper()
	record, _ := os.ReadFile(filepath.Join(dir, "out.record.jsonl"))
	debited := strings.Contains(string(record), `"debited"`)
	files, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil {
		return false
	}
	if !debited {
		t.Error("an output without a debit")
	}
	if len(files) != 3*5+3 {
		t.Errorf("%d files: the output is not whole", len(files))
	}
	b, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil || !json.Valid(b) {
		t.Errorf("the report is not whole: %v", err)
	}
	return true
}

// After a run was cut off between its debit and its output, the next one does not
// draw again, says so, and cleans up.
func TestRunAfterACutOffRunDoesNotDrawAgain(t *testing.T) {
	path := write(t, schoolsJob)
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	record := o.Dir + ".record.jsonl"
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("}\n"))
	// As if killed right after the debit, with half a line of the next record.
	if err := os.WriteFile(record, append(lines[0], `{"state":"publ`...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(o.Dir, filepath.Join(filepath.Dir(o.Dir), ".out.partial-123")); err != nil {
		t.Fatal(err)
	}
	if exit, code := exitOf(second(run(t, path))); exit != 7 || code != "RUN_UNFINISHED" {
		t.Fatalf("exit %d, code %s", exit, code)
	}
	if _, err := os.Stat(o.Dir); err == nil {
		t.Error("an output appeared")
	}
}

func second[T any](_ T, err error) error { return err }

// A disk that fills up while the output is written costs the budget and shows
// nothing: no folder, no partial file.
func TestFullDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, schoolsJob, "column: api00}, guarantee: {epsilon: \"0.5\"}}\n  - {name: some", "column: api00}, guarantee: {epsilon: \"0.4\"}}\n  - {name: some")
	// No file may grow beyond 1,024 bytes: the record fits, the report does not.
	cmd := exec.Command("bash", "-c", `ulimit -f 1; exec "$0"`, self)
	cmd.Env = append(os.Environ(), "PIPELINE_TEST_RUN="+path)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the run succeeded on a full disk")
	}
	if !strings.Contains(string(out), "NOT_PUBLISHED") {
		t.Errorf("says %s", out)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range left {
		if e.Name() != "job.yaml" && e.Name() != "out.record.jsonl" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}
