package marginals

import (
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/marginals/residual"
)

// unit returns how much of the population a lattice step stands for.
func (l *layout) unit() float64 { return l.lattice.Step * l.weigh.Scale }

// parts are the noisy residuals in counts, by their keys: post-processing.
func (l *layout) parts(noisy []int64) map[string][]float64 {
	parts := make(map[string][]float64, len(l.Residuals))
	for i, r := range l.Residuals {
		if len(r) == 0 && l.public {
			parts[r.Key()] = []float64{l.total}
		}
		if l.scale[i] == 0 {
			continue
		}
		values := make([]float64, l.Cells(r))
		unit := l.unit() / float64(l.scale[i])
		for j, x := range noisy[l.start[i]:][:len(values)] {
			values[j] = unit * float64(x)
		}
		l.Centre(r, values)
		parts[r.Key()] = values
	}
	return parts
}

// estimates are the cells of all tables.
func (l *layout) estimates(parts map[string][]float64) [][]float64 {
	out := make([][]float64, len(l.Tables))
	for i, t := range l.Tables {
		out[i] = l.Sum(t, func(r residual.Table) []float64 { return parts[r.Key()] })
	}
	return out
}

// deviations are the standard deviations of the noise in the cells of each table: one where
// all cells have the same.
func (l *layout) deviations(n linear.Noise) [][]float64 {
	noise := make(map[string]float64, len(l.Residuals))
	for i, r := range l.Residuals {
		if l.scale[i] > 0 {
			sd := n.SD * l.unit() / (float64(l.scale[i]) * l.Unit(i))
			noise[r.Key()] = sd * sd
		}
	}
	out := make([][]float64, len(l.Tables))
	for i, t := range l.Tables {
		out[i] = l.Variance(t, func(r residual.Table) float64 { return noise[r.Key()] })
		for j, v := range out[i] {
			out[i][j] = math.Sqrt(v)
		}
	}
	return out
}
