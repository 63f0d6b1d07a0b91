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
			if err := s.check(c.Flags().Changed); err != nil {
				return err
			}
			j, err := e.Open(args[0])
			if err != nil {
				return e.Fail(c.Context(), err)
			}
			return e.study(c.Context(), j, &s)
		},
	}
	e.SetFlag(c)
	e.OutputFlags(c, "print JSON")
	e.VerboseFlag(c)
	s.Flags(c.Flags())
	return c
}

// kind names the question; "" stands for none.
func (s *study) kind() string {
	switch {
	case s.Sweep != "":
		return "sweep"
	case s.Solve != "":
		return "solve"
	case s.Compare:
		return "compare"
	}
	return ""
}

// check finds flags that do not go together.
func (s *study) check(given func(string) bool) error {
	n := 0
	for _, on := range []bool{s.Sweep != "", s.Solve != "", s.Compare} {
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
	if s.Repetitions < 8 || s.Repetitions > 1_000_000 {
		return errors.New("--repetitions must lie between 8 and 1000000")
	}
	return nil
}

// question finds what is no question at all.
func (s *study) question() error {
	switch s.kind() {
	case "sweep":
		_, err := planner.ParseAxis(s.Sweep)
		return err
	case "solve":
		if _, err := planner.ParseGoal(s.Solve); err != nil {
			return err
		}
		return planner.ParseOver(s.Over)
	}
	return nil
}

// result is an answer of the planner that also has a page.
type result interface {
	command.Answer
	HTML() ([]byte, error)
}

// study asks the planner. Nothing of it opens the table.
func (e *environment) study(ctx context.Context, j *job.Job, s *study) error {
	progress, stop := e.progress()
	price, done := pipeline.Pricer(ctx, j, e.Options())
	defer done()
	settings := planner.Settings{
		Price: price, Mechanisms: builtin.Mechanisms(), Release: s.Release, Repetitions: s.Repetitions, Seed: 1, Progress: progress,
	}
	r, err := s.ask(ctx, j, settings)
	stop()
	if err != nil {
		return e.studyFailed(ctx, err)
	}
	if err := s.files(r); err != nil {
		return e.FailWith(command.Unspent(command.ExitBug, "OUTPUT", err.Error()), nil)
	}
	return e.Print(r)
}

// ask returns what the planner answers. With an error, the answer means nothing.
func (s *study) ask(ctx context.Context, j *job.Job, settings planner.Settings) (result, error) {
	switch s.kind() {
	case "sweep":
		axis, err := planner.ParseAxis(s.Sweep)
		if err != nil {
			return nil, err
		}
		return planner.RunSweep(ctx, j, axis, planner.Range{Points: s.Points, Values: s.Values}, settings)
	case "solve":
		return planner.Solve(ctx, j, s.Solve, s.Over, settings)
	}
	return planner.Compare(ctx, j, 0, settings)
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

// files writes the page, whole or not at all.
func (s *study) files(r result) error {
	if s.Page == "" {
		return nil
	}
	b, err := r.HTML()
	if err != nil {
		return err
	}
	return writeWhole(s.Page, b)
}

// writeWhole writes a file whole or not at all.
func writeWhole(path string, b []byte) error {
	if err := whole.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("%s cannot be written", path)
	}
	return nil
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
