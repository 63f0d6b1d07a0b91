package plan

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// The columns of a design effect, and of a noisy number of values.
const (
	effectField = "deff"
	countField  = "count"
)

// hasEffect reports whether the result has a design effect, which costs nothing: of a share in a sample whose number of
// rows is public, or released and of rows of equal weight. A share p tells the variance of its rows, p(1 − p); a mean does not.
func (r *PlannedRelease) hasEffect() bool {
	if r.Series != nil || r.Plan.Estimates() != sdk.StatisticShare || !r.has(errorField) || r.has(effectField) ||
		slices.Contains(r.Job.By, effectField) {
		return false
	}
	if d := r.Public.Design; !r.has(countField) {
		return d.SampleSize > 0
	} else {
		return d.EqualWeights
	}
}

// effectColumn describes the design effect.
func effectColumn() sdk.Field {
	return sdk.Field{Name: effectField, Type: sdk.Float64,
		Doc: "design effect: the square of standard_error over the variance that a simple random sample of as many rows has without noise"}
}

// addEffect adds the column of the design effect behind that of the error. It is computed from what is released and public alone (P25).
func (r *PlannedRelease) addEffect(out *sdk.Result, rows int) {
	if !r.hasEffect() {
		return
	}
	at := func(name string) func(int) float64 {
		c := columnIn(out.Columns, name)
		return func(row int) float64 {
			if c == nil || row >= len(c.Float64) || c.Hidden(row) {
				return math.NaN()
			}
			return c.Float64[row]
		}
	}
	share, whole, count := at(estimateField), at(errorField), at(countField)
	if d := r.Public.Design; d.SampleSize > 0 && !r.has(countField) {
		count = func(int) float64 { return float64(d.SampleSize) }
	}
	effect := sdk.ResultColumn{Name: effectField, Float64: make([]float64, rows)}
	own(&effect)
	for i := range effect.Float64 {
		p := share(i)
		simple := (1 - r.Public.Design.Rate) * p * (1 - p) / (count(i) - 1)
		x := math.Round(1e4*whole(i)*whole(i)/simple) / 1e4
		if effect.Float64[i] = x; !(count(i) >= 2 && simple > 0 && x < 1e9) {
			blank(&effect, i)
		}
	}
	behind := slices.IndexFunc(out.Columns, func(c sdk.ResultColumn) bool { return c.Name == cvField }) + 1
	out.Columns = slices.Insert(out.Columns, behind, effect)
}
