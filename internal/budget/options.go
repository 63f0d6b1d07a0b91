package budget

import (
	"time"

	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/run"
)

// Options say how a run uses its ledger. See pipeline.Options for those that a user sets.
type Options struct {
	Again        bool
	Wait         time.Duration
	CreateLedger bool
	LockWait     time.Duration
	By           string

	Lease   time.Duration      // of the run; 0 is the ledger's
	Disk    output.Disk        // nil is the real one
	Observe func(run.Event)    // told what happens, one call at a time
	Reach   func(point string) // told when the run gets to a named point
}
