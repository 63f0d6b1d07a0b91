package author

import (
	"context"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
)

// environment holds all that the commands see of the world.
type environment struct{ *command.Environment }

// Execute runs one command line and returns the exit code. Unless the user's environment sets GOGC, it lets garbage grow
// to four times what is in use: a check of a mechanism makes thousands of small tables, and would spend a third of its
// time on collecting them.
func Execute(ctx context.Context, e *command.Environment, args []string) int {
	if value, _ := e.Getenv("GOGC"); value == "" {
		debug.SetGCPercent(400)
	}
	return e.Execute(ctx, func() *cobra.Command { return Commands(e) }, args)
}

// Commands returns the tree of the commands, as commands of dprelease.
func Commands(of *command.Environment) *cobra.Command {
	e := &environment{of}
	root := &cobra.Command{Use: "dprelease", Short: "The commands of dprelease for those who write jobs and mechanisms"}
	root.AddCommand(e.account(), e.design(), e.init(), e.plan(), e.plugins(), e.Man(nil))
	e.Complete(root, map[string]command.Words{
		"set":       command.VariableNames,
		"delimiter": command.Fixed(",", ";", "|", "tab"),
		"builtin":   func(*job.Job) []string { return command.BuiltinNames() },
	})
	return root
}
