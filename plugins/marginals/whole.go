package marginals

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/marginals/residual"
)

// Whole counts are the margins of one table of all columns together. mostJoint bounds the
// cells of that table times the number of residuals. fitSteps is how many steps fit it.
const (
	mostJoint = 1 << 24
	fitSteps  = 200
)

// joint checks that the table of all columns is small enough.
func (l *layout) joint() error {
	if n := l.Cells(l.all()); n > mostJoint/len(l.Residuals) {
		return fmt.Errorf("finish: whole makes one table of all columns, of at most %d cells here; these have more, so take fewer columns, "+
			"fewer tables or coarser values", mostJoint/len(l.Residuals))
	}
	return nil
}

// all is the table of all columns at their finest levels.
func (l *layout) all() residual.Table {
	var t residual.Table
	for i, a := range l.Attributes {
		t = append(t, residual.Part{Attribute: i, Level: len(a.Levels)})
	}
	return t
}

// whole makes whole counts that are not negative and add up in all tables: the margins of
// one table of all columns. It fits that table to the noisy residuals and rounds it. It sees
// nothing else, so it costs nothing.
func (l *layout) whole(parts map[string][]float64) []int64 {
	joint := round(l.fit(parts))
	var out []int64
	for _, t := range l.Tables {
		out = append(out, residual.Fold(l.Workload, l.all(), t, joint)...)
	}
	return out
}

// fit is the table of all columns without a negative cell that is the most likely, given the
// noisy residuals: Σ (residual − noisy residual)²/variance is least, by alternating
// directions (Boyd et al. 2011). One direction divides by a number in each residual, the
// other cuts off what is negative. What the residuals leave open stays as it began: even.
func (l *layout) fit(parts map[string][]float64) []float64 {
	all := l.all()
	n := l.Cells(all)
	pull := make([]float64, len(l.Residuals)) // how much each residual weighs in a cell
	least, most := math.Inf(1), 0.0
	for i, r := range l.Residuals {
		if l.scale[i] > 0 {
			sd := 1 / (float64(l.scale[i]) * l.Unit(i))
			pull[i] = float64(n) / float64(l.Cells(r)) / (sd * sd)
			least, most = math.Min(least, pull[i]), math.Max(most, pull[i])
		}
	}
	if l.public {
		pull[0] = 1e3 * most // the total is exact
	}
	pace := math.Sqrt(least * most)
	z, dual, v := make([]float64, n), make([]float64, n), make([]float64, n)
	for range fitSteps {
		steps := map[string][]float64{}
		for i, r := range l.Residuals {
			if pull[i] == 0 {
				continue
			}
			now := append([]float64(nil), residual.Fold(l.Workload, all, r, v)...)
			l.Residual(r, now)
			for c, noisy := range parts[r.Key()] {
				now[c] = pull[i] / (pull[i] + pace) * (noisy - now[c])
			}
			steps[r.Key()] = now
		}
		for c, step := range l.Sum(all, func(r residual.Table) []float64 { return steps[r.Key()] }) {
			x := v[c] + step
			z[c] = math.Max(0, x+dual[c])
			dual[c] += x - z[c]
			v[c] = z[c] - dual[c]
		}
	}
	return z
}

// round rounds numbers so that no running sum moves by more than a half: each number becomes the
// growth of the rounded running sum.
func round(x []float64) []int64 {
	out := make([]int64, len(x))
	sum, before := 0.0, int64(0)
	for i, v := range x {
		sum += v
		now := int64(math.Floor(sum + 0.5))
		out[i], before = now-before, now
	}
	return out
}
