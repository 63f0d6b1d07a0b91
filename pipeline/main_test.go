package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// The test binary is also the program that serves the mechanisms.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == pipeline.ServeArgument {
		serve.Mechanisms(mean.Mechanism{})
		return
	}
	goleak.VerifyTestMain(m)
}

// loaded returns the job of the example, with the rows of a table, in a folder of its own.
func loaded(t *testing.T, text string) (*pipeline.Job, error) {
	t.Helper()
	table, err := filepath.Abs("../examples/data/schools.parquet")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, text, table), 0o600); err != nil {
		t.Fatal(err)
	}
	return pipeline.Load(path, os.LookupEnv)
}

func options(t *testing.T) pipeline.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Options{Mechanisms: self}
}

// A job says what it is, and its faults say where they are.
func TestJobHasFields(t *testing.T) {
	j, err := loaded(t, exampleJob)
	if err != nil {
		t.Fatal(err)
	}
	want := pipeline.Release{Name: "score", From: "srs", Mechanism: "mean"}
	if j.Name != "schools" || j.Dataset != "schools" || j.Unit != "row" || j.Relation != "replace-one" || len(j.Releases) != 1 || j.Releases[0] != want || filepath.Base(j.Dir) != "out" {
		t.Errorf("%+v", j)
	}
	j, err = loaded(t, "version: 1\njob: %[1]q\nnonsense: 1\n")
	var problems pipeline.Problems
	if j != nil || !errors.As(err, &problems) || len(problems) == 0 || problems[0].Line == 0 || problems[0].Message == "" || err.Error() == "" {
		t.Errorf("%v, %+v", err, problems)
	}
	var f *pipeline.Failure
	if _, err := pipeline.Load(filepath.Join(t.TempDir(), "absent.yaml"), os.LookupEnv); !errors.As(err, &f) || f.Code != "JOB_UNREADABLE" || f.Spent != pipeline.SpentNone || f.Retry != pipeline.RetryNo {
		t.Errorf("%v", err)
	}
}

// steps remembers what it was told.
type steps []string

func (s *steps) Observe(e pipeline.Progress) { *s = append(*s, e.Kind) }

// A run tells its steps; where the context ends it, the error is the context's.
func TestContextEndsTheVerbs(t *testing.T) {
	j, err := loaded(t, exampleJob)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	verbs := map[string]func(context.Context) error{
		"check": func(ctx context.Context) error { return pipeline.Check(ctx, j, o) },
		"plan":  func(ctx context.Context) error { _, err := pipeline.Plan(ctx, j, o); return err },
		"run":   func(ctx context.Context) error { _, err := pipeline.Run(ctx, j, o); return err },
	}
	for name, verb := range verbs {
		var f *pipeline.Failure
		if err := verb(late); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &f) || f.Spent != pipeline.SpentNone || f.Retry != pipeline.RetryYes {
			t.Errorf("%s after its deadline: %v", name, err)
		}
		if err := verb(stopped); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s that was stopped: %v", name, err)
		}
	}
	var seen steps
	o.Observer = &seen
	// The context also ends a run that is under way: here as soon as the draw begins, when its debit stands.
	under, end := context.WithCancel(t.Context())
	defer end()
	o.Observer = ending{&seen, end}
	var f *pipeline.Failure
	if _, err := pipeline.Run(under, j, o); !errors.Is(err, context.Canceled) || !errors.As(err, &f) || f.Spent != pipeline.SpentRun || f.Retry != pipeline.RetryLook {
		t.Errorf("a run that was stopped while it drew: %v after %v", err, seen)
	}
	if len(seen) < 2 || seen[0] != "plan" {
		t.Errorf("the steps were %v", seen)
	}
}

// ending stops a run when its draw begins.
type ending struct {
	*steps
	stop func()
}

func (e ending) Observe(ev pipeline.Progress) {
	e.steps.Observe(ev)
	if ev.Kind == "draw" {
		e.stop()
	}
}
