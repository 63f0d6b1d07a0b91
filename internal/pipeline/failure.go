package pipeline

import (
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// Problems are the faults of a job, each with its place in the file.
type Problems = job.Problems

// Failure is an error of a verb of this package that is not about the text of the job.
// Its Exit is the exit code of the command line, its Code one word of those in
// docs/exit-codes.md, and its Message a sentence for a person. Its method Cost says
// what was spent, and its method Retry whether the same call may succeed later.
// After the first row has been read its Message is a constant (P20).
type Failure = failure.Failure

// Spent is the effect on the budget of a call that failed.
type Spent = failure.Spent

// A failure spent nothing, or the debit of this run, which stands, or nobody knows and the
// ledger alone can tell.
const (
	SpentNone    = failure.SpentNone
	SpentRun     = failure.SpentRun
	SpentUnknown = failure.SpentUnknown
)

// Retry says whether the same call may succeed when it is made again.
type Retry = failure.Retry

// Whether to try again: a program may do it; not before something is changed; or a
// person has to look first.
const (
	RetryYes  = failure.RetryYes
	RetryNo   = failure.RetryNo
	RetryLook = failure.RetryLook
)

// The exit codes of the command line.
const (
	ExitDone         = failure.ExitDone
	ExitBug          = failure.ExitBug
	ExitUsage        = failure.ExitUsage
	ExitInvalidJob   = failure.ExitInvalidJob
	ExitBudget       = failure.ExitBudget
	ExitPlugin       = failure.ExitPlugin
	ExitSource       = failure.ExitSource
	ExitLedger       = failure.ExitLedger
	ExitNotPublished = failure.ExitNotPublished
	ExitInterrupted  = failure.ExitInterrupted
)

// Code is one word that a failure may end with, and all that a script needs to know
// of it.
type Code = failure.Code

// CodeOf finds a code. A word that is not declared is treated as a bug: a person has
// to look.
func CodeOf(name string) Code { return failure.CodeOf(name) }
