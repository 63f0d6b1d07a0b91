package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/pipeline"
)

// pagesAsked is what report is asked for.
type pagesAsked struct {
	compare bool
	html    string
}

func (e *environment) pages() *cobra.Command {
	var asked pagesAsked
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run again, or compare two runs",
		Long: `report reads report.json and the releases in the output folder of a run, and
writes report.html and report-public.html again. It touches neither the private
table nor the ledger and spends nothing. A file whose digest is not the one in
report.json is refused.

With --compare it takes two folders, and says what changed in the job and in the public
facts about the data, which results differ by more than noise explains, and what
both runs cost together. --html writes that as a page, too.`,
		Example: `  dprelease report out
  dprelease report --json out
  dprelease report --compare out-2025 out-2026 --html compared.html`,
		Args: func(c *cobra.Command, args []string) error {
			n := 1
			if asked.compare {
				n = 2
			}
			return cobra.ExactArgs(n)(c, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			if asked.html != "" && !asked.compare {
				return errors.New("--html goes with --compare")
			}
			if asked.compare {
				return e.compareRuns(c.Context(), args[0], args[1], asked.html)
			}
			return e.writePages(c.Context(), args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&asked.compare, "compare", false, "say what differs between two runs, and what both cost together")
	f.StringVar(&asked.html, "html", "", "with --compare: also write it as a page")
	e.outputFlags(c, "print the outcome as one JSON object")
	return c
}

func (e *environment) writePages(ctx context.Context, dir string) error {
	if err := pipeline.WritePages(ctx, dir); err != nil {
		return e.fail(ctx, err)
	}
	page, public := filepath.Join(dir, "report.html"), filepath.Join(dir, "report-public.html")
	return e.say(map[string]any{"event": "done", "exit": exitDone, "report": page, "public": public}, "%s\n%s\n", page, public)
}

func (e *environment) compareRuns(ctx context.Context, a, b, page string) error {
	c, err := pipeline.Compare(ctx, a, b)
	if err != nil {
		return e.fail(ctx, err)
	}
	if page != "" {
		var text strings.Builder
		if err := c.WriteHTML(&text); err != nil {
			return e.fail(ctx, err)
		}
		if err := writeOut(page, text.String(), 0o644); err != nil {
			return e.fail(ctx, err)
		}
	}
	return e.print(c)
}

// writeOut writes a file whole, or says that it cannot.
func writeOut(path, text string, mode os.FileMode) error {
	if err := renameio.WriteFile(path, []byte(text), mode); err != nil {
		return &pipeline.Failure{Exit: pipeline.ExitUsage, Code: "OUTPUT_UNWRITABLE", Message: path + " cannot be written"}
	}
	return nil
}
