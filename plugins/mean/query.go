package mean

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// query is one column's sums on the lattice. The lattice value of a row is an increasing
// function of the clipped value, so its extremes are its values at the bounds whatever
// floating point does in between.
type query struct {
	linear.Query
	column    sdk.Column
	lattice   linear.Lattice
	divisor   float64 // the public constant T of a centred sum, else 0
	maxWeight float64
	high      int64 // what a row of the largest weight adds to A + B
	one       int64 // what a row adds to the second number beside a centred sum, else 0
}

// newQuery chooses the estimator and the lattice of one column.
func newQuery(c sdk.Column, divisor float64, w linear.Weights, cells linear.Cells, req sdk.PlanRequest, epsilon float64, noise string) (query, error) {
	q := query{column: c, divisor: divisor, maxWeight: w.Most}
	width, u := w.Most*(c.Upper-c.Lower), cells.Units(req.Public, c)
	scale := width * float64(u.Groups) * float64(u.Rows) / epsilon
	if divisor == 0 {
		scale *= 2
	}
	if math.IsInf(2*width, 0) || math.IsInf(w.Most*math.Max(math.Abs(c.Lower), math.Abs(c.Upper)), 0) {
		return q, fmt.Errorf("column: the bounds of %q are too far apart", c.Name)
	}
	step := linear.Step(width, scale, linear.MostRows(req.Public))
	q.Values = []sdk.Column{c}
	// A row that is replaced, and cannot leave its one cell for another, moves a centred
	// sum and a count by less than the two sums of a ratio (P24).
	beside := divisor == 0 && cells.N == 1 && w.Most == 1 && w.Least == 1 && linear.OnlyReplace(req.Public)
	if divisor > 0 || beside {
		q.lattice = linear.NewLattice(linear.Middle(c), step, w.Least, w.Most)
	} else {
		q.lattice = linear.NewLattice(c.Lower, step, w.Least, w.Most)
	}
	low, high := q.lattice.Ends(c.Lower, c.Upper)
	switch {
	case divisor > 0:
		q.Reach = linear.Scalar(low, high)
		q.Add = func(b linear.Block, sums []int64) { q.lattice.Add(b, 0, sums) }
	case beside:
		half := max(-low, high)
		if q.one = half; noise == linear.Gaussian { // 2h = √(h² + 1)
			q.one = int64(math.Sqrt(3) * float64(half))
		}
		q.Reach, q.Add = linear.Beside(half, q.one), q.addBeside
	default:
		q.high = q.lattice.Value(c.Upper, w.Most)
		q.Reach, q.Add = linear.Simplex(2, 2, q.high), q.addPair
	}
	return q, nil
}

// addPair adds y − L to the first number of a cell and U − y to the second.
func (q query) addPair(b linear.Block, sums []int64) {
	for i, y := range b.Columns[0].Float64 {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		w := 1.0
		if b.Weights != nil {
			w = q.lattice.Weight(b.Weights[i])
		}
		v := q.lattice.Value(y, w)
		sums[2*c] += v
		sums[2*c+1] += q.lattice.Value(q.column.Upper, w) - v
	}
}

// addBeside adds y − c to the first number and one row to the second.
func (q query) addBeside(b linear.Block, sums []int64) {
	for i, y := range b.Columns[0].Float64 {
		if b.Cell(i) >= 0 {
			sums[0] += q.lattice.Value(y, 1)
			sums[1] += q.one
		}
	}
}

// perValue is the standard deviation of the noise in a mean, in the first order and at
// most, times the number of values.
func (q query) perValue(n linear.Noise) float64 {
	if q.one > 0 {
		half := (q.column.Upper - q.column.Lower) / 2
		return n.SD * math.Hypot(q.lattice.Step, half/float64(q.one))
	}
	return (q.column.Upper - q.column.Lower) * n.SD / float64(q.high) * q.maxWeight
}

type estimate struct{ value, sd, low, high, count float64 }

// estimate is the mean in a cell, from its noisy sums.
func (q query) estimate(sums []int64, n linear.Noise) estimate {
	switch {
	case q.divisor > 0:
		return q.centred(sums[0], n)
	case q.one > 0:
		return q.besides(sums[0], sums[1], n)
	}
	return q.quotient(sums[0], sums[1], n)
}

// centred is c + sum/T: unbiased, and therefore not cut off at the bounds.
func (q query) centred(sum int64, n linear.Noise) estimate {
	unit := q.lattice.Step / q.divisor
	v, tail := q.lattice.Centre+unit*float64(sum), unit*n.Tail(0.05)
	return estimate{value: v, sd: unit * n.SD, low: v - tail, high: v + tail}
}

// besides is c + S/C, S the noisy centred sum and C the noisy number of values, cut off at
// the bounds. Intervals for S and for C together give one for the quotient.
func (q query) besides(sum, count int64, n linear.Noise) estimate {
	one, step, centre := float64(q.one), q.lattice.Step, q.lattice.Centre
	at := func(s, c, none float64) float64 {
		if c <= 0 {
			return none
		}
		return linear.Clamp(q.column, centre+step*s*(one/c))
	}
	s, c, tail := float64(sum), float64(count), n.Tail(0.025)
	e := estimate{value: at(s, c, centre), count: c / one}
	// The quotient falls in C where S is positive, and grows where it is not.
	e.low = math.Min(at(s-tail, c+tail, q.column.Lower), at(s-tail, c-tail, q.column.Lower))
	e.high = math.Max(at(s+tail, c+tail, q.column.Upper), at(s+tail, c-tail, q.column.Upper))
	width := q.column.Upper - q.column.Lower
	e.sd = math.Min(width, n.SD/math.Max(1, c/one)*math.Hypot(step, (e.value-centre)/one))
	return e
}

// quotient is L + (U−L)·A/(A+B). It grows with A and falls with B, so an
// interval for each gives one for the quotient.
func (q query) quotient(a, b int64, n linear.Noise) estimate {
	lower, width, tail := q.column.Lower, q.column.Upper-q.column.Lower, n.Tail(0.025)
	at := func(a, b, share float64) float64 {
		a, b = math.Max(a, 0), math.Max(b, 0)
		if a+b > 0 {
			share = a / (a + b)
		}
		return lower + width*share
	}
	x, y := float64(a), float64(b)
	e := estimate{
		value: at(x, y, 0.5),
		low:   at(x-tail, y+tail, 0),
		high:  at(x+tail, y-tail, 1),
		count: (x + y) * q.maxWeight / float64(q.high),
	}
	// First-order error of the quotient, never more than the range itself.
	total := math.Max(math.Max(x, 0)+math.Max(y, 0), float64(q.high))
	e.sd = math.Min(width, width*n.SD*math.Hypot(math.Max(x, 0), math.Max(y, 0))/(total*total))
	return e
}
