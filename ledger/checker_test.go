package ledger

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// output is something that became visible.
type output struct {
	plan, content, value, head string
	seq                        int64
}

type debitSeen struct {
	plan, hash string
	cost       *big.Rat
}

// state is what a recovered ledger says.
type state struct {
	ledger       string
	spent, limit *big.Rat
	debits       map[int64]debitSeen
}

// audit is the offline checker: it knows nothing of how the ledger works, and says
// what is wrong with what it shows and with what everybody can see.
func audit(s state, visible []output, before *big.Rat) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if before != nil && s.spent.Cmp(before) < 0 {
		say("spent went from %s down to %s", before.RatString(), s.spent.RatString())
	}
	sum := new(big.Rat)
	for _, d := range s.debits {
		sum.Add(sum, d.cost)
	}
	if s.spent.Cmp(sum) != 0 {
		say("spent is %s, the debits add up to %s", s.spent.RatString(), sum.RatString())
	}
	if s.spent.Cmp(s.limit) > 0 {
		say("spent %s of %s", s.spent.RatString(), s.limit.RatString())
	}
	values := map[[2]string]string{}
	used := map[int64]string{}
	due := new(big.Rat)
	for _, o := range visible {
		d, ok := s.debits[o.seq]
		switch {
		case !ok:
			say("an output of %s without a debit (%d)", o.plan, o.seq)
			continue
		case d.plan != o.plan || d.hash != o.head:
			say("an output of %s stands on the debit of %s", o.plan, d.plan)
		}
		k := [2]string{o.plan, o.content}
		if v, ok := values[k]; ok && v != o.value {
			say("two outputs of %s from %s", o.plan, o.content)
		}
		values[k] = o.value
		if v, ok := used[o.seq]; ok && v != o.value {
			say("two outputs on one debit (%d)", o.seq)
		} else if !ok {
			due.Add(due, d.cost)
		}
		used[o.seq] = o.value
	}
	if s.spent.Cmp(due) < 0 {
		say("spent %s, and what is visible cost %s", s.spent.RatString(), due.RatString())
	}
	return wrong
}

// The checker finds what is wrong.
func TestChecker(t *testing.T) {
	third := big.NewRat(1, 3)
	good := func() (state, []output) {
		return state{spent: big.NewRat(2, 3), limit: big.NewRat(1, 1), debits: map[int64]debitSeen{3: {"p", "h3", third}, 7: {"q", "h7", third}}},
			[]output{{"p", "c", "v", "h3", 3}, {"p", "c", "v", "h3", 3}, {"q", "c", "w", "h7", 7}}
	}
	if s, o := good(); len(audit(s, o, third)) > 0 {
		t.Errorf("a good history: %v", audit(s, o, third))
	}
	for what, spoil := range map[string]func(s *state, o *[]output){
		"without a debit":  func(s *state, o *[]output) { (*o)[2].seq = 8 },
		"stands on":        func(s *state, o *[]output) { (*o)[2].head = "h3" },
		"two outputs of p": func(s *state, o *[]output) { (*o)[1].value = "x" },
		"on one debit":     func(s *state, o *[]output) { (*o)[1].value, (*o)[1].content = "x", "c2" },
		"add up":           func(s *state, o *[]output) { s.spent = big.NewRat(1, 2) },
		"went from":        func(s *state, o *[]output) { s.spent, s.debits, *o = new(big.Rat), nil, nil },
		"of 1/2":           func(s *state, o *[]output) { s.limit = big.NewRat(1, 2) },
		"visible cost":     func(s *state, o *[]output) { s.spent = big.NewRat(1, 3) },
	} {
		s, o := good()
		spoil(&s, &o)
		if got := strings.Join(audit(s, o, third), "; "); !strings.Contains(got, what) {
			t.Errorf("%s: found %q", what, got)
		}
	}
}
