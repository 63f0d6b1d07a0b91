package main

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/randomizedresponse"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sgd"
)

// builtins are the mechanisms that come with this program. They run as its child
// process, over the same protocol as anybody's.
var builtins = map[string]sdk.Mechanism{
	"count":               count.Mechanism{},
	"mean":                mean.Mechanism{},
	"median":              median.Mechanism{},
	"randomized-response": randomizedresponse.Mechanism{},
	"sgd":                 sgd.Mechanism{},
}

func builtinNames() []string {
	names := make([]string, 0, len(builtins))
	for n := range builtins {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// served is the built-in mechanism that a command line asks this process to serve. A
// host waits for it: there is no command line to read, nothing to set up.
func served(args []string) (sdk.Mechanism, bool) {
	if len(args) != 2 || args[0] != serveCommand {
		return nil, false
	}
	m, ok := builtins[args[1]]
	return m, ok
}

// serve serves a built-in mechanism. But for sgd they compute on one core; looking for
// work on the others would take them from the host, which decodes rows meanwhile.
func serve(name string, m sdk.Mechanism) {
	if name != "sgd" {
		runtime.GOMAXPROCS(1)
	}
	sdk.Serve(m)
}

const serveCommand = "__mechanism"

// mechanism is the hidden command that serves one built-in mechanism to a host. It
// gets here only where it is wrong: served answers for the rest.
func (e *environment) mechanism() *cobra.Command {
	return &cobra.Command{
		Use:    serveCommand + " NAME",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return fmt.Errorf("no built-in mechanism %q", args[0])
		},
	}
}
