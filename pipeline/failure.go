package pipeline

import (
	"github.com/dprelease/dprelease/internal/budget"
	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/look"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
)

type (
	Failure  = failure.Failure
	Code     = failure.Code
	Spent    = failure.Spent
	Retry    = failure.Retry
	Options  = run.Options
	Event    = run.Event
	Observer = run.Observer
	Look     = look.Look
)

const DefaultMemory = run.DefaultMemory

var (
	Design        = plan.Design
	ParamProblems = plan.ParamProblems
	CodeOf        = failure.CodeOf
	InsertCodes   = failure.InsertCodes
	LedgerOf      = budget.LedgerOf
	ReadReleases  = output.ReadReleases
	WritePages    = output.WritePages
)

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

	SpentNone    = failure.SpentNone
	SpentRelease = failure.SpentRelease
	SpentUnknown = failure.SpentUnknown

	RetryYes  = failure.RetryYes
	RetryNo   = failure.RetryNo
	RetryLook = failure.RetryLook
)
