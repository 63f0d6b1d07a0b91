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
		return State{Spent: big.NewRat(2, 3), Limit: big.NewRat(1, 1), Debits: map[int64]Debit{3: {Plan: "p", Hash: "h3", Cost: third}, 7: {Plan: "q", Hash: "h7", Cost: third}}},
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

// So it does of slices.
func TestCheckerOfSlices(t *testing.T) {
	third := big.NewRat(1, 3)
	good := func() State {
		return State{Spent: big.NewRat(1, 1), Limit: big.NewRat(2, 3), Lifetime: big.NewRat(1, 1), Largest: big.NewRat(2, 3),
			Debits: map[int64]Debit{3: {"p", "h3", third, "a"}, 7: {"q", "h7", third, "b"}, 8: {"r", "h8", third, "a"}},
			Slices: map[string]*big.Rat{"a": big.NewRat(2, 3), "b": third}}
	}
	if wrong := Check(good(), nil, nil); len(wrong) > 0 {
		t.Errorf("a good history: %v", wrong)
	}
	for what, spoil := range map[string]func(s *State){
		"slice b has spent 0/1":           func(s *State) { s.Slices["b"] = new(big.Rat) },
		"slice b has spent <nil>":         func(s *State) { delete(s.Slices, "b") },
		"3 slices have spent":             func(s *State) { s.Slices["c"] = new(big.Rat) },
		"slice a has spent 2/3 of 1/3":    func(s *State) { s.Limit = third },
		"the largest slice has spent 2/3": func(s *State) { s.Largest = third },
		"all slices have spent 1 of 1/3":  func(s *State) { s.Lifetime = third },
		"the debits add up to 1":          func(s *State) { s.Spent = third },
	} {
		s := good()
		spoil(&s)
		if got := strings.Join(Check(s, nil, nil), "; "); !strings.Contains(got, what) {
			t.Errorf("%s: found %q", what, got)
		}
	}
}
