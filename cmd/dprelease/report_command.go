package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/run/output"
)

func (e *environment) pages() *cobra.Command {
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run again",
		Long: `report reads report.json and the releases in the output folder of a run, and
writes report.html and report-public.html again. It touches neither the private
table nor the ledger. A file with another digest than in report.json is refused.`,
		Example: `  dprelease report out
  dprelease report --json out`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error { return e.writePages(c.Context(), args[0]) },
	}
	e.OutputFlags(c, "print JSON")
	return c
}

func (e *environment) writePages(ctx context.Context, dir string) error {
	if err := output.WritePages(ctx, dir); err != nil {
		return e.Fail(ctx, err)
	}
	page, public := filepath.Join(dir, "report.html"), filepath.Join(dir, "report-public.html")
	return e.Say(map[string]any{"event": "done", "exit": command.ExitDone, "report": page, "public": public}, "%s\n%s\n", page, public)
}
