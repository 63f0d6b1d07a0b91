package privacy

import (
	"strings"
	"testing"
)

// The text of the closed form says how it stands to what is charged, in both cases.
func TestClosedFormIsComparedWithTheCharge(t *testing.T) {
	for _, n := range []int64{100_000, 1_000_000_000_000} {
		a, err := EpsilonAt(Shuffled{n, Pure{2}}, ReplaceOne, 1e-6)
		if err != nil || len(a.Claimed) != 1 {
			t.Fatal(n, err, a.Claimed)
		}
		c := a.Claimed[0]
		if c.Charged || a.Method == "claimed" {
			t.Errorf("n %d: the closed form is charged", n)
		}
		want := "no smaller than"
		if c.Epsilon < a.Upper {
			want = "smaller than the charged bound"
		}
		if !strings.HasPrefix(c.Why, want) {
			t.Errorf("n %d: closed form %v, charged %v: %q", n, c.Epsilon, a.Upper, c.Why)
		}
		if n > 1e9 && c.Epsilon >= a.Upper {
			t.Errorf("n %d: closed form %v, charged %v: the second case was not met", n, c.Epsilon, a.Upper)
		}
	}
}
