package run

import (
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/output"
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

	Lease time.Duration // of a run; 0: the ledger's
	Disk  output.Disk   // nil: the real one
	// at is told when a run gets to a named point, so that a test can end it there.
	At func(point string)

	_ struct{}
}

// builtin is the place of a built-in mechanism in the list, -1 where there is none of
// that name.
func (o Options) builtin(name string) int {
	return slices.IndexFunc(o.Builtins, func(d sdk.Description) bool { return d.Name == name })
}

func (o Options) Reach(point string) {
	if o.At != nil {
		o.At(point)
	}
}

func (o Options) Observe(e Event) {
	if o.Observer != nil {
		o.Observer.Observe(e)
	}
}
