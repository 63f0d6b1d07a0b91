package host

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// lattice confines the result of a stranger's mechanism: numbers to the public grid and range of the
// plan, texts to a public list. Such a mechanism sees rows and writes the result, so it can still
// hide a row in it, but it has less room.
type lattice struct {
	plan  sdk.Plan
	words map[string]bool // the texts of the request, for columns without a list
}

func newLattice(req sdk.ReleaseRequest) lattice {
	l := lattice{plan: req.Plan, words: map[string]bool{"": true}}
	for _, c := range req.Public.Columns {
		l.words[c.Name] = true
		for _, d := range c.Domain {
			l.words[d] = true
		}
	}
	return l
}

// Hold brings a result into the public grid, range and texts of its plan, as that of a stranger's
// mechanism that saw rows.
func Hold(req sdk.ReleaseRequest, r *sdk.Result) error { return newLattice(req).hold(r) }

// hold moves the numbers of a result to the lattice. It fails for a text that is not public, because
// a text has no nearest neighbour. The columns must be those of the plan.
func (l lattice) hold(r *sdk.Result) error {
	for i, f := range l.plan.Output {
		for k, x := range r.Columns[i].Float64 {
			r.Columns[i].Float64[k] = number(f, x)
		}
		if low, high := math.Ceil(f.Low), math.Floor(f.High); f.Low < f.High {
			for k, x := range r.Columns[i].Int64 {
				r.Columns[i].Int64[k] = int64(math.Max(low, math.Min(high, float64(x))))
			}
		}
		for k, s := range r.Columns[i].Texts {
			if r.Columns[i].Hidden(k) {
				continue
			}
			if f.Texts == nil && !l.words[s] || f.Texts != nil && !slices.Contains(f.Texts, s) {
				return sdk.ErrLattice
			}
		}
	}
	return nil
}

// number is the value nearest to x that the column may hold. Without a grid it has the precision of a
// float32.
func number(f sdk.Field, x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return x // an error of its own
	}
	x = f.Nearest(x)
	if f.Granularity > 0 {
		return x
	}
	if y := float64(float32(x)); !math.IsInf(y, 0) {
		return y
	}
	return math.Copysign(math.MaxFloat32, x)
}
