package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"github.com/dprelease/dprelease/internal/run/engine"
)

// looks is the number of looks without progress after which a pipeline counts as stalled.
const looks = 10

// ticker says when to look. A test has a clock of its own.
var ticker = func(every time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(every)
	return t.C, t.Stop
}

// watched runs a pipeline, and cancels it when nothing more was finished for as long as patience says: a runner may wait for
// ever for a worker that is gone. What a worker finds after that is what the next attempt finds, so it does no harm.
func watched(ctx context.Context, s settings, p *beam.Pipeline, finished func() int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	name := *jobopts.JobName
	if name == "" {
		name = "dprelease-" + rand.Text()
		*jobopts.JobName = name
		defer func() { *jobopts.JobName = "" }()
	}
	done := make(chan error, 1)
	go func() {
		_, err := beam.Run(ctx, s.runner, p)
		done <- err
	}()
	tick, stop := ticker(s.patience / looks)
	defer stop()
	had, idle := finished(), 0
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			cancelJob(name)
			return ctx.Err()
		case <-tick:
			if n := finished(); n > had {
				had, idle = n, 0
			} else if idle++; idle >= looks {
				cancelJob(name)
				cancel()
				select {
				case <-done:
				case <-time.After(10 * time.Second): // Dataflow's client waits on
				}
				return engine.ErrStalled
			}
		}
	}
}

// cancelJob asks the runner to end a pipeline. Dataflow has no such service: its own pages cancel a job.
func cancelJob(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if *jobopts.Endpoint == "" {
		return
	}
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, time.Minute)
	if err != nil {
		return
	}
	defer conn.Close()
	client := jobpb.NewJobServiceClient(conn)
	all, err := client.GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil {
		return
	}
	for _, j := range all.GetJobInfo() {
		if j.GetJobName() == name {
			_, _ = client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: j.GetJobId()})
		}
	}
}
