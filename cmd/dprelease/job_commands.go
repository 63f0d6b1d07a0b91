package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/report"
)

// notLookedAt is the note that check prints when it does not look at the table.
const notLookedAt = "the table was not read, so nothing is known of its columns, types, missing values, values outside bounds and " +
	"domains, size, strata, frame, units and groups; check --data checks them, in private"

func (e *environment) check() *cobra.Command {
	var data bool
	var out string
	c := &cobra.Command{
		Use:   "check JOB...",
		Short: "Report every problem of jobs, without reading the data",
		Long: `check reports every problem of a job in one pass, each as
file:line:column: path of the key: what is wrong (what to do). It starts the
plugins that the job names, and does not open the table. Of several jobs all are checked.

With --data it also looks at the table, before anything is spent. What it finds is
private and has no noise: it is printed on a terminal, or written to a file whose name
begins with CONFIDENTIAL (--out). The ledger and later reports say that somebody looked.`,
		Example: `  dprelease check job.yaml
  dprelease check --json monthly.yaml yearly.yaml
  dprelease check --data job.yaml
  dprelease check --data --out CONFIDENTIAL-look.txt job.yaml`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: command.JobFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if out != "" && !data {
				return errors.New("--out: is for --data")
			}
			if !data {
				return e.checkAll(c.Context(), args)
			}
			if len(args) > 1 {
				return errors.New("--data: looks at the table of one job")
			}
			j, err := e.Open(args[0])
			if err != nil {
				return e.Fail(c.Context(), err)
			}
			return e.look(c.Context(), j, out)
		},
	}
	c.Flags().BoolVar(&data, "data", false, "look at the table, in private")
	c.Flags().StringVar(&out, "out", "", "write what --data finds to this file, readable by you alone")
	e.byFlag(c)
	e.SetFlag(c)
	e.OutputFlags(c, "print JSON")
	return c
}

// checkAll checks each job, and fails once where some have problems: with the code of the first.
func (e *environment) checkAll(ctx context.Context, paths []string) error {
	var failed []string
	var first command.Ending
	for _, path := range paths {
		err := e.checkOne(ctx, path)
		switch {
		case err == nil:
			continue
		case errors.As(err, new(command.Failed)): // its answer could not be printed
			return err
		case len(paths) == 1:
			return e.Fail(ctx, err)
		}
		f, problems := command.Explain(ctx, err)
		if len(problems) == 0 {
			problems = job.Problems{{Pos: job.Pos{File: path}, Message: f.Code + ": " + f.Message}}
		}
		e.Problems(problems)
		if failed = append(failed, path); len(failed) == 1 || ctx.Err() != nil {
			first = f
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(failed) == 0 {
		return nil
	}
	e.JobName = ""
	first.Message = "problems in " + strings.Join(failed, ", ")
	return e.FailWith(first, nil)
}

// checkOne checks a job, and prints that it has no problems.
func (e *environment) checkOne(ctx context.Context, path string) error {
	j, err := e.Open(path)
	if err != nil {
		return err
	}
	if err := e.jobs.check(ctx, j, e.Options()); err != nil {
		return err
	}
	var doubts, uncovered []string
	for _, d := range language.Doubts(j) {
		doubts = append(doubts, d.Error())
	}
	if j.Weighted() {
		uncovered = []string{report.NotCovered()}
	}
	return e.Say(struct {
		command.Mark
		Exit       int      `json:"exit"`
		Note       string   `json:"note"`
		Doubts     []string `json:"doubts,omitempty"`
		NotCovered string   `json:"not_covered,omitempty"`
	}{e.Mark("done"), command.ExitDone, notLookedAt, doubts, strings.Join(uncovered, "")}, "%s: no problems found\n%s%s%s\n", path,
		command.EachLine("doubtful: ", doubts), command.EachLine("not covered: ", uncovered), notLookedAt)
}

func (e *environment) run() *cobra.Command {
	var diagnostics, again, revise, create, catchUp bool
	var at, hidden string
	var wait time.Duration
	var told telling
	var retries retrying
	c := &cobra.Command{
		Use:   "run JOB",
		Short: "Make the releases of a job",
		Long: `run plans a job, spends its budget, draws the samples, makes the releases and
writes them, all of them or none. A job that was already released from the same
data is published once more, and nothing is spent.

With --json standard output holds one JSON object a line: the events of the run,
and last {"event":"done",…} or {"event":"failed",…}.`,
		Example: `  dprelease run job.yaml
  dprelease run --json job.yaml
  dprelease run --set month=2026-10 job.yaml
  DATA=/srv/data dprelease run -q job.yaml`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: command.JobFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if e.lockWait <= 0 {
				return errNoWait
			}
			ctx := c.Context()
			j, err := e.Open(args[0])
			if err != nil {
				told.end(ctx, e, nil, err)
				return e.Fail(ctx, err)
			}
			at = cmp.Or(at, j.Output.PublishAt)
			if err := hourFits(at, hidden, retries.most); err != nil {
				return err
			}
			hide, err := e.hide(hidden, j.Output.Dir)
			if err != nil {
				return err
			}
			if at != "" && !e.Quiet && !e.JSON {
				fmt.Fprintf(hide.errw, "nothing of this run is shown before %s\n", at)
			}
			o := e.Options()
			o.PublishAt = at
			o.Diagnostics, o.Again, o.Revise, o.CatchUp, o.Wait = diagnostics, again, revise, catchUp, wait
			o.CreateLedger, o.LockWait = create, e.lockWait
			observer, stop := e.observer(j.Releases)
			if o.Observer, err = told.begin(e, j, observer); err != nil {
				return hide.end(e, err)
			}
			outcome, err := retries.run(ctx, e, j, o)
			stop()
			told.end(ctx, e, outcome, err)
			if err != nil {
				return hide.end(e, e.Fail(ctx, err))
			}
			e.report(outcome)
			return hide.end(e, nil)
		},
	}
	e.OutputFlags(c, "print JSON")
	e.VerboseFlag(c)
	c.Flags().BoolVar(&again, "spend-again", false, "spend again after a run that was cut off between its debit and its releases")
	c.Flags().BoolVar(&revise, "revise", false,
		"publish a revision: a slice that was released holds other data now, and releasing it spends the same again")
	c.Flags().BoolVar(&catchUp, "catch-up", false, "make the earlier steps of a series that are missing, in their order")
	c.Flags().DurationVar(&wait, "wait", 10*time.Minute, "how long to wait for another run of the same job")
	c.Flags().IntVar(&retries.most, "retries", 0, "how often to run again where that costs nothing and may succeed: a failure with retry: yes")
	c.Flags().DurationVar(&retries.wait, "retry-wait", 30*time.Second, "how long to wait before each of --retries")
	c.Flags().StringVar(&at, "publish-at", "", "show nothing before this time of day, such as 06:00: no file, no line, no event, "+
		"not the end of the run; without it output.publish_at")
	c.Flags().StringVar(&hidden, "hide-outcome", "",
		"with an hour to publish at: exit with 0 and print nothing, also where the run fails, and append what happened to this private file")
	c.Flags().BoolVar(&create, "create-ledger", false, "make the ledger that the job names where there is none: a new budget")
	e.lockWaitFlag(c.Flags())
	e.byFlag(c)
	e.SetFlag(c)
	told.flags(c)
	c.Flags().BoolVar(&diagnostics, "diagnostics", false, "also write private facts to a file marked CONFIDENTIAL")
	return c
}

// hourFits refuses the flags that do not go with an hour to publish at, or with none.
func hourFits(at, hidden string, retries int) error {
	if at != "" && retries > 0 {
		return errors.New("--retries: is not for a run that publishes at an hour (--publish-at, output.publish_at): " +
			"when it ends would tell how often it failed")
	}
	if hidden != "" && at == "" {
		return errors.New("--hide-outcome: is for a run that publishes at an hour (--publish-at, output.publish_at): without one its " +
			"end tells when it was ready")
	}
	return nil
}

// report prints what a run did. The releases stand whether or not this can be
// printed, so the exit code stays that of success.
func (e *environment) report(a command.Answer) {
	var err error
	switch {
	case e.JSON:
		err = e.Line(struct {
			command.Mark
			Exit       int            `json:"exit"`
			Unconfined []string       `json:"unconfined,omitempty"`
			Outcome    command.Answer `json:"outcome"`
		}{e.Mark("done"), command.ExitDone, e.Unconfined, a})
	case !e.Quiet:
		err = e.People(e.Out, e.Text(a))
	}
	if err != nil {
		e.Tell(e.Errw, "dprelease: the releases are made, but the summary cannot be written\n")
	}
}
