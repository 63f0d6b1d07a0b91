package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
)

// seconds formats the time since a moment.
func seconds(since time.Time) string { return time.Since(since).Truncate(time.Second).String() }

// bars shows how much of the current draw is read, how many releases are done, and what each
// mechanism at work does and since when: at most as many lines as mechanisms are fed at once,
// and two, however large the job.
type bars struct {
	command.Screen
	total, releases int               // and how many are done
	mechanisms      map[string]string // of each release
	begun           time.Time         // of the first event: a job that is refused shows no bar
	draw            string            // that is being read, or ""
	rows, of        int64
	read            bool // all rows of the draw were read
	note            string
	working         []string // the releases that are being made
	since           map[string]time.Time
}

func newBars(w io.Writer, releases []job.Release) *bars {
	b := &bars{total: len(releases), mechanisms: map[string]string{}, since: map[string]time.Time{}}
	for _, r := range releases {
		b.mechanisms[r.Name] = r.Mechanism
	}
	b.Show(w, b.text)
	return b
}

// Observe takes note of an event.
func (b *bars) Observe(ev pipeline.Progress) {
	b.Lock()
	defer b.Unlock()
	if b.begun.IsZero() {
		b.begun = time.Now()
	}
	switch ev = public(ev); ev.Kind {
	case "not-looked-at":
		b.note = ev.Message
	case "draw":
		b.draw, b.rows, b.of, b.read = ev.Draw, 0, 0, false
	case "progress":
		if b.rows, b.of = ev.Done, ev.Total; ev.Total > 0 && ev.Done >= ev.Total {
			b.draw, b.read = "", true // what is left is the mechanisms' work
		}
	case "release-start":
		b.working = append(b.working, ev.Release)
		b.since[ev.Release] = time.Now()
	case "release-done":
		b.releases++
		b.working = slices.DeleteFunc(b.working, func(name string) bool { return name == ev.Release })
	}
}

func (b *bars) text() (lines []string) {
	if b.begun.IsZero() {
		return nil
	}
	if b.note != "" {
		lines = append(lines, b.note)
	}
	if b.draw != "" {
		line := "reading for " + shortened(b.draw) + " " + command.Bar(b.rows, b.of)
		if b.of > 0 {
			line += fmt.Sprintf(" %d %%", 100*b.rows/b.of)
		}
		lines = append(lines, line)
	}
	lines = append(lines,
		fmt.Sprintf("releases %s %d of %d  %s", command.Bar(int64(b.releases), int64(b.total)), b.releases, b.total, seconds(b.begun)))
	doing := "reading rows"
	if b.read {
		doing = "computing"
	}
	for _, name := range b.working {
		lines = append(lines, fmt.Sprintf("%s: %s, %s %s", shortened(name), b.mechanisms[name], doing, seconds(b.since[name])))
	}
	return lines
}

// shortened keeps a long name from filling the line.
func shortened(name string) string {
	if len(name) > 24 {
		return name[:24] + "…" // names are ASCII
	}
	return name
}

// stop ends the lines of what did not come to its end.
func (b *bars) stop() {
	b.Lock()
	b.draw, b.working = "", nil
	b.Unlock()
	b.Screen.Stop()
}
