package plan

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// What a plugin plans on a kept draw must have a rule there, though it is charged by
// what it costs on the sample alone.
func TestEventsStandOnADraw(t *testing.T) {
	design, err := samplers.NewSRSWOR(5, 100)
	if err != nil {
		t.Fatal(err)
	}
	d := &DraftDraw{Sampled: planned.Sampled{Design: design}}
	shuffled := func(n int64) []privacy.Event {
		return []privacy.Event{privacy.Laplace{Scale: 1, Sensitivity: privacy.Sensitivity{ReplaceOne: 1}},
			privacy.Shuffled{N: n, Event: privacy.RandomizedResponse{K: 2, Eps0: 1}}}
	}
	if err := d.stands(privacy.ReplaceOne, shuffled(5), 1e-6); err != nil {
		t.Error(err)
	}
	if err := d.stands(privacy.ReplaceOne, shuffled(50), 1e-6); err == nil || !strings.Contains(err.Error(), "more reports than the sample") {
		t.Errorf("50 reports of 5 people: %v", err)
	}
}
