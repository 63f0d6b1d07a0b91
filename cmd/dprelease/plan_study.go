package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/pipeline"
)

// study is one question to the planner, as the flags of plan put it.
type study struct {
	sweep, solve, over string
	compare            bool
	release            string
	span               planner.Range
	repetitions        int
	page               string
}

func (s *study) kind() string {
	switch {
	case s.sweep != "":
		return "sweep"
	case s.solve != "":
		return "solve"
	case s.compare:
		return "compare"
	}
	return ""
}

// result is an answer of the planner that also has a page.
type result interface {
	answer
	HTML() ([]byte, error)
}

// study asks the planner. Nothing of it opens the table.
func (e *environment) study(ctx context.Context, j *job.Job, s *study) error {
	progress, stop := e.progress()
	price, done := pipeline.Pricer(ctx, j, e.options())
	defer done()
	settings := planner.Settings{
		Price: price, Mechanisms: builtins, Release: s.release, Repetitions: s.repetitions, Seed: 1, Progress: progress,
	}
	r, err := s.ask(ctx, j, settings)
	stop()
	if err != nil {
		return e.studyFailed(ctx, err)
	}
	if err := s.files(r); err != nil {
		return e.failWith(unspent(exitBug, "OUTPUT", err.Error()), nil)
	}
	return e.print(r)
}

// ask returns what the planner answers. With an error, the answer means nothing.
func (s *study) ask(ctx context.Context, j *job.Job, settings planner.Settings) (result, error) {
	switch s.kind() {
	case "sweep":
		axis, err := planner.ParseAxis(s.sweep)
		if err != nil {
			return nil, err
		}
		return planner.RunSweep(ctx, j, axis, s.span, settings)
	case "solve":
		return planner.Solve(ctx, j, s.solve, s.over, settings)
	}
	return planner.Compare(ctx, j, 0, settings)
}

// studyFailed tells a job that is wrong from a question that has no answer.
func (e *environment) studyFailed(ctx context.Context, err error) error {
	var problems job.Problems
	var failure *pipeline.Failure
	if ctx.Err() != nil || errors.As(err, &problems) || errors.As(err, &failure) {
		return e.fail(ctx, err)
	}
	return e.fail(ctx, &pipeline.Failure{Exit: pipeline.ExitInvalidJob, Code: "PLAN_REFUSED", Message: err.Error()})
}

// files writes the page, whole or not at all.
func (s *study) files(r result) error {
	if s.page == "" {
		return nil
	}
	b, err := r.HTML()
	if err != nil {
		return err
	}
	return writeWhole(s.page, b)
}

// writeWhole writes a file whole or not at all.
func writeWhole(path string, b []byte) error {
	if err := whole.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("%s cannot be written", path)
	}
	return nil
}

// progress is a bar on a terminal, and nothing elsewhere.
func (e *environment) progress() (func(done, total int), func()) {
	if e.json || e.quiet || !isTerminal(e.errw) {
		return nil, func() {}
	}
	var b screen
	var rows, of int64
	b.show(e.errw, func() []string {
		if of == 0 || rows >= of {
			return nil
		}
		return []string{fmt.Sprintf("planning %s %d %%", bar(rows, of), 100*rows/of)}
	})
	return func(done, total int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			rows, of = int64(done), int64(total)
		}, func() {
			b.mu.Lock()
			of = 0
			b.mu.Unlock()
			b.stop()
		}
}
