package report

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

// Keys describes the private selection of the values of a group column that nobody lists.
type Keys struct {
	Column string `json:"column"`
	// From is the release whose selection this one uses. All that follows is then that
	// release's.
	From      string         `json:"from,omitempty"`
	AtMost    int64          `json:"at_most,omitempty"`
	Top       int64          `json:"top,omitempty"`       // instead of AtMost: so many of the largest, ranked
	ByChance  bool           `json:"by_chance,omitempty"` // chance decides which stay where more than AtMost are kept
	Target    *privacy.Point `json:"target,omitempty"`
	Sample    *privacy.Point `json:"sample_budget,omitempty"`
	Guarantee *Guarantee     `json:"guarantee,omitempty"` // of the selection alone
	Rule      string         `json:"rule,omitempty"`
	Sizes     []KeySize      `json:"sizes,omitempty"`
}

// KeySize is the number of units that a value needs to appear with a probability.
type KeySize struct {
	Chance float64 `json:"chance"`
	// Units is the number in the population. A sample may see only a part of them.
	Units int64 `json:"units"`
	// Whole is the number with which it would appear had the full table been read at the
	// same guarantee, 0 where it was.
	Whole int64 `json:"whole,omitempty"`
}

// Suppress says that groups with a small noisy number are blank.
type Suppress struct {
	Below  float64 `json:"below"`
	Column string  `json:"column"`
}

// Text says in words which values appear.
func (k *Keys) Text(d Dataset) []string {
	if k == nil {
		return nil
	}
	if k.From != "" {
		return []string{fmt.Sprintf("the values of %s are those that release %s selected", k.Column, k.From)}
	}
	out := []string{fmt.Sprintf("the values of %s are selected by %s, at most %s of them", k.Column, k.Rule, grouped(k.AtMost))}
	switch {
	case k.Top > 0:
		out[0] = fmt.Sprintf("the values of %s are selected by %s: the %s largest of these numbers, which also rank the rows", k.Column, k.Rule, grouped(k.Top))
	case k.ByChance:
		out = append(out, fmt.Sprintf("if the coins keep more than %s, chance decides which stay, large or small; keys.top keeps the largest", grouped(k.AtMost)))
	}
	for _, s := range k.Sizes {
		text := fmt.Sprintf("a value that %s %s have appears with a probability of %g %%", grouped(s.Units), d.Many(), 100*s.Chance)
		switch {
		case s.Whole > 0 && s.Units > s.Whole:
			text += fmt.Sprintf("; on the full table one of %s would: the sample makes small groups harder to see", grouped(s.Whole))
		case s.Whole > 0:
			text += fmt.Sprintf("; on the full table one of %s would", grouped(s.Whole))
		}
		out = append(out, text)
	}
	if len(k.Sizes) > 0 && k.Sizes[0].Whole > 0 {
		out = append(out, "a value that appears against the odds has more rows in the sample than its share: its figures are too high, and its intervals hold less often than they say")
	}
	return out
}
