package host

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// lattice is where the result of a stranger's mechanism lies, whatever the mechanism does: on
// the public grid and in the public range of the plan, with texts from a public list. Such a mechanism sees
// rows and writes the result, so it can hide a row in it all the same; only the room is smaller.
type lattice struct {
	plan  sdk.Plan
	words map[string]bool // that the request holds: for columns without a list
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

// hold brings the numbers of a result onto the lattice. A text that is not public has no
// neighbour: the answer is then an error. The columns are those of the plan.
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
		for _, s := range r.Columns[i].String {
			if f.Texts == nil && !l.words[s] || f.Texts != nil && !slices.Contains(f.Texts, s) {
				return sdk.ErrLattice
			}
		}
	}
	return nil
}

// number is the value next to x that the column may hold. Where the plan names no grid it
// has the precision of float32.
func number(f sdk.Field, x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return x // an error of its own
	}
	if f.Low < f.High {
		x = math.Max(f.Low, math.Min(f.High, x))
	}
	if f.Granularity == 0 {
		if y := float64(float32(x)); !math.IsInf(y, 0) {
			return y
		}
		return math.Copysign(math.MaxFloat32, x)
	}
	k := math.RoundToEven(x / f.Granularity)
	if f.Low < f.High { // the bounds need not lie on the grid
		k = math.Max(math.Ceil(f.Low/f.Granularity), math.Min(math.Floor(f.High/f.Granularity), k))
	}
	return k * f.Granularity
}
