package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/dprelease/dprelease/pipeline"
)

// observer is told what happens during a run: JSON lines for programs, bars on a
// terminal, nothing otherwise. stop must be called when the run has ended.
func (e *environment) observer(releases int) (o pipeline.Observer, stop func()) {
	switch {
	case e.json:
		return &lines{e: e}, func() {}
	case e.quiet || !isTerminal(e.errw):
		return nil, func() {}
	}
	b := newBars(e.errw, releases)
	return b, b.stop
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// public takes out of an event what must not leave: without a public total the
// number of rows is secret (P19).
func public(ev pipeline.Event) pipeline.Event {
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

// Observe prints the event.
func (l *lines) Observe(ev pipeline.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.broken {
		l.broken = l.e.line(public(ev)) != nil
	}
}

// bars shows how much of the current draw is read and how many releases are
// done: two bars, however large the job.
type bars struct {
	progress *mpb.Progress
	mu       sync.Mutex
	total    int          // releases
	releases *mpb.Bar     // nil before the first event
	draw     *mpb.Bar     // nil before the first draw
	making   atomic.Value // the release that is being made
}

func newBars(w io.Writer, releases int) *bars {
	return &bars{total: releases,
		progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(150*time.Millisecond))}
}

// begin shows the releases, once the plan stands: a job that is refused shows no
// bar.
func (b *bars) begin() {
	if b.releases != nil {
		return
	}
	b.releases = b.progress.New(int64(b.total), mpb.BarStyle(), mpb.BarPriority(1),
		mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit(" %d of %d"), decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO), decor.Any(b.doing)))
}

// Observe moves the bar that the event is about.
func (b *bars) Observe(ev pipeline.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
	switch ev = public(ev); ev.Kind {
	case "draw":
		b.endDraw()
		b.draw = b.progress.New(0, mpb.BarStyle(), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name("reading for "+shortened(ev.Draw), decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Any(share)))
	case "progress":
		if b.draw != nil && ev.Total > 0 {
			b.draw.SetTotal(ev.Total, false)
			b.draw.SetCurrent(min(ev.Done, ev.Total))
		}
	case "release-start":
		b.making.Store("  " + shortened(ev.Release))
	case "release-done":
		b.releases.Increment()
	}
}

// doing names the release that is being made.
func (b *bars) doing(decor.Statistics) string {
	text, _ := b.making.Load().(string)
	return text
}

// share is how much of a bar is done; without a total nothing is known.
func share(s decor.Statistics) string {
	if s.Total <= 0 {
		return ""
	}
	return fmt.Sprintf(" %d %%", 100*s.Current/s.Total)
}

// shortened keeps a long name from filling the line.
func shortened(name string) string {
	if len(name) > 24 {
		return name[:24] + "…" // names are ASCII
	}
	return name
}

func (b *bars) endDraw() {
	if b.draw != nil {
		b.draw.SetTotal(-1, true)
		b.draw = nil
	}
}

// stop ends the bars that have not come to their end.
func (b *bars) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endDraw()
	if b.releases != nil {
		b.releases.Abort(false)
	}
	b.progress.Wait()
}
