package marginals

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/marginals/residual"
)

// Whole counts are the margins of one table of all columns together, of at most mostJoint cells.
const mostJoint = 1 << 21

// A fit ends where the noisy residuals are as far from the table as enough of their noise would put
// them, or after so many steps. One that goes on learns the noise (lab/studies/rivals.md).
const (
	enough   = 0.45
	fitSteps = 400
)

// joint checks that the table of all columns is small enough.
func (l *layout) joint() error {
	if l.Cells(l.all()) > mostJoint {
		return fmt.Errorf("finish: whole makes one table of all columns, of at most %d cells; these have more, so take fewer columns "+
			"or coarser values", mostJoint)
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
func (l *layout) whole(parts map[string][]float64, noise float64) []int64 {
	joint := round(l.fit(parts, noise))
	var out []int64
	for _, t := range l.Tables {
		out = append(out, residual.Fold(l.Workload, l.all(), t, joint)...)
	}
	return out
}

// fit is a table of all columns that explains the noisy residuals, and is otherwise as even as it
// may be. It starts with an even one and descends on Σ (residual − noisy residual)²/variance by
// mirror descent with momentum, where each step multiplies the cells: none is negative, and cells
// far from full stay so (Kivinen and Warmuth 1997, McKenna et al. 2019). Noise is the standard
// deviation of the noise in the vector.
func (l *layout) fit(parts map[string][]float64, noise float64) []float64 {
	n := l.Cells(l.all())
	total := math.Max(0, parts[residual.Table{}.Key()][0])
	table, now, ahead := make([]float64, n), make([]float64, n), make([]float64, n) // the last two are logarithms
	precision, free, largest := make([]float64, len(l.Residuals)), 0.0, 0.0
	for i, r := range l.Residuals {
		if l.scale[i] == 0 || len(r) == 0 { // the total is held to
			continue
		}
		sd := noise * l.unit() / (float64(l.scale[i]) * l.Unit(i))
		precision[i], largest = 1/(sd*sd), math.Max(largest, 1/(sd*sd))
		free += l.Free(r)
	}
	if total == 0 || largest == 0 {
		even(table, ahead, total)
		return table
	}
	trie, pulls := residual.NewTrie(l.Workload, l.all()), make([][]float64, len(l.Residuals))
	step, last, run := 1/(total*largest), math.Inf(1), 0.0
	for range fitSteps {
		even(table, ahead, total)
		misfit := 0.0
		trie.Fold(table, func(i int, margin []float64) {
			pulls[i] = slices.Clone(margin)
			l.Residual(l.Residuals[i], pulls[i])
			for c, noisy := range parts[l.Residuals[i].Key()] {
				d := pulls[i][c] - noisy
				misfit += precision[i] * d * d
				pulls[i][c] = precision[i] * d
			}
			if precision[i] == 0 {
				clear(pulls[i])
			}
		})
		if misfit > last { // too far: again from the last point, slower
			step, last, run = step/2, math.Inf(1), 0
			copy(ahead, now)
			continue
		}
		if last = misfit; misfit <= enough*free {
			break
		}
		for c, pull := range trie.Lift(pulls) {
			next := ahead[c] - step*pull
			ahead[c] = next + run/(run+3)*(next-now[c])
			now[c] = next
		}
		run, step = run+1, step*1.1
	}
	return table
}

// even makes a table with that total whose cells are in proportion to the exponentials of logs.
func even(table, logs []float64, total float64) {
	top, sum := slices.Max(logs), 0.0
	for c, x := range logs {
		table[c] = math.Exp(x - top)
		sum += table[c]
	}
	for c := range table {
		table[c] *= total / sum
	}
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
