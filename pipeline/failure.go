package pipeline

import (
	"errors"
	"fmt"
)

// The exit codes of the command line, fixed by the specification.
const (
	ExitDone         = 0
	ExitBug          = 1
	ExitUsage        = 2
	ExitInvalidJob   = 3
	ExitBudget       = 4
	ExitPlugin       = 5
	ExitSource       = 6
	ExitLedger       = 7
	ExitNotPublished = 8
	ExitInterrupted  = 130
)

// Failure is an error with an exit code. After the first row has been read its
// Message is a constant of this package, with at most a name that stands in the job
// (P20).
type Failure struct {
	Exit    int
	Code    string
	Message string
}

// Error is the code and the message.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

func fail(exit int, code, format string, args ...any) *Failure {
	return &Failure{Exit: exit, Code: code, Message: fmt.Sprintf(format, args...)}
}

// asFailure gives an unexpected error an exit code. Its text is dropped: only
// errors of known types may speak once rows have been read.
func asFailure(err error, exit int, code, message string) error {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Exit: exit, Code: code, Message: message}
}
