package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// clock is the machine's clock as an hour needs it.
type clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// wall is the machine's clock.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// Sleep waits in steps: a machine that was suspended must not sleep longer than its wall clock says.
func (wall) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, time.Minute))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hour holds a run back until a time of day, so that how long the run took shows nowhere (P33). A nil hour holds nothing back.
//
// # Contract
//
// Between begin and the hour, nobody outside sees a file, an event or the end of the run. What is shown then is shown at
// the first hour after the work is done: a run that takes longer than until the hour waits a day more, because to publish
// when it is ready would tell when that is.
type hour struct {
	clock clock
	text  string // such as 06:00
	begun time.Time

	mu     sync.Mutex
	events []run.Progress // not shown yet

	reached bool // files may be shown
}

// newHour begins to hold back; at is a time of day on the machine's clock, or "".
func newHour(at string, c clock) (*hour, error) {
	if at == "" {
		return nil, nil
	}
	if _, err := time.Parse("15:04", at); err != nil || len(at) != len("15:04") {
		return nil, failure.New(failure.ExitUsage, "USAGE", "publish-at: must be a time of day such as 06:00")
	}
	if c == nil {
		c = wall{}
	}
	return &hour{clock: c, text: at, begun: c.Now()}, nil
}

// after returns the first such hour that is later than a time.
func (h *hour) after(t time.Time) time.Time {
	of, _ := time.Parse("15:04", h.text) // newHour has read it
	at := time.Date(t.Year(), t.Month(), t.Day(), of.Hour(), of.Minute(), 0, 0, t.Location())
	if !at.After(t) {
		at = time.Date(t.Year(), t.Month(), t.Day()+1, of.Hour(), of.Minute(), 0, 0, t.Location())
	}
	return at
}

// Observe keeps an event until the hour.
func (h *hour) Observe(e run.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// wait waits for the first hour after the work is done.
func (h *hour) wait(ctx context.Context) error {
	if h == nil {
		return nil
	}
	for at := h.after(h.clock.Now()); ; {
		left := at.Sub(h.clock.Now())
		if left <= 0 {
			h.reached = true
			return nil
		}
		if err := h.clock.Sleep(ctx, left); err != nil {
			return err
		}
	}
}

// publishes waits before files are written. The releases are stored by then.
func (h *hour) publishes(ctx context.Context) error {
	if h.wait(ctx) != nil {
		return failure.Resting(failure.New(failure.ExitInterrupted, "INTERRUPTED",
			"the run was stopped before its hour, %s; the releases are stored, and the next run publishes them at that hour", h.text))
	}
	return nil
}

// late explains that the run was not ready at its first hour, or returns "". It is for people who may
// see the table.
func (h *hour) late() string {
	if h == nil || !h.after(h.begun).Before(h.clock.Now().Add(-12*time.Hour)) {
		return ""
	}
	return fmt.Sprintf("the run was not ready at %s of %s, so it published at that hour of a later day; who saw that nothing appeared "+
		"knows how long it took: choose a later hour",
		h.text, h.after(h.begun).Format("2006-01-02"))
}

// delayed carries a run out and shows nothing of it before the hour: no event, and not that it ended.
func delayed(ctx context.Context, o Options, h *hour, f func(context.Context, Options) (*Outcome, error)) (*Outcome, error) {
	shown := o.watch()
	o.Observer, o.hour = h, h
	done, err := f(ctx, o)
	var stopped *failure.Failure
	if !h.reached && !(errors.As(err, &stopped) && stopped.Exit == failure.ExitInterrupted) && h.wait(ctx) != nil {
		// Whoever stops a run must not learn from its exit code whether it had failed by then.
		return nil, &failure.Failure{Exit: failure.ExitInterrupted, Code: "INTERRUPTED", Spent: spent(err),
			Message: "the run was stopped before its hour, " + h.text + "; the ledger knows what it did: run the job again"}
	}
	for _, e := range h.events {
		shown(e)
	}
	if done != nil {
		done.Late = h.late()
	}
	return done, err
}

// spent returns what a run spent that ended with err.
func spent(err error) failure.Spent {
	var f *failure.Failure
	if errors.As(err, &f) {
		return f.Cost()
	}
	return failure.SpentNone
}
