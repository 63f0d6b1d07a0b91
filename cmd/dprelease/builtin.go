package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// builtins are the mechanisms that come with this program. They run as its child
// process, over the same protocol as anybody's.
var builtins = builtin.Mechanisms()

func builtinNames() []string {
	names := make([]string, 0, len(builtins))
	for n := range builtins {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// describeBuiltins returns the descriptions of the built-in mechanisms.
func describeBuiltins() []sdk.Description {
	var all []sdk.Description
	for _, name := range builtinNames() {
		all = append(all, builtins[name].Describe())
	}
	return all
}

// serveCommand is the hidden command that serves the built-in mechanisms to a host.
const serveCommand = pipeline.ServeArgument

// serving reports whether a command line asks this process to serve the built-in
// mechanisms. A host waits for it: there is no command line to read, nothing to set up.
func serving(args []string) bool { return len(args) == 1 && args[0] == serveCommand }

// serveBuiltins serves the built-in mechanisms. A host uses a process for one of them.
func serveBuiltins() { serve.Mechanisms(builtin.Served()...) }

// mechanism is the hidden command that serves the built-in mechanisms to a host. It
// gets here only where it is wrong: serving answers for the rest.
func (e *environment) mechanism() *cobra.Command {
	return &cobra.Command{
		Use:    serveCommand,
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("this command is for the program itself")
		},
	}
}
