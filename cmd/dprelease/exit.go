package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"time"

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

// failed is the error of a command that has printed its own error, or has none
// to print.
type failed struct{ exit int }

func (f failed) Error() string { return fmt.Sprintf("exit %d", f.exit) }

// ending is the last line of a command that did not succeed.
type ending struct {
	Event   string         `json:"event"` // "failed"
	Exit    int            `json:"exit"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Spent   pipeline.Spent `json:"spent"`
	Retry   pipeline.Retry `json:"retry"`
	At      string         `json:"time"`
	// Unconfined are the plugins of third parties that ran without a sandbox.
	Unconfined []string `json:"unconfined,omitempty"`
}

// unspent is a failure before any debit.
func unspent(exit int, code, message string) ending {
	return ending{Event: "failed", Exit: exit, Code: code, Spent: pipeline.SpentNone, Retry: pipeline.CodeOf(code).Retry, Message: message,
		At: time.Now().UTC().Format(time.RFC3339)}
}

// last returns the line that a terminal shows below the message of a failure.
func (f ending) last() string {
	line := fmt.Sprintf("failed: code %s, exit %d; spent: %s; retry: %s; %s", f.Code, f.Exit, f.Spent, f.Retry, f.At)
	if len(f.Unconfined) > 0 {
		line += "; not confined: " + oneLine(strings.Join(f.Unconfined, ", "))
	}
	return line
}

// explain turns an error into an exit code, a fixed code word and a text, and
// into the problems of the job where that is what it holds. Only errors of known
// kinds may speak: any other could hold a cell value (P20).
func explain(ctx context.Context, err error) (ending, job.Problems) {
	var known *pipeline.Failure
	var by interrupted
	stopped := errors.As(context.Cause(ctx), &by)
	if errors.As(err, &known) {
		f := unspent(known.Exit, known.Code, known.Message)
		f.Spent, f.Retry = known.Cost(), known.Retry()
		if stopped && f.Exit == exitInterrupted {
			f.Exit = by.exit()
		}
		return f, nil
	}
	problems := problemsOf(err)
	switch {
	case stopped:
		// A check that was cut off may look like a problem of the job.
		return unspent(by.exit(), "INTERRUPTED", "interrupted; nothing was drawn and nothing was spent"), nil
	case len(problems) > 0:
		return unspent(exitInvalidJob, "INVALID_JOB", "the job is not valid; nothing was drawn and nothing was spent"), problems
	case errors.Is(err, context.Canceled):
		return unspent(exitInterrupted, "INTERRUPTED", "interrupted; nothing was drawn and nothing was spent"), nil
	}
	// Nobody knows where this came from, so nobody knows what it spent.
	f := unspent(exitBug, "INTERNAL", fmt.Sprintf("a bug: an unexpected error of type %T; please report it", err))
	f.Spent = pipeline.SpentUnknown
	return f, nil
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
			f := unspent(exitBug, "PANIC", "")
			f.Spent = pipeline.SpentUnknown
			fmt.Fprintln(errw, f.last())
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
