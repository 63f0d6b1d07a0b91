package report_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
	"github.com/dprelease/dprelease/report"
)

// The curve of the fixed report is that of its event, rises to what is charged, and
// is there for one last iterate over batches only.
func TestPositions(t *testing.T) {
	r, _ := load(t, "onepass")
	e, problems := expr.Parse(r.Releases[0].Guarantee.Event, "event")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := report.NewPositions(e, 1e-6)
	want := r.Releases[0].Positions
	if got.Delta != want.Delta || got.Batches != want.Batches || !slices.EqualFunc(got.Points, want.Points, func(x, y report.Position) bool {
		return x.At == y.At && math.Abs(x.Epsilon-y.Epsilon) <= 1e-10*y.Epsilon
	}) {
		t.Errorf("the report has another curve than its event: %+v", got)
	}
	last := got.Points[len(got.Points)-1]
	if last.At != 1000 || got.Batches != 1000 || math.Abs(last.Epsilon-r.Releases[0].Guarantee.Epsilon) > 1e-6 {
		t.Errorf("the last of %d positions is %+v", got.Batches, last)
	}
	for i := 1; i < len(got.Points); i++ {
		if got.Points[i].Epsilon < got.Points[i-1].Epsilon || got.Points[i].At <= got.Points[i-1].At {
			t.Errorf("%+v after %+v", got.Points[i], got.Points[i-1])
		}
	}
	full := privacy.LastIterate{Variant: "full-batch-strongly-convex", Sigma: 8, Sensitivity: 4, N: 1000, Steps: 10, StepSize: 0.1, Smooth: 1, StrongConvexity: 0.1}
	for _, other := range []privacy.Event{full, privacy.Gaussian{Sigma: 1}, privacy.Poisson{Rate: 0.5, Event: e}} {
		if p := report.NewPositions(other, 1e-6); p != nil {
			t.Errorf("%s: %+v", privacy.Name(other), p)
		}
	}
}
