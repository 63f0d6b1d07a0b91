package periods

import (
	"encoding/json"

	"github.com/dprelease/dprelease/privacy"
)

// written is a release of a series as Text writes it.
type written struct {
	Matrix  [][]int64         `json:"matrix"`
	Calls   []json.RawMessage `json:"calls"`
	AtMost  int               `json:"at_most"`
	Apart   int               `json:"apart"`
	Revised bool              `json:"revised,omitempty"`
	Capped  bool              `json:"capped,omitempty"`
}

// Text writes releases of a series down: two texts are equal only if they have the same price and draw the same noise.
func Text(all []Series) (string, error) {
	out := make([]written, len(all))
	for i, s := range all {
		out[i] = written{Matrix: s.Matrix, AtMost: s.AtMost, Apart: s.Apart, Revised: s.Revised, Capped: s.Capped}
		for _, call := range s.Calls {
			text, err := privacy.Canonical(call)
			if err != nil {
				return "", err
			}
			out[i].Calls = append(out[i].Calls, text)
		}
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// Read reads what Text wrote.
func Read(text string) ([]Series, error) {
	var all []written
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, wrong("series", "cannot be read")
	}
	out := make([]Series, len(all))
	for i, w := range all {
		out[i] = Series{Matrix: w.Matrix, AtMost: w.AtMost, Apart: w.Apart, Revised: w.Revised, Capped: w.Capped}
		for _, call := range w.Calls {
			e, err := privacy.FromCanonical(call)
			if err != nil {
				return nil, err
			}
			out[i].Calls = append(out[i].Calls, e)
		}
	}
	return out, nil
}

// Run returns what one run of a series measures: the row of each matrix, and the noise. Runs are counted from 0.
func Run(all []Series, run int) ([]Series, error) {
	out := make([]Series, len(all))
	for i, s := range all {
		if run < 0 || run >= len(s.Matrix) {
			return nil, wrong("series", "has no such run")
		}
		out[i] = Series{Matrix: s.Matrix[run : run+1], Calls: s.Calls}
	}
	return out, nil
}
