package main

import (
	"context"
	"time"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// retrying runs a job again where that costs nothing and may succeed.
type retrying struct {
	most int
	wait time.Duration
}

// run runs a job until it succeeds, fails in a way that another run does not mend, or has failed too often.
func (r *retrying) run(ctx context.Context, e *environment, once func() (command.Answer, error)) (command.Answer, error) {
	for try := 1; ; try++ {
		answer, err := once()
		if err == nil || try > r.most {
			return answer, err
		}
		f, _ := command.Explain(ctx, err)
		if f.Exit != failure.ExitRetry {
			return answer, err
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
