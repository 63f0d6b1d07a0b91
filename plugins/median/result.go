package median

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// output is the shape of the release: one row a quantile. There is no column that
// says how much noise there is in a smooth-laplace release: its scale is private
// (P13, P19).
func (l *layout) output() []sdk.Field {
	doc := "the quantile, with noise whose size is private"
	if l.Method == exponential {
		doc = "the quantile, drawn from a public lattice"
	}
	doc += "; kept within the bounds"
	if len(l.ranks) > 1 {
		doc += ", and put in the order of the ranks"
	}
	return []sdk.Field{
		{Name: "column", Type: sdk.String, Doc: "the column"},
		{Name: "quantile", Type: sdk.Float64, Doc: "the rank: 0.5 is the median"},
		{Name: "estimate", Type: sdk.Float64, Statistic: sdk.StatisticQuantile, Granularity: l.step, Doc: doc, Of: []string{l.column.Name}},
	}
}

// expected returns what is public about the error. The noise of smooth-laplace depends
// on the data; the exponential method bounds the error in rank.
func (l *layout) expected() []sdk.ExpectedError {
	var all []sdk.ExpectedError
	for _, r := range l.ranks {
		note := fmt.Sprintf("quantile %g: laplace noise of scale S/%.4g, S the %.4g-smooth sensitivity of the data, which is private",
			r.value, l.smoothing.shift, l.smoothing.beta)
		if l.Method == exponential {
			note = fmt.Sprintf("quantile %g: with 95 %% probability at most %.4g records away in rank, plus rounding to a lattice of step %.4g",
				r.value, l.rankError(r, 0.05), l.grid.width/float64(l.grid.points-1))
		}
		if l.tellsNothing(r) {
			note = sdk.NoUse + note + fmt.Sprintf("; with %d rows in the sample it may lie anywhere between the bounds", l.design.SampleSize)
		}
		e := sdk.ExpectedError{Field: "estimate", Note: note,
			SamplingNote: "it depends on how densely the values lie around the quantile, which is private"}
		if l.Method == exponential { // a two-sided exponential in rank
			scale := l.rankScale(r)
			e.Above, e.Over = sdk.RankTerms(l.column.Name, r.value, math.Sqrt2*scale, math.Log(20)*scale)
		}
		all = append(all, e)
	}
	return all
}

// rankScale returns the number of rows that make a point e times less likely: of the sample, or where weights differ of the population.
func (l *layout) rankScale(r rank) float64 {
	return 1 / (sdk.SelectRate(l.share.Epsilon, l.grid.sensitivity(r, l.under)) * float64(r.den) * l.grid.perWeight)
}

// tellsNothing says, of a sample with a public number n of rows, that a quantile from it
// may lie anywhere: the exponential method may be off by every rank, or the noise of
// smooth-laplace is larger than the bounds are apart in every table. The window of n + 1
// ranks reaches from bound to bound, so S is at least e^(−nβ)·(U − L); the noise exceeds
// log(20) times its scale in one of 20 cases.
func (l *layout) tellsNothing(r rank) bool {
	n := float64(l.design.SampleSize)
	if n == 0 {
		return false
	}
	if l.Method == exponential {
		if l.design.EqualWeights && l.design.MaxWeight >= 1 {
			n *= l.design.MaxWeight
		}
		return l.rankError(r, 0.05) > n
	}
	return math.Log(20)*math.Exp(-n*l.smoothing.beta) > l.smoothing.shift
}

// rankError is the bound on the error in rank that holds with probability 1 − fail:
// a score of (log points + log 1/fail)/rate (McSherry and Talwar 2007), in
// records of the population that the sample stands for.
func (l *layout) rankError(r rank, fail float64) float64 {
	records := math.Log(float64(l.grid.points)/fail) * l.rankScale(r)
	if l.design.EqualWeights && l.design.MaxWeight >= 1 && !math.IsInf(l.design.MaxWeight, 0) {
		records *= l.design.MaxWeight
	}
	return records
}

// result is post-processing: it sees what the host drew and public facts.
func (l *layout) result(estimates []float64) sdk.Result {
	lower, upper := l.column.Lower, l.column.Upper
	if l.step > 0 {
		lower, upper = math.Ceil(lower/l.step)*l.step, math.Floor(upper/l.step)*l.step
	}
	for i, x := range estimates {
		estimates[i] = math.Max(lower, math.Min(upper, x))
	}
	ascending := slices.Sorted(slices.Values(estimates))
	order := make([]int, len(l.ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return int(l.ranks[a].num*l.ranks[b].den - l.ranks[b].num*l.ranks[a].den)
	})
	column, quantile := make([]string, len(l.ranks)), make([]float64, len(l.ranks))
	for i, r := range l.ranks {
		column[i], quantile[i] = l.column.Name, r.value
		estimates[order[i]] = ascending[i]
	}
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "column", Texts: column}, {Name: "quantile", Float64: quantile}, {Name: "estimate", Float64: estimates},
	}}
}
