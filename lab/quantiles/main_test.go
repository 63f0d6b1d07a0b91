package main

import (
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// TestNearTheBest: on a part of the table, and with fewer releases, the mechanism is about
// as far off as the best of the three references. The seeds are fixed.
func TestNearTheBest(t *testing.T) {
	tier.Full(t, "TestBoundsBesideHindsight")
	all, err := columns("../../examples/data")
	if err != nil {
		t.Fatal(err)
	}
	releases := 20
	if testing.Short() {
		releases = 8
	}
	entries := compare([]*column{all[0], all[2], all[5]}, []float64{0.5, 1}, releases)
	mean, worst := worth(entries)
	if mean > 1.15 || worst > 1.8 {
		t.Errorf("%.3g times as far off as the best in the mean, %.3g in the worst entry\n%s", mean, worst, table(entries))
	}
	for _, e := range entries {
		for i, x := range e.errors {
			if !(x > 0 && x < 60) {
				t.Errorf("method %d is off by %v %%: %+v", i, x, e)
			}
		}
	}
}
