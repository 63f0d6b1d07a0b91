package variance

import (
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// spread is the variance of one column, or its root.
type spread struct {
	root     bool
	column   sdk.Column
	moments  *linear.Moments
	interval *linear.Interval
}

// moments are the number, the mean and the mean square of t, from the three sums.
func moments(x [3]float64) (n, mean, square float64) {
	n = x[0] + x[1] + x[2]
	return n, (x[1]/2 + x[2]) / n, x[2] / n
}

// row is the variance or its root, the standard deviation of the noise in it, the mean, the
// number of values, and the ends of the interval where one is asked for.
func (s *spread) row(_ int, sums []int64, n linear.Noise) []float64 {
	width, rows := s.column.Upper-s.column.Lower, s.moments.Rows
	x := s.moments.Sums(sums)
	if rows > 0 { // the sums add up to a public number: the nearest that do
		off := (x[0] + x[1] + x[2] - rows) / 3
		for i := range x {
			x[i] -= off
		}
	}
	count := x[0] + x[1] + x[2]
	if s.moments.Hidden(count, s.moments.NoiseOf(n, 1), n) {
		return s.blank(count)
	}
	for i := range x {
		x[i] = math.Max(x[i], 0)
	}
	total, mean, q := moments(x)
	variance := math.Min(math.Max(q-mean*mean, 0), 1.0/4)
	_, noise := s.moments.Value(sums, []float64{2*mean*mean - q, -2 * mean, 1}, n)
	sd := math.Min(1.0/4, noise/math.Max(total, 1))
	var e linear.Estimate
	if s.interval != nil {
		if e = s.moments.Variance(sums, n, variance); e.Low <= 0 && e.High >= 1.0/4 { // everything is possible
			return s.blank(count)
		}
	}
	e.Value, e.SD = variance, sd
	e, largest := e.Times(width*width), width*width/4
	if s.root {
		e.Value, e.Low, e.High, largest = math.Sqrt(e.Value), math.Sqrt(e.Low), math.Sqrt(e.High), width/2
		for _, x := range []*float64{&e.SD, &e.Error} {
			if *x /= 2 * e.Value; !(*x < largest) {
				*x = largest
			}
		}
	}
	e.SD, e.Error = math.Min(e.SD, largest), math.Min(e.Error, largest)
	return append([]float64{e.Value, e.SD, s.column.Lower + mean*width, count}, s.interval.Ends(e)...)
}

// blank is the row of a cell that shows no values beside their number.
func (s *spread) blank(count float64) []float64 {
	none := math.NaN()
	return append([]float64{none, none, none, count}, s.interval.Ends(linear.Estimate{}.Blank())...)
}

// expected returns what is known of the noise before any data is read.
func (s *spread) expected(public sdk.Public, n linear.Noise) sdk.ExpectedError {
	width := s.column.Upper - s.column.Lower
	above := sdk.Term{NoiseSD: s.noise(n) * width * width, Linear: sdk.Linear{High: width * width / 4, Scale: 1, Adds: s.column.Name}}
	above.Half95 = above.NoiseSD / n.SD * n.Tail(0.05)
	if s.root {
		return linear.Finite(sdk.ExpectedError{
			Field: sdk.EstimateField, Above: &above, Over: &sdk.Term{Linear: sdk.Linear{High: 1, Scale: 1}},
			Note: s.column.Name + ": noise of standard deviation at most " + linear.Figure(s.noise(n)*width*width/2) +
				"/(m·d) in the first order, m the number of values (the column count), d their standard deviation" + s.interval.WideStrata(public),
			SamplingNote: "it depends on the values, which are secret; the more of them and the wider they are spread, the smaller it is",
		})
	}
	e := linear.PerRow(public, s.column.Name, above, sdk.Term{}, width*width/4)
	e.Note += s.interval.WideStrata(public)
	return e
}

// noise is the standard deviation of the noise in the sum of (t − μ)² − σ², in rows, at most:
// that is at μ = σ = 0.
func (s *spread) noise(n linear.Noise) float64 { return s.moments.NoiseOf(n, 0, 0, 1) }
