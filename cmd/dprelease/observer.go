package main

import (
	"sync"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
)

// observer is told what happens during a run: JSON lines for programs, bars on a
// terminal, nothing otherwise. stop must be called when the run has ended.
func (e *environment) observer(releases []job.Release) (o pipeline.Observer, stop func()) {
	switch {
	case e.JSON:
		return &lines{e: e}, func() {}
	case e.Quiet || !command.IsTerminal(e.Errw):
		return nil, func() {}
	}
	b := newBars(e.Errw, releases)
	return b, b.stop
}

// public takes out of an event what must not leave: without a public total the
// number of rows is secret (P19).
func public(ev pipeline.Progress) pipeline.Progress {
	if ev.Total <= 0 {
		ev.Done, ev.Total = 0, 0
	}
	return ev
}

// lines prints one JSON object for each event. Once a line could not be printed it
// prints no more; the run goes on.
type lines struct {
	e      *environment
	mu     sync.Mutex
	broken bool
}

// step is an event whose mark stands before it.
type step struct{ pipeline.Progress }

// Observe prints the event.
func (l *lines) Observe(ev pipeline.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.broken {
		l.broken = l.e.Line(struct {
			command.Mark
			step
		}{l.e.Mark(ev.Kind), step{public(ev)}}) != nil
	}
}
