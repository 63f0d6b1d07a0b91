package report

// Weights are those of a survey, as a release used them.
type Weights struct {
	Column string  `json:"column"`
	AtMost float64 `json:"at_most"`
	// Shrink, where given, moved each weight w to To + Keep·(w − To).
	Shrink *Shrink `json:"shrink,omitempty"`
	// Least and Most are the weights that a row can have after that, and Step is what they are
	// Rounded to.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	Step  float64 `json:"step"`
	// Draw says that the weights of the draw multiply those of the survey.
	Draw bool `json:"times_draw,omitempty"`
}

// Shrink moves weights towards a public value.
type Shrink struct {
	To   float64 `json:"to"`
	Keep float64 `json:"keep"`
}

// NotCovered is a limit of the guarantee where rows have the weights of a survey (P29), in English.
func NotCovered() string { return wordsIn("en").t("weights.not_covered") }

// text says in sentences what was done with the weights, and what is not covered; nothing for none.
func (g *Weights) text(w words) []string {
	if g == nil {
		return nil
	}
	out := []string{w.t("weights.column", g.Column, plain(g.AtMost, 6), plain(g.Step, 6))}
	if s := g.Shrink; s != nil {
		out = append(out, w.t("weights.shrink", plain(s.To, 6), plain(s.Keep, 6), plain(g.Least, 6), plain(g.Most, 6)))
	}
	if g.Draw {
		out = append(out, w.t("weights.draw"))
	}
	return append(out, w.t("weights.not_covered"))
}
