package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/internal/whole"
	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/pipeline"
)

// pagesAsked is what report is asked for.
type pagesAsked struct {
	compare, registry, nist, attest bool
	html, words                     string
}

// check finds flags that do not go together.
func (a *pagesAsked) check() error {
	n := 0
	for _, on := range []bool{a.compare, a.registry, a.nist, a.attest} {
		if on {
			n++
		}
	}
	switch {
	case n > 1:
		return errors.New("give one of --compare, --registry, --nist and --attest")
	case a.html != "" && !a.compare:
		return errors.New("--html goes with --compare")
	case a.words != "" && !a.registry:
		return errors.New("--job goes with --registry")
	}
	return nil
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
both runs cost together. --html writes that as a page, too.

The other flags write what others ask of a publication into the folder, from the report
alone. --registry writes an entry for the public registry of deployments, and says
which tier it reaches and which fields only a person can fill, in publication. --nist
writes hazards.html: the hazards of NIST SP 800-226, with a verdict and evidence for
each. --attest writes attestation.json: an in-toto statement about the released files, which
a person signs.`,
		Example: `  dprelease report out
  dprelease report --json out
  dprelease report --compare out-2025 out-2026 --html compared.html
  dprelease report --registry out --job job.yaml
  dprelease report --nist out
  dprelease report --attest out`,
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
			if err := asked.check(); err != nil {
				return err
			}
			switch {
			case asked.compare:
				return e.compareRuns(c.Context(), args[0], args[1], asked.html)
			case asked.registry:
				return e.registry(c.Context(), args[0], asked.words)
			case asked.nist:
				return e.hazards(c.Context(), args[0])
			case asked.attest:
				path, err := pipeline.WriteAttestation(c.Context(), args[0])
				if err != nil {
					return e.fail(c.Context(), err)
				}
				return e.say(map[string]any{"event": "done", "exit": exitDone, "statement": path}, "%s\n", path)
			}
			return e.writePages(c.Context(), args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&asked.compare, "compare", false, "say what differs between two runs, and what both cost together")
	f.StringVar(&asked.html, "html", "", "with --compare: also write it as a page")
	f.BoolVar(&asked.registry, "registry", false, "write an entry for the public registry of deployments")
	f.StringVar(&asked.words, "job", "", "with --registry: take the words of publication from this job, not from the run")
	f.BoolVar(&asked.nist, "nist", false, "write the hazards of NIST SP 800-226 with a verdict on each")
	f.BoolVar(&asked.attest, "attest", false, "write an in-toto statement about the released files, to be signed")
	e.setFlag(c)
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

// registry writes the entry, and says what a person could add.
func (e *environment) registry(ctx context.Context, dir, words string) error {
	var j *job.Job
	if words != "" {
		var err error
		if j, err = e.jobs.load(words, e.getenv, e.set); err != nil {
			return e.fail(ctx, err)
		}
	}
	path, entry, err := pipeline.WriteRegistry(ctx, dir, j)
	if err != nil {
		return e.fail(ctx, err)
	}
	text := fmt.Sprintf("%s\ntier %d of 3\n", path, entry.Tier)
	for _, m := range entry.Missing {
		text += fmt.Sprintf("tier %d lacks %s: only a person knows; publication: %s\n", m.Tier, m.Field, m.Key)
	}
	if entry.Dated {
		text += "publication_date is the day of the file report.json; publication: published says another\n"
	}
	return e.say(map[string]any{"event": "done", "exit": exitDone, "entry": path, "tier": entry.Tier, "missing": entry.Missing}, "%s", text)
}

// hazards writes the page of the hazards, and prints their verdicts.
func (e *environment) hazards(ctx context.Context, dir string) error {
	path, all, err := pipeline.WriteNIST(ctx, dir)
	if err != nil {
		return e.fail(ctx, err)
	}
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, h := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", h.Number, h.Verdict, h.Hazard)
	}
	t.Flush()
	return e.say(map[string]any{"event": "done", "exit": exitDone, "page": path, "hazards": all}, "%s%s\n", text.String(), path)
}

// writeOut writes a file whole, or says that it cannot.
func writeOut(path, text string, mode os.FileMode) error {
	if err := whole.WriteFile(path, []byte(text), mode); err != nil {
		return &pipeline.Failure{Exit: pipeline.ExitUsage, Code: "OUTPUT_UNWRITABLE", Message: path + " cannot be written"}
	}
	return nil
}
