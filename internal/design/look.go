package design

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// described are the built-in mechanisms, by name.
var described = sync.OnceValue(func() map[string]sdk.Description {
	out := map[string]sdk.Description{}
	for _, d := range command.DescribeBuiltins() {
		out[d.Name] = d
	}
	return out
})

// options are those of every verb of the pipeline.
func (s *Session) options() pipeline.Options {
	// several plans at once: none is the sole parent
	return pipeline.Options{Mechanisms: s.Mechanisms, Version: s.Version, Builtins: command.DescribeBuiltins()}
}

// read reads the text of a job as the command check does.
func (s *Session) read(text string) (*job.Job, error) {
	return command.Named(pipeline.Parse(s.Path, []byte(text), s.Getenv, s.Set...))
}

// found holds the answers of check and plan about a job.
type found struct {
	job      *job.Job
	problems job.Problems
	report   *report.Report // nil where the job has no plan
	briefs   map[string]report.Brief
}

// look checks and plans a job. Nothing is read but what check and plan read: no table, and no row.
func (s *Session) look(ctx context.Context, text string) found {
	var f found
	j, err := s.read(text)
	if f.job = j; err == nil {
		err = run.CheckLookups(j) // and all else that check finds, Plan finds, too
	}
	if err != nil {
		f.problems = problemsOf(err)
		return f
	}
	p, err := pipeline.Plan(ctx, j, s.options())
	if p != nil && len(p.Report().Releases) > 0 { // also where the account does not allow it
		r := p.Report()
		f.report, f.briefs = &r, map[string]report.Brief{}
		for _, b := range report.Briefs(&r, nil) {
			f.briefs[b.Release] = b
		}
	}
	f.problems = problemsOf(err)
	return f
}

// problemsOf are the problems that an error holds. Only errors of known kinds may speak (P20).
func problemsOf(err error) job.Problems {
	var failed *failure.Failure
	switch problems := command.ProblemsOf(err); {
	case len(problems) > 0 || err == nil || errors.Is(err, context.Canceled):
		return problems
	case errors.As(err, &failed):
		return job.Problems{{Message: failed.Message}}
	}
	return job.Problems{{Message: fmt.Sprintf("a bug: an unexpected error of type %T; please report it", err)}}
}
