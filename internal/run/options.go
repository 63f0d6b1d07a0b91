package run

import (
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// DefaultMemory is the memory for a table where nobody says how much.
const DefaultMemory = table.DefaultMemory

// ServeArgument is the one argument with which a program is started as a child process
// of a run, to serve the mechanisms that it comes with.
const ServeArgument = "__mechanism"

// Programs say where mechanisms come from that the job does not name as plugins.
type Programs struct {
	Self       string            // the program that serves the built-in mechanisms
	Builtins   []sdk.Description // what they are
	SoleParent bool              // this process has no children but plugins
}

// Options are what a run needs besides its plan.
type Options struct {
	Observe     func(Event) // told what happens, one call at a time
	Diagnostics bool        // gather the private facts of the run
}
