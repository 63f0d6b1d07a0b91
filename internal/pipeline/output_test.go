package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// A folder that is there and empty becomes the output; what a folder cannot take the
// place of is refused before the budget is spent.
func TestOutputFolder(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(out string) error
		says string
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"an empty folder", func(out string) error { return os.Mkdir(out, 0o700) }, ""},
		{"a file", func(out string) error { return os.WriteFile(out, nil, 0o600) }, "is a file"},
		{"a link to an empty folder", func(out string) error { return os.Symlink(t.TempDir(), out) }, "is a symbolic link"},
		{"a link to nothing", func(out string) error { return os.Symlink("nowhere", out) }, "is a symbolic link"},
		{"a folder in use", func(out string) error { return os.MkdirAll(filepath.Join(out, "x"), 0o700) }, "already holds something else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, tinyJob, "TABLE", good(t))
			dir := filepath.Dir(path)
			if err := c.make(filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			_, err := run(t, path)
			if c.says == "" {
				if _, missing := os.Stat(filepath.Join(dir, "out", "report.json")); err != nil || missing != nil {
					t.Fatal(err, missing)
				}
				return
			}
			if exit, _ := exitOf(err); exit != failure.ExitInvalidJob || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q in it", err, c.says)
			}
			if _, err := os.Stat(filepath.Join(dir, "dprelease.db")); err == nil {
				t.Error("a ledger was made for a job that was refused")
			}
		})
	}
}

// The mount of a container's output folder cannot be replaced.
func TestOutputIsMounted(t *testing.T) {
	if !pipeline.Mounted("/proc") || pipeline.Mounted(t.TempDir()) {
		t.Error("/proc is mounted, and a new folder is not")
	}
}

// Who gives up while the plugins start is told of an interrupt, not of a plugin.
func TestInterruptedPlan(t *testing.T) {
	j, err := pipeline.Load(write(t, tinyJob, "TABLE", good(t)), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	var f *failure.Failure
	for name, err := range map[string]error{
		"plan": func() error { _, err := pipeline.Plan(ctx, j, options()); return err }(),
		"run":  func() error { _, err := pipeline.Run(ctx, j, options()); return err }(),
	} {
		if !errors.As(err, &f) || f.Exit != failure.ExitInterrupted || f.Code != "INTERRUPTED" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The same between the plan and the debit: a call that is cut off there is no broken
// ledger, whether that is there already or not.
func TestInterruptedBeforeTheDebit(t *testing.T) {
	for _, point := range tier.Some([]string{"planned", "opened", "ledger", "paging"}, 3) {
		for _, old := range []bool{false, true} {
			path := write(t, tinyJob, "TABLE", good(t))
			before := 0
			if old {
				if _, err := run(t, write(t, tinyJob, "TABLE", good(t), "budget: {", "budget: {ledger: 'sqlite:"+filepath.Join(filepath.Dir(path), "dprelease.db")+"', ", "id: ", "id: other-")); err != nil {
					t.Fatal(err)
				}
				before = len(spends(t, filepath.Dir(path)))
			}
			j, err := pipeline.Load(path, func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(background)
			_, err = pipeline.Run(ctx, j, pipeline.With(options(), func(at string) {
				if at == point {
					cancel()
				}
			}, nil, 0))
			cancel()
			var f *failure.Failure
			if !errors.As(err, &f) || f.Exit != failure.ExitInterrupted || f.Code != "INTERRUPTED" {
				t.Errorf("%s, ledger there %t: %v", point, old, err)
			}
			if after := len(spends(t, filepath.Dir(path))); after != before {
				t.Errorf("%s: %d debits before, %d after", point, before, after)
			}
		}
	}
}
