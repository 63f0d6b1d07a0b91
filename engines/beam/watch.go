package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dprelease/dprelease/internal/run/engine"
)

// looks is the number of looks without progress after which a pipeline counts as stalled.
const looks = 10

// ticker sets the pace of looking. A test has a clock of its own.
var ticker = func(every time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(every)
	return t.C, t.Stop
}

// watched runs a pipeline, and cancels it when nothing more was finished for as long as patience says: a runner may wait for
// ever for a worker that is gone. What a worker finds after that is what the next attempt finds, so it does no harm.
func watched(ctx context.Context, s settings, p *beam.Pipeline, finished func() int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Flink and Spark rename a job, but keep lower-case letters and digits. Dataflow takes no others.
	mark := strings.ToLower(rand.Text())
	defer func(before string) { *jobopts.JobName = before }(*jobopts.JobName)
	*jobopts.JobName = cmp.Or(*jobopts.JobName, "dprelease") + "-" + mark
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
			cancelJob(mark, s.farewell())
			return ctx.Err()
		case <-tick:
			if n := finished(); n > had {
				had, idle = n, 0
			} else if idle++; idle >= looks {
				over := time.After(s.farewell()) // Dataflow's client waits on
				cancelJob(mark, s.farewell())
				cancel()
				select {
				case <-done:
				case <-over:
				}
				return engine.ErrStalled
			}
		}
	}
}

// farewell returns the time that a pipeline that is given up may take to end: patience, and 10 seconds at most.
func (s settings) farewell() time.Duration { return min(s.patience, 10*time.Second) }

// answers asks the job server of a runner that has one what jobs it has. It refuses an endpoint where none answers: the first
// who would notice is a pipeline, after the debit. Prism is made here, and Dataflow has no such server.
func (s settings) answers(ctx context.Context) error {
	const where = "engine.options.endpoint: "
	switch {
	case *jobopts.Endpoint == "" && (s.runner == "prism" || s.runner == "dataflow"):
		return nil
	case *jobopts.Endpoint == "":
		return refusal(where + "is missing: say the address of the job server of " + s.runner + ", such as localhost:8099")
	}
	ctx, cancel := context.WithTimeout(ctx, s.farewell())
	defer cancel()
	client, done, err := jobServer(ctx, s.farewell())
	if err == nil {
		defer done()
		_, err = client.GetJobs(ctx, &jobpb.GetJobsRequest{})
	}
	if code := status.Code(err); err != nil && code != codes.Unimplemented && code != codes.Internal {
		return refusal(where + "no job server of Beam answers there")
	}
	return nil
}

// jobServer speaks with the job server at the endpoint of the job.
func jobServer(ctx context.Context, wait time.Duration) (client jobpb.JobServiceClient, done func(), err error) {
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, wait)
	if err != nil {
		return nil, nil, err
	}
	return jobpb.NewJobServiceClient(conn), func() { conn.Close() }, nil
}

// cancelJob asks the runner to end the pipeline that has a mark in its name, and waits so long at most. Dataflow has no such
// service: its own pages cancel a job.
func cancelJob(mark string, wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if *jobopts.Endpoint == "" {
		return
	}
	client, done, err := jobServer(ctx, wait)
	if err != nil {
		return
	}
	defer done()
	all, err := client.GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil {
		return
	}
	for _, j := range all.GetJobInfo() {
		if strings.Contains(j.GetJobName(), mark) {
			_, _ = client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: j.GetJobId()})
		}
	}
}
