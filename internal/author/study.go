package author

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// study is one question to the planner.
type study struct{ command.Study }

func (e *environment) plan() *cobra.Command {
	var s study
	c := &cobra.Command{
		Use:    "plan JOB",
		Short:  "Ask the planner about a job",
		Hidden: true, // dprelease plan describes it
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ask, err := s.check(c.Flags().Changed)
			if err != nil {
				return err
			}
			j, err := e.Open(args[0])
			if err != nil {
				return e.Fail(c.Context(), err)
			}
			return e.study(c.Context(), j, &s, ask)
		},
	}
	e.SetFlag(c)
	e.OutputFlags(c, "print JSON")
	e.VerboseFlag(c)
	s.Flags(c.Flags())
	return c
}

// question returns the kind of the question and what asks it. With an error it is no question at all.
func (s *study) question() (kind string, ask asking, err error) {
	switch {
	case s.Sweep != "":
		axis, err := planner.ParseAxis(s.Sweep)
		return "sweep", func(ctx context.Context, j *job.Job, o planner.Settings) (result, error) {
			return planner.RunSweep(ctx, j, axis, planner.Range{Points: s.Points, Values: s.Values}, o)
		}, err
	case s.Solve != "":
		if _, err = planner.ParseGoal(s.Solve); err == nil {
			err = planner.ParseOver(s.Over)
		}
		return "solve", func(ctx context.Context, j *job.Job, o planner.Settings) (result, error) {
			return planner.Solve(ctx, j, s.Solve, s.Over, o)
		}, err
	}
	return "compare", func(ctx context.Context, j *job.Job, o planner.Settings) (result, error) {
		return planner.Compare(ctx, j, 0, o)
	}, nil
}

// asking asks the planner. With an error, the answer means nothing.
type asking func(context.Context, *job.Job, planner.Settings) (result, error)

// check returns what asks the question of the flags, or finds flags that do not go together.
func (s *study) check(given func(string) bool) (asking, error) {
	n := 0
	for _, on := range []bool{s.Sweep != "", s.Solve != "", s.Compare} {
		if on {
			n++
		}
	}
	if n > 1 {
		return nil, errors.New("give one of --sweep, --solve and --compare")
	}
	kind, ask, err := s.question()
	for flag, of := range map[string]string{"points": "sweep", "values": "sweep", "over": "solve"} {
		if given(flag) && kind != of {
			return nil, fmt.Errorf("--%s goes with --%s", flag, of)
		}
	}
	for _, flag := range []string{"release", "repetitions", "html"} {
		if given(flag) && n == 0 {
			return nil, fmt.Errorf("--%s goes with --sweep, --solve or --compare", flag)
		}
	}
	if err == nil && (s.Repetitions < 8 || s.Repetitions > 1_000_000) {
		err = errors.New("--repetitions must lie between 8 and 1000000")
	}
	return ask, err
}

// result is an answer of the planner that also has a page.
type result interface {
	command.Answer
	HTML() ([]byte, error)
}

// study asks the planner. Nothing of it opens the table.
func (e *environment) study(ctx context.Context, j *job.Job, s *study, ask asking) error {
	progress, stop := e.progress()
	price, done := pipeline.Pricer(ctx, j, e.Options())
	defer done()
	settings := planner.Settings{
		Price: price, Mechanisms: builtin.Mechanisms(), Release: s.Release, Repetitions: s.Repetitions, Seed: 1, Progress: progress,
	}
	r, err := ask(ctx, j, settings)
	stop()
	if err != nil {
		return e.studyFailed(ctx, err)
	}
	if s.Page != "" {
		var page []byte
		if page, err = r.HTML(); err == nil && whole.WriteFile(s.Page, page, 0o644) != nil {
			err = fmt.Errorf("%s cannot be written", s.Page)
		}
	}
	if err != nil {
		return e.FailWith(command.Unspent(command.ExitBug, "OUTPUT", err.Error()), nil)
	}
	return e.Print(r)
}

// studyFailed tells a job that is wrong from a question that has no answer.
func (e *environment) studyFailed(ctx context.Context, err error) error {
	var problems job.Problems
	var known *failure.Failure
	if ctx.Err() != nil || errors.As(err, &problems) || errors.As(err, &known) {
		return e.Fail(ctx, err)
	}
	return e.Fail(ctx, &failure.Failure{Exit: failure.ExitInvalidJob, Code: "PLAN_REFUSED", Message: err.Error()})
}

// progress is a bar on a terminal, and nothing elsewhere.
func (e *environment) progress() (func(done, total int), func()) {
	if e.JSON || e.Quiet || !command.IsTerminal(e.Errw) {
		return nil, func() {}
	}
	var b command.Screen
	var rows, of int64
	b.Show(e.Errw, func() []string {
		if of == 0 || rows >= of {
			return nil
		}
		return []string{fmt.Sprintf("planning %s %d %%", command.Bar(rows, of), 100*rows/of)}
	})
	return func(done, total int) {
			b.Lock()
			defer b.Unlock()
			rows, of = int64(done), int64(total)
		}, func() {
			b.Lock()
			of = 0
			b.Unlock()
			b.Stop()
		}
}
