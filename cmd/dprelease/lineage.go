package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/command/lineage"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// telling reports a run to other programs.
type telling struct {
	lineage, metrics string   // flags
	job              *job.Job // nil: it cannot be read
	sender           *lineage.Sender
	next             pipeline.Observer
	debited          time.Time
}

func (t *telling) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.lineage, "lineage", "",
		"send OpenLineage events to this address, or append them to this file; without it OPENLINEAGE_URL says where")
	c.Flags().StringVar(&t.metrics, "metrics", "", "write what was spent, or that the run failed, to this file, for Prometheus")
}

// begin reports that the run of a job began.
func (t *telling) begin(e *environment, j *job.Job, next pipeline.Observer) (pipeline.Observer, error) {
	var err error
	if t.sender, err = lineage.New(t.lineage, e.Getenv, e.About().Version); err != nil {
		return nil, err
	}
	t.job, t.next, e.RunID = j, next, lineage.RunID(j)
	t.sender.Start(j)
	return t, nil
}

// Observe hands an event on. A draw begins when the budget is spent.
func (t *telling) Observe(ev pipeline.Progress) {
	if ev.Kind == "draw" && t.debited.IsZero() {
		t.debited = time.Now()
		t.sender.Debited()
	}
	if t.next != nil {
		t.next.Observe(ev)
	}
}

// end reports how the run ended. What cannot be told is noted, and changes nothing.
func (t *telling) end(ctx context.Context, e *environment, a command.Answer, err error) {
	write := func() error { return nil }
	if err != nil {
		f, _ := command.Explain(ctx, err)
		before := f.Spent == failure.SpentNone && t.debited.IsZero()
		t.sender.Fail(f.Code, string(f.Spent), before)
		if !before {
			f.Code = ""
		}
		write = func() error { return lineage.WriteFailed(t.metrics, t.job, f.Code, t.debited) }
	} else if done, ok := a.(*pipeline.Outcome); ok {
		t.sender.Complete(done.Dir, &done.Report)
		write = func() error { return lineage.WriteMetrics(t.metrics, &done.Report, t.debited) }
	}
	if t.metrics != "" && write() != nil {
		e.Tell(e.Errw, "note: the metrics could not be written\n")
	}
	if err := t.sender.Close(); err != nil {
		e.Tell(e.Errw, "note: not all lineage events were sent: %v\n", err)
	}
}
