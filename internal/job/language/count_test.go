package language

import (
	"strings"
	"testing"
)

// mostKeys is the largest number of keys that a job may have, each counted where it stands; those
// of a table of dataset.tables count where dataset has them for the only table. A reader has to
// learn them all, so one more needs a reason: that somebody can be named who needs it, that no
// default does, and that no other key says it already.
const mostKeys = 256 // with labels and notes, marks by relative error, the share that a forecast assumes, a measure of derived columns

// A job has few keys.
func TestFewKeys(t *testing.T) {
	keys := map[string]bool{}
	var walk func(at string, ds []Declared)
	walk = func(at string, ds []Declared) {
		for _, d := range ds {
			keys[strings.Replace(at+d.Name, "tables.", "", 1)] = true
			walk(at+d.Name+".", d.Nested)
		}
	}
	walk("", language().nested)
	t.Logf("%d keys", len(keys))
	if len(keys) > mostKeys {
		t.Errorf("a job has %d keys, at most %d: which one can go, or be a default?", len(keys), mostKeys)
	}
}
