package language

import (
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy/rational"
)

var weights = sync.OnceValue(func() kind[job.Weights] {
	return object(
		key("column", text(), func(w *job.Weights) *string { return &w.Column },
			"The column of numbers with the weight of each row, declared under dataset.columns or dataset.derive, whose rule for missing "+
				"values holds", required(), example("design_weight")),
		key("at_most", amount(span{lo: "1", hi: "1000000000"}), func(w *job.Weights) **big.Rat { return &w.AtMost },
			"The public bound of the weights. Larger ones are lowered to it, and those below 1 raised to 1", required(), example("40")),
		key("shrink", optional(object(
			key("to", publicValue(), func(s *job.Shrink) **big.Rat { return &s.To },
				"A public number, or one that an earlier release published. Never the mean of the weights", required(), example("25")),
			key("keep", amount(span{lo: "0", hi: "1"}), func(s *job.Shrink) **big.Rat { return &s.Keep },
				"The part of its distance from that value that a weight keeps: with 0 all weights are equal", required(), example("0.5")),
		)), func(w *job.Weights) **job.Shrink { return &w.Shrink },
			"Moves each weight w to to + keep·(w − to): less noise, and a bias (docs/weights.md)"),
		key("first_stage", choice(job.FirstUnit), func(w *job.Weights) *string { return &w.FirstStage },
			"The survey drew the units of the table themselves at its first stage, and not villages or schools that hold several. "+
				"interval needs it"),
	)
})

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
func (k *checker) weights(path string, w *job.Weights) {
	d := &k.j.Dataset
	c, ok := d.Column(w.Column)
	at := job.Key(path, "column")
	switch {
	case w.Column == "" || w.AtMost == nil:
		return
	case !ok:
		k.wrong(at, hintOr(problem.DidYouMean(w.Column, namesOf(d.Readable(false))), "", nil),
			"%s is not a declared column; declare it under dataset.columns: {%s: {type: number}}", problem.Shown(w.Column), w.Column)
	case c.Type != job.Number:
		k.wrong(at, "", "%s is not a column of numbers", problem.Shown(w.Column))
	case c.Missing.Rule == job.Impute && (c.Missing.Number == nil ||
		c.Missing.Number.Cmp(job.LeastWeight) < 0 || c.Missing.Number.Cmp(w.AtMost) > 0):
		k.wrong(at, "", "missing weights must be imputed by a number from 1 to at_most")
	case d.Unfolded(w.Column):
		k.wrong(at, "say in dataset.fold how it is folded: max where all rows of a unit have the same weight, sum where the unit stands "+
			"for all of them", severalValues, problem.Shown(w.Column))
	case d.Folds() && slices.Contains([]job.FoldBy{job.FoldAny, job.FoldAll, job.FoldMode}, d.FoldOf(w.Column)):
		k.wrong(at, "fold it by max, min, mean or sum", "a weight is a number")
	case w.Shrink != nil && w.Shrink.To != nil && w.Shrink.To.Cmp(w.AtMost) > 0:
		k.wrong(job.Key(job.Key(path, "shrink"), "to"), "", "must not exceed at_most (%s > %s): it is what an ordinary weight is",
			rational.Format(w.Shrink.To), rational.Format(w.AtMost))
	case w.AtMost.Cmp(job.LeastWeight) == 0:
		k.wrong(job.Key(path, "at_most"), "leave weights out", "of 1 makes all weights equal")
	}
}
