package job

import (
	"math/big"
	"slices"
)

// Weights are survey weights: how many units of the population each row stands for (P29).
// They are private values.
type Weights struct {
	Column string
	AtMost *big.Rat
	Shrink *Shrink // nil for weights as they are
	// FirstStage is FirstUnit where the survey drew the units of the table at its first stage,
	// else "".
	FirstStage string
}

// Shrink moves each weight w to To + Keep·(w − To).
type Shrink struct {
	To, Keep *big.Rat
}

// NoWeights is the word of a release that has none, whatever the data set says.
const NoWeights = "none"

// WeightsOf are the weights that a release has, nil for none.
func (d *Dataset) WeightsOf(r *Release) *Weights {
	if r.Weights == NoWeights || r.Bounds != "" { // a search for bounds counts rows
		return nil
	}
	return d.Weights
}

// Weighted reports whether a release has the weights of a survey.
func (j *Job) Weighted() bool {
	return slices.ContainsFunc(j.Releases, func(r Release) bool { return j.Dataset.WeightsOf(&r) != nil })
}

// LeastWeight bounds weights from below: a respondent stands at least for itself.
var LeastWeight = big.NewRat(1, 1)

// Of is the column of the weights, clipped to [1, at_most] in place of its own bounds.
func (w *Weights) Of(d *Dataset) Column {
	c, _ := d.Column(w.Column)
	c.Type, c.Holds, c.Lower, c.Upper, c.Bounds = Number, "", LeastWeight, w.AtMost, nil
	if c.Missing.Rule == "" {
		c.Missing.Rule = Refuse
	}
	return c
}

// FirstUnit is the word for a survey that drew the units of the table themselves.
const FirstUnit = "unit"
