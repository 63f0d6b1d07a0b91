package report

import "github.com/dprelease/dprelease/privacy"

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
	Guarantee *Guarantee     `json:"guarantee,omitempty"` // of the selection alone; nil where the release shows its numbers and pays for both
	// Noise is the law of the noise in the numbers that are compared with a threshold, SD its standard deviation, and Above the
	// threshold; "" where a coin is tossed for each value.
	Noise string    `json:"noise,omitempty"`
	SD    float64   `json:"noise_sd,omitempty"`
	Above int64     `json:"above,omitempty"`
	Sizes []KeySize `json:"sizes,omitempty"`
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

// text says in words which values appear.
func (k *Keys) text(w words, d Dataset) []string {
	if k == nil {
		return nil
	}
	if k.From != "" {
		return []string{w.t("keys.from", k.Column, k.From)}
	}
	out := []string{w.t("keys.selected", k.Column, k.rule(w), grouped(k.AtMost))}
	switch {
	case k.Top > 0:
		out[0] = w.t("keys.top", k.Column, k.rule(w), grouped(k.Top))
	case k.ByChance:
		out = append(out, w.t("keys.chance", grouped(k.AtMost)))
	}
	if k.Guarantee == nil {
		out = append(out, w.t("keys.tallied"))
	}
	for _, s := range k.Sizes {
		text := w.t("keys.size", grouped(s.Units), w.many(d), plain(100*s.Chance, 4)+" %")
		if s.Whole > 0 {
			text += "; " + w.t("keys.whole", grouped(s.Whole))
		}
		if s.Whole > 0 && s.Units > s.Whole {
			text += ": " + w.t("keys.harder")
		}
		out = append(out, text)
	}
	if len(k.Sizes) > 0 && k.Sizes[0].Whole > 0 {
		out = append(out, w.t("keys.odds"))
	}
	return out
}

// rule is the rule of the selection in words.
func (k *Keys) rule(w words) string {
	switch k.Noise {
	case "":
		return w.t("keys.coins")
	default:
		return w.t("keys.noisy", k.Noise, plain(k.SD, 4), k.Above)
	}
}
