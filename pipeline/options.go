package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// DefaultMemory is the memory of Options that do not say.
const DefaultMemory = table.DefaultMemory

// Options are what the command line gives a job.
type Options struct {
	Observer    Observer
	Diagnostics bool              // write CONFIDENTIAL-diagnostics.json
	Self        string            // the path of this program, which runs the built-in mechanisms
	Builtins    []sdk.Description // what they are
	Version     string            // of this program
	// SoleParent says that this process has no children but plugins, so that every
	// orphan of theirs can be found and killed.
	SoleParent bool
	// Again spends a second time after a run that was cut off between its debit and
	// its releases.
	Again bool
	// Wait is for how long to wait for another run of the same job; 0 means ten
	// minutes.
	Wait time.Duration
	// Memory is the most bytes that the values of the table may take at once; 0 means
	// DefaultMemory. A table that needs more is refused before the debit.
	Memory int64
	// CreateLedger makes the ledger that the job names where there is none. The one
	// beside a job that names none is made in any case.
	CreateLedger bool
	// LockWait is for how long to wait while others keep the ledger locked; 0 means the
	// ledger's default.
	LockWait time.Duration
	// By names who runs the job, for the ledger's records; "" means the login name and
	// the host.
	By string

	lease time.Duration // of a run; 0: the ledger's
	disk  disk          // nil: the real one
	// at is told when a run gets to a named point, so that a test can end it there.
	at func(point string)

	_ struct{}
}

// builtin is the place of a built-in mechanism in the list, -1 where there is none of
// that name.
func (o Options) builtin(name string) int {
	return slices.IndexFunc(o.Builtins, func(d sdk.Description) bool { return d.Name == name })
}

func (o Options) reach(point string) {
	if o.at != nil {
		o.at(point)
	}
}

func (o Options) observe(e Event) {
	if o.Observer != nil {
		o.Observer.Observe(e)
	}
}

// Load reads a job file. The error is job.Problems, or a *Failure where the file
// cannot be read.
func Load(path string, getenv func(string) (string, bool)) (*job.Job, error) {
	j, err := job.Read(path, job.Options{Getenv: getenv})
	var problems job.Problems
	if err != nil && !errors.As(err, &problems) {
		return nil, fail(ExitInvalidJob, "JOB_UNREADABLE", "%s cannot be read: %s", path, reasonOf(err))
	}
	return j, err
}

// Check finds everything that is wrong with a job and can be known without
// data. It starts the plugins that the job names.
func Check(ctx context.Context, j *job.Job, o Options) error {
	set := newMechanisms(ctx, j, o)
	defer set.close()
	if _, err := makePlan(ctx, j, o, set); err != nil {
		return err
	}
	_, err := LedgerOf(ctx, j)
	return err
}
