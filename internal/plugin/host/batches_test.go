//go:build linux

package host

import (
	"testing"

	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/privacy"
)

// sink takes the rows of a batch.
type sink struct {
	grpc.ServerStreamingServer[wire.NextSampleResponse]
	rows int
}

func (s *sink) Send(m *wire.NextSampleResponse) error {
	s.rows += len(m.GetGaps())
	return nil
}

// The rows of a step are given in the planned order, after the last row, and never of
// a table that has another number of rows than the bound is about.
func TestNextBatch(t *testing.T) {
	plan := privacy.LastIterate{Variant: "one-pass", Sigma: 1, Sensitivity: 2, N: 9, Batch: 4, StepSize: 1, Smooth: 1, Rounding: 1e-9}
	other := plan
	other.Batch = 9
	for name, c := range map[string]struct {
		asked privacy.LastIterate
		rows  int64
		read  bool
		code  string
	}{
		"planned":      {plan, 9, true, ""},
		"before rows":  {plan, 9, false, CodeNoiseFailed},
		"fewer rows":   {plan, 8, true, CodeNoiseFailed},
		"another plan": {other, 9, true, CodeNoiseMismatch},
	} {
		calls, err := calls.New(plan)
		if err != nil {
			t.Fatal(err)
		}
		code := ""
		s := &noiseServer{drawer: newDrawer(t), calls: calls, rows: c.rows, read: c.read, fail: func(c string) { code = c }}
		ev, err := wire.FromEvent(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		to := &sink{}
		err = s.NextSample(&wire.NextSampleRequest{Event: ev}, to)
		if code != c.code || (err == nil) != (c.code == "") || (to.rows == 4) != (c.code == "") {
			t.Errorf("%s: %d rows, %v, code %q, want %q", name, to.rows, err, code, c.code)
		}
		// No second batch before the noise of the first step.
		if s.NextSample(&wire.NextSampleRequest{Event: ev}, to) == nil {
			t.Errorf("%s: two batches for one step", name)
		}
	}
}

// keeper takes the rows of a batch and counts how often it saw each.
type keeper struct {
	grpc.ServerStreamingServer[wire.NextSampleResponse]
	seen map[int64]int
}

func (k *keeper) Send(m *wire.NextSampleResponse) error {
	last := int64(-1)
	for _, gap := range m.GetGaps() {
		last += int64(gap) + 1
		k.seen[last]++
	}
	return nil
}

// A plan of several last iterates puts the rows in order anew for each: every pass
// takes every row once, however many steps the passes before it had (P9).
func TestBatchesOfSeveralRuns(t *testing.T) {
	long := privacy.LastIterate{Variant: "one-pass", Sigma: 1, Sensitivity: 2, N: 30, Batch: 3, StepSize: 1, Smooth: 1, Rounding: 1e-9}
	short := long
	short.Batch = 5
	cycle := long
	cycle.Variant, cycle.Batch, cycle.Epochs, cycle.StrongConvexity = "cyclic-strongly-convex", 4, 2, 0.5
	runs := []privacy.LastIterate{long, short, cycle, long}
	plan := privacy.Compose{}
	for _, r := range runs {
		plan.Events = append(plan.Events, r)
	}
	calls, err := calls.New(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := &noiseServer{drawer: newDrawer(t), calls: calls, rows: 30, read: true, fail: func(c string) { t.Fatalf("failed: %s", c) }}
	for i, r := range runs {
		ev, err := wire.FromEvent(r)
		if err != nil {
			t.Fatal(err)
		}
		to := &keeper{seen: map[int64]int{}}
		for k := range r.Calls() {
			if err := s.NextSample(&wire.NextSampleRequest{Event: ev}, to); err != nil {
				t.Fatal(err)
			}
			noise, err := wire.FromEvent(r.StepAt(k))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.AddGaussian(t.Context(), &wire.AddNoiseRequest{Event: noise, Values: []int64{0}}); err != nil {
				t.Fatal(err)
			}
			if (k+1)%r.Batches() != 0 {
				continue
			}
			for row := range r.N {
				if to.seen[row] != 1 {
					t.Errorf("run %d, step %d: row %d was taken %d times in a pass", i, k, row, to.seen[row])
				}
			}
			to.seen = map[int64]int{}
		}
	}
}
