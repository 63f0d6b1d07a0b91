package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// hands is a clock that a test sets. It goes forward when somebody sleeps.
type hands struct {
	at    time.Time
	slept []time.Time // what stood there when a sleep began
	sleep func() error
}

func (h *hands) Now() time.Time { return h.at }

func (h *hands) Sleep(_ context.Context, d time.Duration) error {
	h.slept = append(h.slept, h.at)
	if h.sleep != nil {
		if err := h.sleep(); err != nil {
			return err
		}
	}
	h.at = h.at.Add(d)
	return nil
}

type seen struct {
	clock *hands
	at    []time.Time
}

func (s *seen) Observe(pipeline.Progress) { s.at = append(s.at, s.clock.at) }

func five() time.Time { return time.Date(2026, 3, 2, 5, 0, 0, 0, time.UTC) }

// P33: before the hour no file stands anywhere, no event is observed, and the run does not end, whether it succeeds or
// fails, before its debit or after it. The twin without an hour shows all of that at once.
func TestNothingShowsBeforeTheHour(t *testing.T) {
	for name, replace := range map[string][]string{
		"success": nil, "before the debit": {"size: 4", "size: 5"}, "after the debit": {"mechanism: mean, params: {column: x}", "mechanism: count, params: {by: g}", "domain: [a, b]", "domain: [a, c]"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, tinyJob, append(replace, "TABLE", good(t), "formats: [csv]", `formats: [csv], publish_at: "06:00"`)...)
			out := filepath.Join(filepath.Dir(path), "out")
			clock := &hands{at: five()}
			watching := &seen{clock: clock}
			clock.sleep = func() error {
				if _, err := os.Stat(out); err == nil || len(watching.at) > 0 {
					t.Error("something shows before the hour")
				}
				return nil
			}
			_, err := runWith(t, path, func(o *pipeline.Options) { *o = pipeline.WithClock(*o, clock); o.Observer = watching })
			if (err == nil) != (name == "success") {
				t.Fatal(err)
			}
			six := five().Add(time.Hour)
			if len(clock.slept) == 0 || !clock.at.Equal(six) {
				t.Errorf("it ended at %v after %d sleeps", clock.at, len(clock.slept))
			}
			for _, at := range watching.at {
				if !at.Equal(six) {
					t.Errorf("an event at %v", at)
				}
			}
			if _, gone := os.Stat(out); (gone == nil) != (name == "success") {
				t.Errorf("the folder: %v", gone)
			}

			// The same without the hour: the clock stands still.
			twin := write(t, tinyJob, append(replace, "TABLE", good(t))...)
			clock = &hands{at: five()}
			_, _ = runWith(t, twin, func(o *pipeline.Options) { *o = pipeline.WithClock(*o, clock) })
			if len(clock.slept) > 0 {
				t.Error("a run without an hour waits")
			}
		})
	}
}

// A run that is stopped while it waits leaves its releases in the ledger. The next run publishes the same bytes at the
// hour, and spends nothing.
func TestStoppedBeforeTheHour(t *testing.T) {
	path := write(t, tinyJob, "TABLE", good(t))
	out := filepath.Join(filepath.Dir(path), "out")
	clock := &hands{at: five(), sleep: func() error { return errors.New("stopped") }}
	at := func(o *pipeline.Options) { *o = pipeline.WithClock(*o, clock); o.PublishAt = "06:00" }
	_, err := runWith(t, path, at)
	if exit, code := exitOf(err); exit != failure.ExitInterrupted || code != "INTERRUPTED" || !strings.Contains(err.Error(), "the next run publishes them at that hour") {
		t.Fatal(err)
	}
	if _, err := os.Stat(out); err == nil || len(spends(t, filepath.Dir(path))) != 1 {
		t.Fatalf("the folder: %v; %d debits", err, len(spends(t, filepath.Dir(path))))
	}
	clock = &hands{at: five().Add(90 * time.Minute)} // half past six: the hour of the next day
	done, err := runWith(t, path, at)
	if err != nil || !done.Already || !clock.at.Equal(five().Add(25*time.Hour)) || len(spends(t, filepath.Dir(path))) != 1 {
		t.Fatalf("%v, at %v, %d debits", err, clock.at, len(spends(t, filepath.Dir(path))))
	}
	if _, err := os.Stat(out); err != nil {
		t.Fatal(err)
	}
	// A failure that is stopped ends like a success that is.
	path = write(t, tinyJob, "TABLE", good(t), "size: 4", "size: 5")
	clock = &hands{at: five(), sleep: func() error { return errors.New("stopped") }}
	_, err = runWith(t, path, at)
	if exit, code := exitOf(err); exit != failure.ExitInterrupted || code != "INTERRUPTED" {
		t.Errorf("a failure that was stopped: %v", err)
	}
}

// A run that is not ready at its hour publishes at that hour of the next day, and its outcome says so.
func TestLate(t *testing.T) {
	path := write(t, tinyJob, "TABLE", good(t))
	clock := &hands{at: five()}
	done, err := runWith(t, path, func(o *pipeline.Options) {
		*o = pipeline.With(pipeline.WithClock(*o, clock), func(point string) {
			if point == "sealed" {
				clock.at = clock.at.Add(70 * time.Minute)
			}
		}, nil, 0)
		o.PublishAt = "06:00"
	})
	var said strings.Builder
	if err != nil || done.WriteText(&said) != nil {
		t.Fatal(err)
	}
	if !clock.at.Equal(five().Add(25*time.Hour)) || !strings.Contains(strings.Join(strings.Fields(said.String()), " "), "was not ready at 06:00 of 2026-03-02") {
		t.Errorf("at %v: %s", clock.at, said.String())
	}
}

// A run that ends in the instant of its hour is late by a day, as one is that ends after it: else files that stand there at the hour
// would tell that it was ready. So is a run that begins in that instant; one that ends a nanosecond before it is not.
func TestExactlyAtTheHour(t *testing.T) {
	for at, want := range map[time.Duration]time.Duration{0: time.Hour, time.Hour - 1: time.Hour, time.Hour: 25 * time.Hour, time.Hour + 1: 25 * time.Hour} {
		for name, begins := range map[string]bool{"begins": true, "ends": false} {
			clock := &hands{at: five()}
			if begins {
				clock.at = clock.at.Add(at)
			}
			_, err := runWith(t, write(t, tinyJob, "TABLE", good(t)), func(o *pipeline.Options) {
				*o = pipeline.With(pipeline.WithClock(*o, clock), func(point string) {
					if point == "sealed" {
						clock.at = five().Add(at)
					}
				}, nil, 0)
				o.PublishAt = "06:00"
			})
			if err != nil || !clock.at.Equal(five().Add(want)) {
				t.Errorf("it %s at %v, and shows at %v: %v", name, five().Add(at), clock.at, err)
			}
		}
	}
}

func TestHour(t *testing.T) {
	for _, at := range []string{"6:00", "24:00", "0600", "06:00:00", "06:60"} {
		_, err := runWith(t, write(t, tinyJob, "TABLE", good(t)), func(o *pipeline.Options) { o.PublishAt = at })
		if exit, _ := exitOf(err); err == nil || exit != 2 {
			t.Errorf("%s: %v", at, err)
		}
	}
}
