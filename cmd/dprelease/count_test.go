package main

import "testing"

// mostFlags is the largest number of flags, each counted once for every meaning that it has. One
// more needs a reason: that somebody can be named who needs it, that no default does, and that
// neither a key of the job nor another flag says it already.
const mostFlags = 90

// The commands have few flags.
func TestFewFlags(t *testing.T) {
	flags := map[string]bool{}
	for _, c := range available((&environment{jobs: pipelineJobs{}}).root()) {
		for _, f := range flagsOf(c) {
			flags[line(f)] = true
		}
	}
	t.Logf("%d flags", len(flags))
	if len(flags) > mostFlags {
		t.Errorf("%d flags, at most %d: which one can go, or be a default?", len(flags), mostFlags)
	}
}
