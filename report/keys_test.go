package report

import (
	"slices"
	"strings"
	"testing"
)

// A value that is selected from a sample may be there by luck, and its figures then too high; from the whole table the
// noise of the figures knows nothing of the selection.
func TestSelectionFromASampleSaysWhatLuckDoes(t *testing.T) {
	lucky := func(whole int64) bool {
		k := &Keys{Column: "town", AtMost: 9, Sizes: []KeySize{{Chance: 0.5, Units: 46, Whole: whole}}}
		return slices.ContainsFunc(k.text(wordsIn("en"), Dataset{}), func(s string) bool { return strings.Contains(s, "its figures are too high") })
	}
	if !lucky(14) || lucky(0) {
		t.Errorf("from a sample %v, from the table %v", lucky(14), lucky(0))
	}
}
