package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var slicedJob = `version: 1
job: days
dataset:
  id: days
  source: {path: days.csv}
  relation: add-remove
  slice: {column: day, is: "IS"}
  columns:
    day: {type: timestamp}
    fare: {lower: 0, upper: 100}
budget: {ledger: "sqlite:LEDGER", limit: {epsilon: 1}}
releases:
  - {name: total, mechanism: sum, params: {column: fare}, guarantee: {epsilon: 1}}
output: {dir: out, formats: [csv]}
`

// A slice has one limit, however a job writes its value, and whatever it takes the column for
// (P26).
func TestTwoSpellingsAreOneSlice(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger.db")
	try := func(is string) error {
		path := write(t, slicedJob, "IS", is, "LEDGER", ledger)
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "days.csv"), []byte("day,fare\n2026-10-01T00:00:00,3\n2026-10-02T00:00:00,4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := run(t, path)
		return err
	}
	if err := try("2026-10-01"); err != nil {
		t.Fatal(err)
	}
	for _, is := range []string{"2026-10-01T00:00:00", "2026-10-01 00:00:00", "2026-10-01T02:00:00+02:00"} {
		if err := try(is); err == nil || !strings.Contains(err.Error(), "RUN_REVISED") && !strings.Contains(err.Error(), "BUDGET_EXCEEDED") {
			t.Errorf("the same slice as %s: %v", is, err)
		}
	}
	job := slicedJob
	slicedJob = strings.Replace(job, "day: {type: timestamp}", "day: {type: text}", 1)
	defer func() { slicedJob = job }()
	if err := try("2026-10-02T00:00:00"); err == nil || !strings.Contains(err.Error(), "BUDGET_ACCOUNT") || !strings.Contains(err.Error(), "read as date") {
		t.Errorf("a timestamp that is read as text: %v", err)
	}
	slicedJob = job
	if err := try("2026-10-02T00:00:00"); err != nil {
		t.Errorf("another slice: %v", err)
	}
}
