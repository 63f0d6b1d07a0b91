package pipeline

import (
	"testing"

	"github.com/dprelease/dprelease/internal/job"
)

// The program of an engine is a child of the run and belongs to no plugin. A run that has one must not take every child
// that it does not know for a plugin's orphan, which is killed.
func TestAnEngineIsNoOrphan(t *testing.T) {
	o := Options{SoleParent: true}
	if o.programs(&Job{Engine: job.Engine{Runner: "prism"}}).SoleParent {
		t.Error("the program of the engine would be killed as an orphan of a plugin")
	}
	if !o.programs(&Job{}).SoleParent || (Options{}).programs(&Job{}).SoleParent {
		t.Error("without an engine, orphans are found as the program says")
	}
}
