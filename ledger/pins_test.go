package ledger

import (
	"strings"
	"testing"
)

// A later debit of a state says the very pins of the first: none left out, none more, none otherwise. What is stored of
// them is held to the chain.
func TestPinsAreHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		wave := func(plan string, wave int64, pins ...Pin) Request {
			q := seen(wave-1, waveOf(plan, wave, 1))
			q.Steps[0].Pins = pins
			return q
		}
		a, b := Pin{"unit", "hh"}, Pin{"form", "texts"}
		if err := l.Seal(background, debit(t, l, wave("p1", 1, a, b)), "c", someFiles); err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]Request{"none": wave("x", 2), "one less": wave("x", 2, a), "one more": wave("x", 2, a, b, Pin{"more", "x"}),
			"another": wave("x", 2, a, Pin{"form", "numbers"}), "another name": wave("x", 2, a, Pin{"forms", "texts"})} {
			if _, err := l.Debit(background, q); codeOf(err) != CodePinned {
				t.Errorf("%s: %v", name, err)
			}
			if err := l.Pins(background, q); (codeOf(err) == CodePinned) == (name == "none" || name == "one less") {
				t.Errorf("%s, before a table is opened: %v", name, err)
			}
		}
		if err := l.Seal(background, debit(t, l, wave("p2", 2, b, a)), "c", someFiles); err != nil {
			t.Fatal(err) // in another order
		}
		verified(t, l)
		if _, err := rawDB(t, at).Exec(`UPDATE dprelease_nodes SET state = REPLACE(state, '"hh"', '"hh2"')`); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Debit(background, wave("x", 3, Pin{"unit", "hh2"}, b)); codeOf(err) != CodeTampered {
			t.Errorf("pins that were changed: %v", err)
		}
		if _, err := rawDB(t, at).Exec("DELETE FROM dprelease_nodes"); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, at).Debit(background, wave("x", 3, a, b)); codeOf(err) != CodeTampered {
			t.Errorf("pins that are gone: %v", err)
		}
		if v, err := open(t, at).Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), "tables: nodes") {
			t.Errorf("verify: %v, %v", v.Findings(), err)
		}
	})
}
