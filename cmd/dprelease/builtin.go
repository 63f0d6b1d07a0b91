package main

import (
	"fmt"
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

// mechanism is the hidden command that serves one built-in mechanism to a host.
func (e *environment) mechanism() *cobra.Command {
	return &cobra.Command{
		Use:    "__mechanism NAME",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, ok := builtins[args[0]]
			if !ok {
				return fmt.Errorf("no built-in mechanism %q", args[0])
			}
			sdk.Serve(m)
			return nil
		},
	}
}
