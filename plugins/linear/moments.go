package linear

import (
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Moments are sums of polynomials of one number t of each row, by cell, where the number of rows
// is secret. Each t lies between 0 and 1. A row adds its weight, divided among the Bernstein
// polynomials of t: C(k,i)·tⁱ(1−t)^{k−i} for i = 0..k. They are at least 0 and add up to 1, so all
// sums together cost as much as one count. Every polynomial of t up to degree k is a linear
// function of them.
type Moments struct {
	Query
	// Rows is the public number of rows in a cell, which the sums add up to; 0: it is secret.
	Rows float64

	column   sdk.Column
	number   func(Block) []float64 // nil: the column
	lattice  Lattice
	interval *Interval
	degree   int     // of the first block, of rows with their weights
	squares  int     // the degree of the second block, of rows that weigh f·w²; -1: there is none
	shrink   float64 // divides the weights of the second block
}

// secondShare bounds the weight of the second block against that of the first.
const secondShare = 2

// NewMoments makes sums of polynomials up to a degree, and of their squares if an interval needs
// them. Number maps rows to 0 or 1, which are their own squares; nil takes the column as it is.
func NewMoments(c sdk.Column, degree int, number func(Block) []float64, cells Cells, req sdk.PlanRequest, iv *Interval) (*Moments, error) {
	w, known := WeightsOf(req.Public.Design)
	if !known && !req.Public.Design.EqualWeights {
		return nil, errWeight
	}
	m := &Moments{column: c, number: number, interval: iv, degree: degree, squares: -1}
	m.Values = []sdk.Column{c}
	u := cells.Units(req.Public, c)
	step := Step(w.Most, 2*w.Most*float64(u.Groups)*float64(u.Rows)/req.Target.Epsilon, MostRows(req.Public))
	m.lattice = NewLattice(0, step, w.Least, w.Most)
	double := 2 * degree
	if number != nil {
		double = degree
	}
	if iv != nil && iv.sampled() && !iv.Weighted {
		m.degree = double // one block is enough
	}
	m.Reach, m.Add = Simplex(m.degree+1, m.degree+1, m.lattice.Value(1, w.Most)), m.add
	if iv != nil && iv.sampled() && iv.Weighted {
		m.squares, m.shrink = double, math.Max(1, secondShare*w.Most*iv.Part(w.Most))
		m.Reach = Beneath(m.Reach, Simplex(double+1, double+1, m.lattice.Value(1, m.square(w.Most))))
	}
	return m, nil
}

func (m *Moments) add(b Block, sums []int64) {
	numbers := b.Columns[0].Float64
	if m.number != nil {
		numbers = m.number(b)
	}
	low, inverse, parts := m.column.Lower, 1/(m.column.Upper-m.column.Lower), m.Reach.Parts
	if m.number != nil {
		low, inverse = 0, 1
	}
	w, one := 1.0, m.lattice.Value(1, 1)
	if m.degree == 2 && b.Weights == nil {
		for i, y := range numbers {
			if c := b.Cell(i); c >= 0 {
				quadratic(min(max((y-low)*inverse, 0), 1), one, sums[3*c:3*c+3:3*c+3])
			}
		}
		return
	}
	for i, y := range numbers {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		t, part := min(max((y-low)*inverse, 0), 1), sums[c*parts:(c+1)*parts]
		if b.Weights != nil {
			w = m.lattice.Weight(b.Weights[i])
			one = m.lattice.Value(1, w)
		}
		bernstein(t, one, part[:m.degree+1])
		if m.squares >= 0 {
			bernstein(t, m.lattice.Value(1, m.square(w)), part[m.degree+1:])
		}
	}
}

// square is f·w² in the units of the second block. It grows with w ≥ 1, rounding included, and is
// never negative.
func (m *Moments) square(w float64) float64 {
	if m.interval.Replacement {
		return w * w / m.shrink
	}
	return w * math.Max(w-1, 0) / m.shrink
}

// bernstein divides the whole among the polynomials of t and adds them to the parts. Each cut lies
// between the cut before it and the whole, so the shares are at least 0 and add up to the whole.
func bernstein(t float64, whole int64, parts []int64) {
	k := len(parts) - 1
	if k == 2 {
		quadratic(t, whole, parts)
		return
	}
	term, sum, before := math.Pow(1-t, float64(k)), 0.0, int64(0)
	for i := range k {
		if 1-t > 0 {
			if i > 0 {
				term *= t / (1 - t) * float64(k-i+1) / float64(i)
			}
			sum += term
		}
		cut := max(before, min(round(float64(whole)*sum), whole))
		parts[i] += cut - before
		before = cut
	}
	parts[k] += whole - before
}

// quadratic is bernstein for three parts.
func quadratic(t float64, whole int64, parts []int64) {
	last := min(round(float64(whole)*(t*t)), whole)
	first := min(round(float64(whole)*((1-t)*(1-t))), whole-last)
	parts[0] += first
	parts[1] += whole - first - last
	parts[2] += last
}

// control writes a polynomial in the Bernstein polynomials of degree k:
// β_i = Σ_j C(i,j)/C(k,j)·c_j.
func control(poly []float64, k int) []float64 {
	out := make([]float64, k+1)
	for i := range out {
		share := 1.0 // C(i,j)/C(k,j)
		for j, c := range poly {
			if j > 0 {
				share *= float64(i-j+1) / float64(k-j+1)
			}
			out[i] += share * c
		}
	}
	return out
}

// Value is the sum of a polynomial of t over the rows of a cell, with their weights, and the
// standard deviation of its noise.
func (m *Moments) Value(sums []int64, poly []float64, n Noise) (sum, sd float64) {
	return m.combine(sums[:m.degree+1], control(poly, m.degree), n, m.Rows)
}

// drawn is the estimated variance, over the draws, of the sum of a polynomial, and the
// standard deviation of its noise.
func (m *Moments) drawn(sums []int64, poly []float64, n Noise) (variance, sd float64) {
	iv := m.interval
	if !iv.sampled() {
		return 0, 0
	}
	square := make([]float64, 2*len(poly)-1)
	for i, a := range poly {
		for j, b := range poly {
			square[i+j] += a * b
		}
	}
	if m.number != nil && len(square) == 3 { // t² = t
		square = []float64{square[0], square[1] + square[2]}
	}
	if m.squares < 0 {
		variance, sd = m.combine(sums[:m.degree+1], control(square, m.degree), n, m.Rows)
	} else {
		variance, sd = m.combine(sums[m.degree+1:], control(square, m.squares), n, 0)
		variance, sd = variance*m.shrink, sd*m.shrink
	}
	return iv.Square * variance, iv.Square * sd
}

// combine is Σ β_i·sum_i. Where the sums add up to a public number of rows, their mean has no noise.
func (m *Moments) combine(sums []int64, beta []float64, n Noise, rows float64) (sum, sd float64) {
	step, middle := m.lattice.Step, 0.0
	if rows > 0 {
		for _, b := range beta {
			middle += b / float64(len(beta))
		}
	}
	for i, b := range beta {
		b -= middle
		sum += b * step * float64(sums[i])
		sd += b * b
	}
	return sum + middle*rows, step * n.SD * math.Sqrt(sd)
}

// mean is the mean of t in a cell, and the number of rows with their weights. There is no mean
// where that number may be 0.
func (m *Moments) mean(sums []int64, n Noise) (mean, rows float64, ok bool) {
	rows, sd := m.Value(sums, []float64{1}, n)
	total, _ := m.Value(sums, []float64{0, 1}, n)
	if m.Hidden(rows, sd, n) {
		return 0, rows, false
	}
	return math.Min(math.Max(total/rows, 0), 1), rows, true
}

// Hidden reports whether there may be no rows in a cell, as far as the noise in their number shows.
func (m *Moments) Hidden(rows, sd float64, n Noise) bool {
	return m.Rows == 0 && n.Hides(rows, sd)
}

// Mean is the mean of the numbers in a cell with its interval.
func (m *Moments) Mean(sums []int64, n Noise) (e Estimate) {
	low, width := m.column.Lower, m.column.Upper-m.column.Lower
	if m.number != nil {
		low, width = 0, 1
	}
	t, rows, ok := m.mean(sums, n)
	if e.Count = rows; !ok {
		return e.Blank()
	}
	_, noise := m.Value(sums, []float64{-t, 1}, n)
	e.Value, e.SD = low+t*width, math.Min(width, width*noise/math.Max(1, rows))
	at, matter := func(x float64) (float64, spread) { return m.equation(sums, []float64{-x, 1}, n) }, m.rows(rows)
	if m.number != nil && m.interval.sampled() {
		at, matter = func(x float64) (float64, spread) { return m.score(sums, x, n) }, 0
	}
	_, own := m.equation(sums, []float64{-t, 1}, n) // without the larger variance that a score may take
	e.Error, e.Freedom = math.Min(width, width*own.whole()/math.Max(1, rows)), m.interval.freedom()
	a, b := m.interval.solve(t, 0, 1, 1, n, matter, at)
	e.Low, e.High = low+a*width, low+b*width
	return e.Within(low, low+width)
}

// Variance is the interval for the variance of t in a cell that has a mean, about an estimate of
// the variance, with its whole error.
func (m *Moments) Variance(sums []int64, n Noise, estimate float64) (e Estimate) {
	mean, rows, _ := m.mean(sums, n)
	at := func(x float64) (float64, spread) {
		return m.equation(sums, []float64{mean*mean - x, -2 * mean, 1}, n)
	}
	_, own := at(estimate)
	e.Error, e.Freedom = math.Min(0.25, own.whole()/math.Max(1, rows)), m.interval.freedom()
	e.Low, e.High = m.interval.solve(estimate, 0, 0.25, 1, n, m.rows(rows), at)
	return e
}

// equation returns the noisy sum of a polynomial over the population, which the equation
// sets to 0, and its spread.
func (m *Moments) equation(sums []int64, poly []float64, n Noise) (float64, spread) {
	u, noise := m.Value(sums, poly, n)
	draw, unsure := m.drawn(sums, poly, n)
	s := spread{draw: draw, unsure: unsure, noise: noise}
	if m.Rows == 0 { // the noise that lifted the number of rows may lie in one of the sums alone
		rows, sd := m.Value(sums, []float64{1}, n)
		lucky := m.interval.lucky(n, rows, sd, 1, len(poly) > 2)
		for _, b := range control(poly, m.degree) {
			s.lucky = math.Max(s.lucky, math.Abs(b)*lucky)
		}
	}
	return u, s
}

// score is the equation of a share, with the variance that the draw would have if the share were x, like that of a number of rows
// (Additive.score): near 0 and 1 the rows that happened to be drawn know too little of it. Half a row is the correction for whole numbers.
func (m *Moments) score(sums []int64, x float64, n Noise) (float64, spread) {
	u, s := m.equation(sums, []float64{-x, 1}, n)
	half := m.lattice.Least / 2
	u = math.Copysign(math.Max(0, math.Abs(u)-half), u)
	count, sd := 0.0, 0.0
	if m.squares < 0 {
		count, sd = m.Value(sums, []float64{1}, n)
	} else {
		count, sd = m.combine(sums[m.degree+1:], control([]float64{1}, m.squares), n, 0)
		count, sd = count*m.shrink, sd*m.shrink
	}
	per := m.interval.Square * x * (1 - x)
	if draw := per * count; m.squares < 0 || draw > s.draw {
		s.draw, s.unsure = draw, per*sd
	}
	return u, s
}

// rows is about the number of rows of the sample in a cell.
func (m *Moments) rows(weighted float64) float64 {
	if m.Rows > 0 {
		return m.Rows
	}
	return math.Max(2, weighted/math.Max(m.lattice.Most, 1))
}

// Sums are the sums of the three Bernstein polynomials of degree 2, in rows, for any degree that
// was added up. The public number of rows has not corrected them yet.
func (m *Moments) Sums(sums []int64) (x [3]float64) {
	for i, poly := range [][]float64{{1, -2, 1}, {0, 2, -2}, {0, 0, 1}} {
		x[i], _ = m.combine(sums[:m.degree+1], control(poly, m.degree), Noise{}, 0)
	}
	return x
}

// NoiseOf is the standard deviation of the noise in the sum of a polynomial, in rows.
func (m *Moments) NoiseOf(n Noise, poly ...float64) float64 {
	_, sd := m.combine(make([]int64, m.degree+1), control(poly, m.degree), n, 0)
	return sd
}
