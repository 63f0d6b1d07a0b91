package main

import (
	"context"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
)

// jobs is the story of a job, as the commands tell it. With an error, an answer means nothing.
type jobs interface {
	load(path string, getenv func(string) (string, bool), set []string) (*job.Job, error)
	check(ctx context.Context, j *job.Job, o pipeline.Options) error
	look(ctx context.Context, j *job.Job, o pipeline.Options) (command.Answer, bool, error)
	plan(ctx context.Context, j *job.Job, o pipeline.Options) (command.Answer, error)
	run(ctx context.Context, j *job.Job, o pipeline.Options) (command.Answer, error)
}

// pipelineJobs is package pipeline.
type pipelineJobs struct{}

func (pipelineJobs) load(path string, getenv func(string) (string, bool), set []string) (*job.Job, error) {
	return command.Load(path, getenv, set)
}

func (pipelineJobs) check(ctx context.Context, j *job.Job, o pipeline.Options) error {
	return pipeline.Check(ctx, j, o)
}

// look also says whether a run of the job would fail.
func (pipelineJobs) look(ctx context.Context, j *job.Job, o pipeline.Options) (command.Answer, bool, error) {
	l, err := pipeline.TakeLook(ctx, j, o)
	if err != nil {
		return nil, false, err
	}
	return l, len(l.Failures) > 0, nil
}

func (pipelineJobs) plan(ctx context.Context, j *job.Job, o pipeline.Options) (command.Answer, error) {
	p, err := pipeline.Plan(ctx, j, o)
	if p == nil { // not an answer that is nil
		return nil, err
	}
	return p, err
}

func (pipelineJobs) run(ctx context.Context, j *job.Job, o pipeline.Options) (command.Answer, error) {
	return pipeline.Run(ctx, j, o)
}
