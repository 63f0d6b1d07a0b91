package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/pipeline"
)

// The exit codes that the command line itself uses; docs/exit-codes.md has all.
const (
	exitDone        = pipeline.ExitDone
	exitBug         = pipeline.ExitBug
	exitUsage       = pipeline.ExitUsage
	exitInvalidJob  = pipeline.ExitInvalidJob
	exitInterrupted = pipeline.ExitInterrupted
)

// failed is what a command returns that has printed its own error, or has none
// to print.
type failed struct{ exit int }

func (f failed) Error() string { return fmt.Sprintf("exit %d", f.exit) }

// failure is the last line of a command that did not succeed.
type failure struct {
	Event   string `json:"event"` // "failed"
	Exit    int    `json:"exit"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// explain turns an error into an exit code, a fixed code word and a text. Only
// errors of known kinds may speak: any other could hold a cell value (P20).
func explain(ctx context.Context, err error) failure {
	f := failure{Event: "failed", Exit: exitBug, Code: "INTERNAL", Message: fmt.Sprintf("a bug: an unexpected error of type %T; please report it", err)}
	var known *pipeline.Failure
	switch {
	case len(problemsOf(err)) > 0:
		f.Exit, f.Code, f.Message = exitInvalidJob, "INVALID_JOB", "the job is not valid; nothing was read and nothing was released"
	case errors.As(err, &known):
		f.Exit, f.Code, f.Message = known.Exit, known.Code, known.Message
	case errors.Is(err, context.Canceled):
		f.Exit, f.Code, f.Message = exitInterrupted, "INTERRUPTED", "interrupted"
	}
	var by interrupted
	if f.Exit == exitInterrupted && errors.As(context.Cause(ctx), &by) {
		f.Exit = by.exit()
	}
	return f
}

// problemsOf are the problems of a job that an error holds.
func problemsOf(err error) job.Problems {
	var many job.Problems
	var one job.Problem
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return job.Problems{one}
	}
	return nil
}

// guard runs f and turns a panic into one line without the panic's value, which
// could hold a cell (P20): its type, and the function that it came from.
func guard(errw io.Writer, f func() int) (exit int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(errw, "dprelease: a bug: panic of type %T in %s; please report it\n", r, origin())
			exit = exitBug
		}
	}()
	return f()
}

// origin names the function that panicked: the first one below the runtime.
func origin() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	below := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			below = true
		case below && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown function"
		}
	}
}
