package privacy

import "testing"

// A shuffle has one table, whoever asks, and no more than some hundred are kept.
func TestTablesAreKept(t *testing.T) {
	l := local{n: 1000, eps0: 2}
	if first := tableOf(l); first != tableOf(l) {
		t.Error("a table is filled twice")
	}
	for i := range 1000 {
		tableOf(local{n: int64(i + 2), eps0: 2})
		if len(chords.kept) > 256 {
			t.Fatalf("%d tables are kept", len(chords.kept))
		}
	}
	if got := tableOf(l); got.top != l.eps0 || got.delta(0.1) != (&chordTable{of: l.delta, top: l.eps0}).delta(0.1) {
		t.Error("the table that is kept is another one")
	}
}
