package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
)

func (e *environment) plan() *cobra.Command {
	var s command.Study
	var asked []string // the flags of a study
	c := &cobra.Command{
		Use:   "plan JOB",
		Short: "Say what a job would cost and how exact it would be, without reading the data",
		Long: `plan prints every draw, event and guarantee of a job, the expected error where it is
public, and whether sampling is worth it. It never opens the table.

--sweep plans one release at many rates, sample sizes or epsilons, and says whether sampling
helps. --solve finds the smallest epsilon, rho, sample (n, rate) or budget (--over) that
reaches an accuracy, and recommends a design: rse (relative standard error), moe (margin of
error at 95 %), se or rmse (the same), noise (the noise alone, at 95 %), or half-kept (the
number of units with which a key is kept one time in two). --compare puts designs side by
side at equal (ε, δ). All of them use what the job assumes about its columns (assume).`,
		Example: `  dprelease plan job.yaml
  dprelease plan --json job.yaml | jq .guarantee
  dprelease plan job.yaml --sweep rate --html rate.html
  dprelease plan job.yaml --solve 'rse<2%'
  dprelease plan job.yaml --solve 'moe<1%' --over n
  dprelease plan job.yaml --compare --html designs.html`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: command.JobFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if slices.ContainsFunc(asked, c.Flags().Changed) {
				return e.HandOver(c.Context(), designer, e.Args())
			}
			ctx := c.Context()
			j, err := e.Open(args[0])
			if err != nil {
				return e.Fail(ctx, err)
			}
			p, err := e.jobs.plan(ctx, j, e.Options())
			if err == nil {
				return e.Print(p)
			}
			if p != nil && !e.JSON { // its account does not allow it, and its figures tell what to change
				if shown := e.Print(p); shown != nil {
					return shown
				}
			}
			return e.Fail(ctx, err)
		},
	}
	e.SetFlag(c)
	e.OutputFlags(c, "print JSON")
	e.VerboseFlag(c)
	asked = s.Flags(c.Flags())
	return c
}
