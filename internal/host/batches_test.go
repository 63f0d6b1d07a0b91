//go:build linux

package host

import (
	"testing"

	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/wire"
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
		calls, err := wire.NewCalls(plan)
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
