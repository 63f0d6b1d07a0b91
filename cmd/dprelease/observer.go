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

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/pipeline"
)

// observer is told what happens during a run: JSON lines for programs, bars on a
// terminal, nothing otherwise. stop must be called when the run has ended.
func (e *environment) observer(releases []job.Release) (o pipeline.Observer, stop func()) {
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

// bars shows how much of the current draw is read, how many releases are done, and what each
// mechanism at work does and since when: at most as many lines as mechanisms are fed at once,
// and two, however large the job.
type bars struct {
	progress   *mpb.Progress
	mu         sync.Mutex
	total      int                 // releases
	mechanisms map[string]string   // of each release
	releases   *mpb.Bar            // nil before the first event
	draw       *mpb.Bar            // nil before the first draw
	working    map[string]*mpb.Bar // the releases that are being made
	read       atomic.Bool         // all rows of the draw were read
}

func newBars(w io.Writer, releases []job.Release) *bars {
	b := &bars{total: len(releases), mechanisms: map[string]string{}, working: map[string]*mpb.Bar{},
		progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(150*time.Millisecond))}
	for _, r := range releases {
		b.mechanisms[r.Name] = r.Mechanism
	}
	return b
}

// begin shows the releases, once the plan stands: a job that is refused shows no
// bar.
func (b *bars) begin() {
	if b.releases != nil {
		return
	}
	b.releases = b.progress.New(int64(b.total), mpb.BarStyle(), mpb.BarPriority(1),
		mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit(" %d of %d"), decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO)))
}

// Observe moves the bar that the event is about.
func (b *bars) Observe(ev pipeline.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
	switch ev = public(ev); ev.Kind {
	case "draw":
		b.endDraw()
		b.read.Store(false)
		b.draw = b.progress.New(0, mpb.BarStyle(), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name("reading for "+shortened(ev.Draw), decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Any(share)))
	case "progress":
		if b.draw != nil && ev.Total > 0 {
			b.draw.SetTotal(ev.Total, false)
			b.draw.SetCurrent(min(ev.Done, ev.Total))
			if ev.Done >= ev.Total { // what is left is the mechanisms' work
				b.read.Store(true)
				b.endDraw()
			}
		}
	case "release-start":
		b.working[ev.Release] = b.progress.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(), mpb.BarWidth(3), mpb.BarPriority(2),
			mpb.PrependDecorators(decor.Name(shortened(ev.Release), decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Name(b.mechanisms[ev.Release]+", "), decor.Any(b.doing), decor.Elapsed(decor.ET_STYLE_GO)))
	case "release-done":
		b.releases.Increment()
		b.done(ev.Release)
	}
}

// doing names what the mechanisms are doing.
func (b *bars) doing(decor.Statistics) string {
	if b.read.Load() {
		return "computing "
	}
	return "reading rows "
}

func (b *bars) done(release string) {
	if bar := b.working[release]; bar != nil {
		bar.SetTotal(-1, true)
		delete(b.working, release)
	}
}

// share formats how much of a bar is done, and returns "" where the total is not known.
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
	for release := range b.working {
		b.done(release)
	}
	if b.releases != nil {
		b.releases.Abort(false)
	}
	b.progress.Wait()
}
