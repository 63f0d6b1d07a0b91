package ledgercheck

import (
	"math/big"
	"strings"
	"testing"
)

// The checker finds what is wrong.
func TestChecker(t *testing.T) {
	third := big.NewRat(1, 3)
	good := func() (State, []Output) {
		return State{Spent: big.NewRat(2, 3), Limit: big.NewRat(1, 1), Debits: map[int64]Debit{3: {"p", "h3", third}, 7: {"q", "h7", third}}},
			[]Output{{"p", "c", "v", "h3", 3}, {"p", "c", "v", "h3", 3}, {"q", "c", "w", "h7", 7}}
	}
	if s, o := good(); len(Check(s, o, third)) > 0 {
		t.Errorf("a good history: %v", Check(s, o, third))
	}
	for what, spoil := range map[string]func(s *State, o *[]Output){
		"without a debit":  func(s *State, o *[]Output) { (*o)[2].Seq = 8 },
		"stands on":        func(s *State, o *[]Output) { (*o)[2].Head = "h3" },
		"two outputs of p": func(s *State, o *[]Output) { (*o)[1].Value = "x" },
		"on one debit":     func(s *State, o *[]Output) { (*o)[1].Value, (*o)[1].Content = "x", "c2" },
		"add up":           func(s *State, o *[]Output) { s.Spent = big.NewRat(1, 2) },
		"went from":        func(s *State, o *[]Output) { s.Spent, s.Debits, *o = new(big.Rat), nil, nil },
		"of 1/2":           func(s *State, o *[]Output) { s.Limit = big.NewRat(1, 2) },
		"visible cost":     func(s *State, o *[]Output) { s.Spent = big.NewRat(1, 3) },
	} {
		s, o := good()
		spoil(&s, &o)
		if got := strings.Join(Check(s, o, third), "; "); !strings.Contains(got, what) {
			t.Errorf("%s: found %q", what, got)
		}
	}
}
