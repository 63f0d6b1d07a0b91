package main

import (
	"context"
	"time"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// retrying runs a job again where that costs nothing and may succeed.
type retrying struct {
	most int
	wait time.Duration
}

// run runs a job until it succeeds, fails in a way that another run does not mend, or has failed too often. What a person asked to
// spend again is spent once: behind a failure that spent, another run publishes what is stored.
func (r *retrying) run(ctx context.Context, e *environment, j *job.Job, o pipeline.Options) (command.Answer, error) {
	for try := 1; ; try++ {
		answer, err := e.jobs.run(ctx, j, o)
		if err == nil || try > r.most {
			return answer, err
		}
		f, _ := command.Explain(ctx, err)
		if f.Exit != failure.ExitRetry {
			return answer, err
		}
		if f.Spent != failure.SpentNone {
			o.Again, o.Revise = false, false
		}
		if e.JSON {
			e.Line(struct {
				command.Mark
				Code    string  `json:"code"`
				Message string  `json:"message"`
				Try     int     `json:"try"`
				Of      int     `json:"of"`
				Wait    float64 `json:"wait_seconds"`
			}{e.Mark("retry"), f.Code, f.Message, try, r.most, r.wait.Seconds()})
		} else {
			e.Tell(e.Errw, "dprelease: %s: %s\nnote: run again in %v (%d of %d)\n", f.Code, f.Message, r.wait, try, r.most)
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(r.wait):
		}
	}
}
