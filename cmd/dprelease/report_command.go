package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/say/publication"
	"github.com/dprelease/dprelease/report"
)

func (e *environment) pages() *cobra.Command {
	var words string
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run again",
		Long: `report reads report.json and the releases in the output folder of a run, and
writes report.html and report-public.html again. It touches neither the private
table nor the ledger. A file with another digest than in report.json is refused.`,
		Example: `  dprelease report out
  dprelease report out --words job.yaml`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error { return e.writePages(c.Context(), args[0], words) },
	}
	c.Flags().StringVar(&words, "words", "",
		"write report-anew.html: the same figures with the publication of this YAML file, such as the job")
	_ = c.MarkFlagFilename("words", "yaml", "yml")
	e.OutputFlags(c, "print JSON")
	return c
}

func (e *environment) writePages(ctx context.Context, dir, words string) error {
	var p *report.Publication
	if words != "" {
		var wrong *stored.Error
		read, err := publication.Read(words)
		if errors.As(err, &wrong) {
			err = failure.New(failure.ExitInvalidJob, wrong.Code, "%s", wrong.Message)
		}
		if err != nil {
			return e.Fail(ctx, err)
		}
		p = read
	}
	pages, err := output.WritePages(ctx, dir, p)
	if err != nil {
		return e.Fail(ctx, err)
	}
	return e.Say(map[string]any{"event": "done", "exit": command.ExitDone, "report": pages[0], "public": pages[1]}, "%s\n%s\n",
		pages[0], pages[1])
}
