package report

import "fmt"

// Weights are those of a survey, as a release used them.
type Weights struct {
	Column string  `json:"column"`
	AtMost float64 `json:"at_most"`
	// Shrink, where given, moved each weight w to To + Keep·(w − To).
	Shrink *Shrink `json:"shrink,omitempty"`
	// Least and Most are the weights that a row can have after that, and Step is what they are
	// rounded to.
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

// NotCovered is a limit of the guarantee where rows have the weights of a survey (P29).
const NotCovered = "weights are taken as given: where they were calibrated, or adjusted for people who did not answer, one person's answers are part of other people's weights, and the guarantee does not cover that"

// Text says in sentences what was done with the weights, and what is not covered; nothing for
// none.
func (w *Weights) Text() []string {
	if w == nil {
		return nil
	}
	out := []string{fmt.Sprintf("rows weigh what column %s says: a private value, clipped to [1, %g] and rounded to a multiple of %g", w.Column, w.AtMost, w.Step)}
	if s := w.Shrink; s != nil {
		out = append(out, fmt.Sprintf("a weight w counts as %g + %g·(w − %g), between %.6g and %.6g: less noise is needed, and the estimates are biased towards those of equal weights", s.To, s.Keep, s.To, w.Least, w.Most))
	}
	if w.Draw {
		out = append(out, "the weight of a row is that of the survey times that of the draw")
	}
	return append(out, NotCovered)
}
