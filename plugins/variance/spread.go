package variance

import (
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// spread is the variance of one column, or its root.
type spread struct {
	root    bool
	column  sdk.Column
	lattice linear.Lattice
	rows    float64 // the public number of values, where every sample holds so many, else 0
}

// add adds (1−t)², 2t(1−t) and t². The three are cut from the whole weight of the row at
// (1−t)² and at 1−t², so that they are whole, at least 0, and add up to it.
func (s *spread) add(b linear.Block, sums []int64) {
	low, inverse := s.column.Lower, 1/(s.column.Upper-s.column.Lower)
	w, whole := 1.0, s.lattice.Value(1, 1)
	for i, y := range b.Columns[0].Float64 {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		if b.Weights != nil {
			w = s.lattice.Weight(b.Weights[i])
			whole = s.lattice.Value(1, w)
		}
		t := min(max((y-low)*inverse, 0), 1)
		rest := (1 - t) * w
		second := min(s.lattice.Value(rest, 1+t), whole)
		first := min(s.lattice.Value(rest, 1-t), second)
		three := sums[3*c : 3*c+3 : 3*c+3]
		three[0] += first
		three[1] += second - first
		three[2] += whole - second
	}
}

// moments are the number, the mean and the mean square of t, from the three sums.
func moments(x [3]float64) (n, mean, square float64) {
	n = x[0] + x[1] + x[2]
	return n, (x[1]/2 + x[2]) / n, x[2] / n
}

// slope is the standard deviation of the variance of t, for noise of standard deviation 1 in
// each sum, times the number of values: the length of its gradient.
func slope(mean, square float64, projected bool) float64 {
	var g [3]float64
	for j, t := range [3]float64{0, 0.5, 1} {
		g[j] = -square - 2*mean*(t-mean)
	}
	g[2]++
	if projected { // the part along (1, 1, 1) is known
		middle := (g[0] + g[1] + g[2]) / 3
		for j := range g {
			g[j] -= middle
		}
	}
	return math.Hypot(math.Hypot(g[0], g[1]), g[2])
}

// estimate is the released row: the variance or its root, the standard deviation of the
// noise in it, the mean and the number of values.
func (s *spread) estimate(sums []int64, n linear.Noise) []float64 {
	step, width := s.lattice.Step, s.column.Upper-s.column.Lower
	var x [3]float64
	for i, v := range sums {
		x[i] = step * float64(v)
	}
	if s.rows > 0 { // the sums add up to a public number: the nearest that do
		off := (x[0] + x[1] + x[2] - s.rows) / 3
		for i := range x {
			x[i] -= off
		}
	}
	count := x[0] + x[1] + x[2]
	for i := range x {
		x[i] = math.Max(x[i], 0)
	}
	variance, mean, sd := 1.0/12, 0.5, 1.0/4 // what is known without any value
	if total, m, q := moments(x); total > 0 {
		variance, mean = math.Min(math.Max(q-m*m, 0), 1.0/4), m
		sd = math.Min(sd, step*n.SD*slope(m, q, s.rows > 0)/math.Max(total, 1))
	}
	value, largest := variance*width*width, width*width/4
	sd *= width * width
	if s.root {
		value, largest = math.Sqrt(value), width/2
		if sd = sd / (2 * value); !(sd < largest) {
			sd = largest
		}
	}
	return []float64{value, math.Min(sd, largest), s.column.Lower + mean*width, count}
}

// expected is what is known of the noise before any data is read. The gradient is never
// longer than 1.
func (s *spread) expected(public sdk.Public, n linear.Noise) sdk.ExpectedError {
	width := s.column.Upper - s.column.Lower
	if s.root {
		return sdk.ExpectedError{
			Field:        linear.EstimateField,
			Note:         s.column.Name + ": noise of standard deviation at most " + linear.Figure(s.noise(n)*width*width/2) + "/(m·d) in the first order, m the number of values (the column count), d their standard deviation",
			SamplingNote: "it depends on the values, which are secret; the more of them and the wider they are spread, the smaller it is",
		}
	}
	return linear.PerRow(public, s.column.Name, s.noise(n)*width*width, width*width/4)
}

// noise is the standard deviation of the noise in each of the three sums, in rows.
func (s *spread) noise(n linear.Noise) float64 { return s.lattice.Step * n.SD }
