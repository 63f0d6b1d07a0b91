package quantiles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

const (
	mostLeaves = 1 << 12
	mostNodes  = 1 << 19 // of a level, in all groups together
	mostLevels = 16
)

// histogram is a tree of counts. Each level has a count for each part of the range, and fan times
// as many parts as the level above, down to leaves of a few lattice values.
type histogram struct {
	*layout
	leaf   int64 // lattice values in a leaf
	leaves int
	fan    int
	levels int
	counts linear.Counts
	sd     float64 // see rankSD
	scale  float64 // how many records of the population a record stands for
}

func newTree(l *layout, req sdk.PlanRequest) (*histogram, error) {
	units := l.cells.Units(req.Public, l.column)
	counts, err := linear.NewCounts(req, units.Rows)
	if err != nil {
		return nil, err
	}
	room := int64(min(mostLeaves, mostNodes/l.cells.N))
	if room < 2 {
		return nil, errors.New("by: there are too many groups for a tree of counts")
	}
	own := *l
	own.counts = true
	t := &histogram{layout: &own, counts: counts, leaf: (l.lattice.cells + room - 1) / room}
	t.leaves = int((l.lattice.cells + t.leaf - 1) / t.leaf)
	// The height with the smallest error: few levels share the budget, or few counts are
	// added up for a rank.
	weights, _ := linear.WeightsOf(req.Public.Design)
	t.scale = weights.Scale
	unit := weights.Most * weights.Scale * float64(units.Groups*units.Rows) / req.Target.Epsilon
	if slices.Contains(req.Public.SampleRelations, privacy.ReplaceOne) {
		unit *= 2
	}
	for levels := 1; levels <= mostLevels; levels++ {
		fan := 2
		for math.Pow(float64(fan), float64(levels)) < float64(t.leaves) {
			fan++
		}
		h := float64(levels)
		variance := 2 * h * h
		if d := req.Target.Delta; d > 0 {
			variance = min(variance, 2*h*math.Log(1.25/d))
		}
		if sd := unit * math.Sqrt(variance*spread(fan, levels)); t.levels == 0 || sd < t.sd {
			t.fan, t.levels, t.sd = fan, levels, sd
		}
		if fan == 2 {
			break
		}
	}
	return t, nil
}

// spread is the variance of the number of rows below a point, less its share of all rows, where
// every count has variance 1. In each node above the point, the counts of the children before it
// deviate from their share by (fan − 1)/6 times the variance of a child, on average over all points
// (tree.proof.md).
func spread(fan, levels int) float64 {
	b, child, sum := float64(fan), 1.0, 0.0
	for range levels {
		sum += child * (b - 1) / 6
		child = 1 / (1 + 1/(b*child))
	}
	return sum
}

// resolves reports whether every value of the lattice has a leaf of its own.
func (t *histogram) resolves() bool { return t.leaf == 1 }

// rankSD is about the root mean square error of a rank, in records of the population.
func (t *histogram) rankSD() float64 { return t.sd }

func (t *histogram) plan(req sdk.PlanRequest) (sdk.Plan, error) { return linear.Plan(req, t.form) }

func (t *histogram) release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	return linear.Release(ctx, req, rows, host, t.form)
}

// nodes returns how many leaves a node of level k holds, and how many nodes there are.
func (t *histogram) nodes(k int) (size, n int) {
	size = 1
	for ; k < t.levels; k++ {
		size *= t.fan
	}
	return size, (t.leaves + size - 1) / size
}

// form makes a query of the counts of each level.
func (t *histogram) form(sdk.PlanRequest) (*linear.Form, error) {
	f := &linear.Form{Cells: t.cells, Noise: linear.Auto, Output: t.output(), PerCell: len(t.Quantiles)}
	for k := 1; k <= t.levels; k++ {
		size, n := t.nodes(k)
		f.Queries = append(f.Queries, linear.Query{
			Values: []sdk.Column{t.column}, Reach: t.counts.OneOf(n),
			Add: func(rows linear.Block, sums []int64) { t.add(rows, t.leaf*int64(size), n, sums) },
		})
	}
	f.Errors = func([]linear.Noise) []sdk.ExpectedError {
		note := fmt.Sprintf("read off %d levels of counts, %d parts each: ranks are off by about %.3g records in the root mean square "+
			"where values are dense, plus rounding to %s",
			t.levels, t.fan, t.rankSD(), t.rounding())
		return []sdk.ExpectedError{t.expected(note, t.rankSD()/t.scale)}
	}
	f.Finish = t.finish
	return f, nil
}

// add counts the rows in parts of size lattice values.
func (t *histogram) add(rows linear.Block, size int64, parts int, sums []int64) {
	l := t.counts.Lattice
	one := l.Value(1, 1)
	for i, y := range rows.Columns[0].Float64 {
		g := rows.Cell(i)
		if g < 0 {
			continue
		}
		if rows.Weights != nil {
			one = l.Value(1, l.Weight(rows.Weights[i]))
		}
		sums[int64(g)*int64(parts)+t.lattice.cell(y)/size] += one
	}
}

// finish reads the quantiles of every group off its noisy counts. It is post-processing.
func (t *histogram) finish(sums [][]int64, noises []linear.Noise) []sdk.ResultColumn {
	var estimates []linear.Estimate
	for g := range t.cells.N {
		below, sd := t.below(g, sums, noises)
		total := below[len(below)-1]
		if noises[0].Hides(total, sd) {
			estimates = append(estimates, slices.Repeat([]linear.Estimate{linear.Estimate{}.Blank()}, len(t.Quantiles))...)
			continue
		}
		for _, q := range t.Quantiles {
			target := total * float64(q) / whole
			leaf := min(t.leaves-1, sort.Search(t.leaves, func(i int) bool { return below[i+1] > target }))
			at := float64(t.leaf) * float64(q) / whole
			if n := below[leaf+1] - below[leaf]; n > 0 {
				at = float64(t.leaf) * (target - below[leaf]) / n
			}
			cell := int64(leaf)*t.leaf + min(t.leaf-1, max(0, int64(at)))
			estimates = append(estimates, linear.Estimate{Value: t.lattice.value(min(cell, t.lattice.cells-1))})
		}
	}
	return t.result(estimates).Columns[len(t.cells.Groups):]
}

// below estimates how many rows of a group lie in leaves below each leaf. It combines the counts of
// all levels with the weights that make the variance smallest (Hay et al. 2010), and then makes
// them consistent: no count is negative, and the parts of a node add up to it. SD is the standard
// deviation of the noise in the number of all rows.
func (t *histogram) below(g int, sums [][]int64, noises []linear.Noise) (out []float64, sd float64) {
	type node struct{ value, variance float64 }
	levels := make([][]node, t.levels+1)
	for k := t.levels; k >= 1; k-- {
		_, n := t.nodes(k)
		noise := noises[k-1].SD * noises[k-1].SD
		levels[k] = make([]node, n)
		for i := range levels[k] {
			own := node{float64(sums[k-1][g*n+i]), noise}
			if k < t.levels {
				var parts node
				for _, c := range levels[k+1][i*t.fan : min((i+1)*t.fan, len(levels[k+1]))] {
					parts.value, parts.variance = parts.value+c.value, parts.variance+c.variance
				}
				share := parts.variance / (own.variance + parts.variance)
				own = node{share*own.value + (1-share)*parts.value, share * own.variance}
			}
			levels[k][i] = own
		}
	}
	total, variance := 0.0, 0.0
	for _, c := range levels[1] {
		total, variance = total+c.value, variance+c.variance
	}
	final := []float64{max(0, total)}
	for k := 1; k <= t.levels; k++ {
		next := make([]float64, len(levels[k]))
		for i, whole := range final {
			from, to := i*t.fan, min((i+1)*t.fan, len(next))
			if k == 1 {
				from, to = 0, len(next)
			}
			for j := from; j < to; j++ {
				next[j] = levels[k][j].value
			}
			linear.Project(next[from:to], whole)
		}
		final = next
	}
	out = make([]float64, len(final)+1)
	for i, x := range final {
		out[i+1] = out[i] + x
	}
	return out, math.Sqrt(variance)
}
