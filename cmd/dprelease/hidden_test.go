package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// P33: with --hide-outcome a run that succeeds, one that fails before its debit, one that fails after it and one that was
// stopped look the same: no line, and exit code 0. The private file says what happened. Without the flag they differ.
func TestHideOutcome(t *testing.T) {
	ends := map[string]error{
		"the summary": nil,
		"SAMPLE":      &failure.Failure{Exit: 6, Code: "SAMPLE", Message: "no"},
		"DATA":        &failure.Failure{Exit: 6, Code: "DATA", Message: "no", Spent: "this release"},
		"SAME_DATA":   &failure.Failure{Exit: 4, Code: "BUDGET_SAME_DATA", Message: "no"}, // P40
		"INTERRUPTED": context.Canceled,
	}
	file := filepath.Join(t.TempDir(), "CONFIDENTIAL-runs.txt")
	codes := map[int]bool{}
	for word, end := range ends {
		s := &story{runErr: end, events: []pipeline.Progress{{Kind: "plan"}}}
		for _, json := range [][]string{nil, {"--json"}} {
			exit, out, errw := try(t.Context(), s, append([]string{"run", "--publish-at", "06:00", "--hide-outcome", file, "job.yaml"}, json...)...)
			if exit != 0 || out != "" || strings.TrimPrefix(errw, "nothing of this run is shown before 06:00\n") != "" {
				t.Errorf("%s: exit %d, %q, %q", word, exit, out, errw)
			}
		}
		if s.got.PublishAt != "06:00" {
			t.Errorf("%s: the pipeline was told %q", word, s.got.PublishAt)
		}
		said, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(said), word) {
			t.Errorf("%s is not in the file: %s %v", word, said, err)
		}
		exit, _, _ := try(t.Context(), s, "run", "--publish-at", "06:00", "job.yaml")
		codes[exit] = true
	}
	if len(codes) < 3 {
		t.Errorf("without the flag the exit codes are %v", codes)
	}
	said, _ := os.ReadFile(file)
	if !strings.Contains(string(said), ": exit 6\n") || !strings.Contains(string(said), ": exit 0\n") {
		t.Errorf("the file has no exit codes: %s", said)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v", err)
	}
	open := filepath.Join(t.TempDir(), "CONFIDENTIAL-open.txt")
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for why, args := range map[string][]string{
		"is for a run that publishes at an hour": {"--hide-outcome", file},
		"must begin with CONFIDENTIAL":           {"--publish-at", "06:00", "--hide-outcome", "runs.txt"},
		"others may read it":                     {"--publish-at", "06:00", "--hide-outcome", open},
	} {
		exit, _, errw := try(t.Context(), &story{}, append(append([]string{"run"}, args...), "job.yaml")...)
		if exit != command.ExitUsage || !strings.Contains(strings.Join(strings.Fields(errw), " "), why) {
			t.Errorf("%v: exit %d, %s", args, exit, errw)
		}
	}
}
