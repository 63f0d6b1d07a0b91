package job

import (
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy/rational"
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

// FirstUnit is the word for a survey that drew the units of the table themselves.
const FirstUnit = "unit"

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

// leastWeight bounds weights from below: a respondent stands at least for itself.
var leastWeight = big.NewRat(1, 1)

// Of is the column of the weights, clipped to [1, at_most] in place of its own bounds.
func (w *Weights) Of(d *Dataset) Column {
	c, _ := d.Column(w.Column)
	c.Type, c.Holds, c.Lower, c.Upper, c.Bounds = Number, "", leastWeight, w.AtMost, nil
	if c.Missing.Rule == "" {
		c.Missing.Rule = Refuse
	}
	return c
}

func weights() kind[Weights] {
	return object(
		key("column", text(), func(w *Weights) *string { return &w.Column },
			"The column of numbers with the weight of each row, declared under dataset.columns or dataset.derive, whose rule for missing "+
				"values holds", required(), example("design_weight")),
		key("at_most", amount(span{lo: "1", hi: "1000000000"}), func(w *Weights) **big.Rat { return &w.AtMost },
			"The public bound of the weights. Larger ones are lowered to it, and those below 1 raised to 1", required(), example("40")),
		key("shrink", optional(object(
			key("to", publicValue(), func(s *Shrink) **big.Rat { return &s.To },
				"A public number, or one that an earlier release published. Never the mean of the weights", required(), example("25")),
			key("keep", amount(span{lo: "0", hi: "1"}), func(s *Shrink) **big.Rat { return &s.Keep },
				"The part of its distance from that value that a weight keeps: with 0 all weights are equal", required(), example("0.5")),
		)), func(w *Weights) **Shrink { return &w.Shrink },
			"Moves each weight w to to + keep·(w − to): less noise, and a bias (docs/weights.md)"),
		key("first_stage", choice(FirstUnit), func(w *Weights) *string { return &w.FirstStage },
			"The survey drew the units of the table themselves at its first stage, and not villages or schools that hold several. "+
				"interval needs it"),
	)
}

// publicValue is a number that nothing in the table moves (P29).
func publicValue() kind[*big.Rat] {
	k := amount(span{lo: "1", hi: "1000000000"})
	read := k.read
	k.read = func(c *cursor, p lang.Place, into **big.Rat) bool {
		if slices.Contains([]string{"mean", "median", "average", "auto"}, strings.ToLower(p.Node.Value)) {
			return c.Wrong(p, "say a public number, or release one first and write what was published",
				"must be a number: the %s of private weights would move everybody's weight when one respondent changes", strings.ToLower(p.Node.Value))
		}
		return read(c, p, into)
	}
	return k
}

// weights checks what the job says of weights, at a path.
func (k *checker) weights(path string, w *Weights) {
	d := &k.j.Dataset
	c, ok := d.Column(w.Column)
	at := Key(path, "column")
	switch {
	case w.Column == "" || w.AtMost == nil:
		return
	case !ok:
		k.wrong(at, hintOr(problem.DidYouMean(w.Column, namesOf(d.Readable(false))), "", nil),
			"%s is not a declared column; declare it under dataset.columns: {%s: {type: number}}", problem.Shown(w.Column), w.Column)
	case c.Type != Number:
		k.wrong(at, "", "%s is not a column of numbers", problem.Shown(w.Column))
	case c.Missing.Rule == Impute && (c.Missing.Number == nil || c.Missing.Number.Cmp(leastWeight) < 0 || c.Missing.Number.Cmp(w.AtMost) > 0):
		k.wrong(at, "", "missing weights must be imputed by a number from 1 to at_most")
	case d.Unfolded(w.Column):
		k.wrong(at, "say in dataset.fold how it is folded: max where all rows of a unit have the same weight, sum where the unit stands "+
			"for all of them", severalValues, problem.Shown(w.Column))
	case d.Folds() && slices.Contains([]FoldBy{FoldAny, FoldAll, FoldMode}, d.FoldOf(w.Column)):
		k.wrong(at, "fold it by max, min, mean or sum", "a weight is a number")
	case w.Shrink != nil && w.Shrink.To != nil && w.Shrink.To.Cmp(w.AtMost) > 0:
		k.wrong(Key(Key(path, "shrink"), "to"), "", "must not exceed at_most (%s > %s): it is what an ordinary weight is",
			rational.Format(w.Shrink.To), rational.Format(w.AtMost))
	case w.AtMost.Cmp(leastWeight) == 0:
		k.wrong(Key(path, "at_most"), "leave weights out", "of 1 makes all weights equal")
	}
}
