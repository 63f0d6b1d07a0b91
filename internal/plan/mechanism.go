package plan

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanisms are the mechanisms that a job may name.
type Mechanisms interface {
	Get(ctx context.Context, name string) (Mechanism, error)
}

// Mechanism answers the questions of a plan. No answer may depend on data.
type Mechanism interface {
	About() sdk.Description
	// Origin says whether the mechanism comes with the program, or else which
	// executable it is.
	Origin() (builtin bool, sha256 string)
	// Confined describes the confinement of the mechanism's processes.
	Confined() string
	// Validate holds the parameters of a release to the mechanism's schema.
	Validate(params json.RawMessage) error
	Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error)
}

// Fault is a failure that is the plugin's, not the job's: it did not start, is not the
// one that was named, or does not keep to the protocol. A mechanism that refuses a
// release blames the job, and returns no Fault.
type Fault struct {
	Code string // one of the codes of a plugin
	Err  error
}

// Error is the words of the plugin's host.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap is the error of the plugin's host.
func (f *Fault) Unwrap() error { return f.Err }

func isFault(err error) bool {
	var f *Fault
	return errors.As(err, &f)
}

// faulty places the failure of a plugin before any data was read. What ends
// because the caller gave up is an interrupt, however it shows.
func faulty(ctx context.Context, j *job.Job, path string, err error) error {
	if ctx.Err() != nil {
		return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	}
	var f *Fault
	errors.As(err, &f)
	return failure.New(failure.ExitPlugin, f.Code, "%s: %s: %s; nothing was read and nothing debited", j.Pos(path), path, f.Error())
}
