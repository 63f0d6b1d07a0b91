package main

import (
	"context"
	"io"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// jobs is the story of a job, as the commands tell it. With an error, an answer means nothing.
type jobs interface {
	load(path string, getenv func(string) (string, bool), set []string) (*job.Job, error)
	check(ctx context.Context, j *job.Job, o pipeline.Options) error
	look(ctx context.Context, j *job.Job, o pipeline.Options) (answer, bool, error)
	plan(ctx context.Context, j *job.Job, o pipeline.Options) (answer, error)
	run(ctx context.Context, j *job.Job, o pipeline.Options) (answer, error)
}

// answer prints itself for a person and for a program.
type answer interface {
	WriteText(w io.Writer) error
	MarshalJSON() ([]byte, error)
}

// pipelineJobs is package pipeline.
type pipelineJobs struct{}

// load also checks the names of mechanisms, in the same pass: the pipeline does
// not know which are built in.
func (pipelineJobs) load(path string, getenv func(string) (string, bool), set []string) (*job.Job, error) {
	j, err := pipeline.Load(path, getenv, set...)
	problems := problemsOf(err)
	if j == nil || err != nil && problems == nil {
		return nil, err
	}
	if problems = append(problems, j.CheckMechanisms(builtinNames(), builtin.Words())...); len(problems) > 0 {
		// There will be no plan to find these.
		problems = append(problems, pipeline.ParamProblems(j, describeBuiltins())...)
	}
	return j, problems.Sort().Err()
}

func (pipelineJobs) check(ctx context.Context, j *job.Job, o pipeline.Options) error {
	return pipeline.Check(ctx, j, o)
}

// look also says whether a run of the job would fail.
func (pipelineJobs) look(ctx context.Context, j *job.Job, o pipeline.Options) (answer, bool, error) {
	l, err := pipeline.TakeLook(ctx, j, o)
	if err != nil {
		return nil, false, err
	}
	return l, len(l.Failures) > 0, nil
}

func (pipelineJobs) plan(ctx context.Context, j *job.Job, o pipeline.Options) (answer, error) {
	return pipeline.Plan(ctx, j, o)
}

func (pipelineJobs) run(ctx context.Context, j *job.Job, o pipeline.Options) (answer, error) {
	return pipeline.Run(ctx, j, o)
}
