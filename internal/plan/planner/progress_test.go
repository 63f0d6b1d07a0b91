package planner_test

import (
	"context"
	"testing"

	"github.com/dprelease/dprelease/internal/plan/planner"
)

// Progress never goes back, tells of more than the points of a simulated sweep, and
// ends at the end.
func TestProgress(t *testing.T) {
	s := settings("med")
	var told []int
	total := 0
	s.Progress = func(done, of int) {
		if n := len(told); n > 0 && done < told[n-1] || done > of {
			t.Errorf("%d of %d after %v", done, of, told)
		}
		told, total = append(told, done), of
	}
	if _, err := planner.RunSweep(context.Background(), parse(t), planner.Rate, planner.Range{Values: []float64{0.1, 0.2}}, s); err != nil {
		t.Fatal(err)
	}
	if len(told) < 10 || told[len(told)-1] != total {
		t.Errorf("%v of %d", told, total)
	}
}
