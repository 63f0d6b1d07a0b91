package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
)

// environment holds all that the commands see of the world.
type environment struct {
	*command.Environment
	jobs jobs

	lockWait time.Duration // for a ledger that others keep locked
}

// execute runs one command line and returns the exit code.
func (e *environment) execute(ctx context.Context, args []string) int {
	e.Load = e.jobs.load
	return e.Execute(ctx, e.root, args)
}

func (e *environment) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "dprelease",
		Short: "Differentially private releases from Parquet, Arrow and CSV tables",
		Long: `dprelease reads a job: a table, what is publicly known about it, samples to draw,
and releases to make from them. It prices the job without touching the data,
draws the samples, runs mechanisms in confined processes, adds the noise
itself, and writes the releases with a report of what they cost in privacy.`,
		Example: `  dprelease init t.csv -o job.yaml  a first job, from the names of a table's columns
  dprelease design t.csv            a job on a page in the browser, with its price and error
  dprelease check job.yaml          what is wrong with a job
  dprelease plan job.yaml           what it would cost, without reading the data
  dprelease run job.yaml            make the releases
  dprelease run --json job.yaml     one JSON line for each event, for schedulers
  dprelease ledger show job.yaml    what is left of the budget, and who spent what
  dprelease schema > job.json       completion in editors
  dprelease account 'relation: add-remove
  event: {gaussian: {sigma: 2}}
  query: {delta: 1e-6}'`,
	}
	root.AddCommand(e.run(), e.check(), e.plan(), e.pages(), e.ledger(), e.schema(), e.Version(), e.Man(&designer))
	root.AddCommand(e.companions()...)
	e.Complete(root, offered)
	return root
}
