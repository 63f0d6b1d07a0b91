package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan/planner"
)

func (e *environment) plan() *cobra.Command {
	var s study
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
		Args: cobra.ExactArgs(1), ValidArgsFunction: jobFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c.Flags().Changed); err != nil {
				return err
			}
			return e.job(c.Context(), args[0], func(ctx context.Context, j *job.Job) error {
				if s.kind() != "" {
					return e.study(ctx, j, &s)
				}
				p, err := e.jobs.plan(ctx, j, e.options())
				if err != nil {
					return e.fail(ctx, err)
				}
				return e.print(p)
			})
		},
	}
	e.setFlag(c)
	e.outputFlags(c, "print JSON")
	e.verboseFlag(c)
	f := c.Flags()
	f.StringVar(&s.sweep, "sweep", "", "plan the release along rate, n or epsilon")
	f.StringVar(&s.solve, "solve", "", "find what reaches an accuracy, such as 'rse<2%', 'moe<1%', 'se<5', 'noise<1' or 'half-kept<50'")
	f.StringVar(&s.over, "over", "epsilon", "with --solve: what to find, epsilon, rho, n, rate or budget")
	f.BoolVar(&s.compare, "compare", false, "compare designs at equal (ε, δ)")
	f.StringVar(&s.release, "release", "", "the release to study (default: the first one from a sample)")
	f.IntVar(&s.span.Points, "points", 0, "with --sweep: how many values (default 12)")
	f.Float64SliceVar(&s.span.Values, "values", nil, "with --sweep: the values themselves")
	f.IntVar(&s.repetitions, "repetitions", 400, "of each simulation")
	f.StringVar(&s.page, "html", "", "also write the answer as an HTML page")
	return c
}

// check finds flags that do not go together.
func (s *study) check(given func(string) bool) error {
	n := 0
	for _, on := range []bool{s.sweep != "", s.solve != "", s.compare} {
		if on {
			n++
		}
	}
	if n > 1 {
		return errors.New("give one of --sweep, --solve and --compare")
	}
	needs := map[string]string{"points": "sweep", "values": "sweep", "over": "solve"}
	for flag, of := range needs {
		if given(flag) && s.kind() != of {
			return fmt.Errorf("--%s goes with --%s", flag, of)
		}
	}
	for _, flag := range []string{"release", "repetitions", "html"} {
		if given(flag) && n == 0 {
			return fmt.Errorf("--%s goes with --sweep, --solve or --compare", flag)
		}
	}
	if err := s.question(); err != nil {
		return err
	}
	if s.repetitions < 8 || s.repetitions > 1_000_000 {
		return errors.New("--repetitions must lie between 8 and 1000000")
	}
	return nil
}

// question finds what is no question at all.
func (s *study) question() error {
	switch s.kind() {
	case "sweep":
		_, err := planner.ParseAxis(s.sweep)
		return err
	case "solve":
		if _, err := planner.ParseGoal(s.solve); err != nil {
			return err
		}
		return planner.ParseOver(s.over)
	}
	return nil
}
