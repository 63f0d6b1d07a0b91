package linear

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Average is the mean of one number of each row, by cell. The lattice value of a row grows with
// its number, so the extremes are the values at the bounds, however floating point rounds.
type Average struct {
	Query
	// Column says between which bounds the number of a row lies.
	Column sdk.Column
	// Divisor is the public constant T of a centred sum, or 0 for a ratio of two sums.
	Divisor float64
	// Total is the weight of all rows, averaged over the draws, where a ratio is taken although that is public; else 0.
	Total float64

	// number maps rows to 0 or 1; nil takes the column as it is. It may reuse its result.
	number    func(Block) []float64
	interval  *Interval
	additive  *Additive      // a centred sum with an interval
	moments   *Moments       // a ratio with an interval for a sample
	clusters  *clusterTotals // a ratio with an interval for a sample of clusters
	lattice   Lattice
	maxWeight float64
	high      int64 // a row of the largest weight adds so much to A + B
	one       int64 // a row adds so much to the count beside a centred sum; 0: there is none
}

// NewAverage chooses the estimator and the lattice for a number between the bounds of c and a
// query that spends epsilon. Divisor comes from the function Divisor. Number, if given, maps rows
// to 0 or 1. A nil interval asks for none.
//
//   - Centred, where the divisor is public and the weights of each draw add up to it, or difference says so: c + Σw(y−c)/T, c the
//     middle of the range.
//   - Beside: a centred sum and a count, where replaced rows keep to the one cell (P24).
//   - Ratio: L + (U−L)·A/(A+B) with A = Σw(y−L), B = Σw(U−y).
//   - A ratio with an interval for the draw of a sample is one of Moments.
func NewAverage(
	c sdk.Column, divisor float64, difference bool, number func(Block) []float64, cells Cells, req sdk.PlanRequest, epsilon float64,
	noise string, iv *Interval,
) (*Average, error) {
	total := 0.0
	if divisor > 0 && !difference && Varies(req.Public.Design) {
		divisor, total = 0, divisor
	}
	w, known := WeightsOf(req.Public.Design)
	if !known && !req.Public.Design.EqualWeights {
		return nil, errWeight
	}
	if err := iv.CheckClustered(req.Public, cells, c); err != nil {
		return nil, err
	}
	q := &Average{Column: c, Divisor: divisor, Total: total, number: number, interval: iv, maxWeight: w.Most}
	if iv != nil && iv.sampled() && divisor == 0 && !iv.Clustered() {
		req.Target.Epsilon = epsilon
		m, err := NewMoments(c, 1, number, cells, req, iv)
		if err != nil {
			return nil, err
		}
		q.Query, q.moments = m.Query, m
		return q, nil
	}
	width, u := w.Most*(c.Upper-c.Lower), cells.Units(req.Public, c)
	scale := width * float64(u.Groups) * float64(u.Rows) / epsilon
	if divisor == 0 {
		scale *= 2
	}
	if math.IsInf(2*width, 0) || math.IsInf(w.Most*math.Max(math.Abs(c.Lower), math.Abs(c.Upper)), 0) {
		return nil, fmt.Errorf("column: the bounds of %q are too far apart", c.Name)
	}
	step := Step(width, scale, MostRows(req.Public))
	q.Values = []sdk.Column{c}
	// A row that is replaced, and cannot leave its one cell for another, moves a centred
	// sum and a count by less than the two sums of a ratio.
	clustered := iv.Clustered() && iv.sampled()
	beside := divisor == 0 && !clustered && cells.N == 1 && w.Most == 1 && w.Least == 1 && OnlyReplace(req.Public)
	if divisor > 0 || beside {
		q.lattice = NewLattice(Middle(c), step, w.Least, w.Most)
	} else {
		q.lattice = NewLattice(c.Lower, step, w.Least, w.Most)
	}
	low, high := q.lattice.Ends(c.Lower, c.Upper)
	switch {
	case divisor > 0:
		q.Reach, q.Add = Scalar(low, high), q.addCentred
		if d := req.Public.Design; number != nil && iv != nil && iv.sampled() && iv.Strata == nil && !clustered && d.EqualWeights &&
			d.SampleSize > 0 {
			q.additive = newOnes(q.lattice, c, divisor, iv)
		} else if iv != nil {
			a, err := NewAdditive(q.lattice, c.Lower, c.Upper, &c, cells, req, iv, noise)
			if err != nil {
				return nil, err
			}
			q.additive, q.Values, q.Reach, q.Done = a, a.Values, a.Reach, a.Done
			a.all = &[2]float64{divisor * (c.Lower - q.lattice.Centre), divisor * (c.Upper - q.lattice.Centre)}
		}
	case beside:
		half := max(-low, high)
		if q.one = half; noise == Gaussian { // 2h = √(h² + 1)
			q.one = int64(math.Sqrt(3) * float64(half))
		}
		q.Reach, q.Add = Beside(half, q.one), q.addBeside
	default:
		q.high = q.lattice.Value(c.Upper, w.Most)
		if q.Reach, q.Add = Simplex(2, 2, q.high), q.addPair; clustered {
			return q, q.byCluster(cells, req, w)
		}
	}
	return q, nil
}

// numbers are the numbers of the rows of a block.
func (q *Average) numbers(b Block) []float64 {
	if q.number != nil {
		return q.number(b)
	}
	return b.Columns[0].Float64
}

// addCentred adds y − c.
func (q *Average) addCentred(b Block, sums []int64) {
	b.Columns = append([]sdk.Values{{Float64: q.numbers(b)}}, b.Columns[1:]...)
	if q.additive != nil {
		q.additive.Add(b, sums)
		return
	}
	q.lattice.Add(b, 0, sums)
}

// addPair adds y − L to the first number of a cell and U − y to the second.
func (q *Average) addPair(b Block, sums []int64) {
	whole, low, inverse := q.high, q.lattice.Centre, q.lattice.inverse
	for i, y := range q.numbers(b) {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		v := int64(0)
		if b.Weights == nil {
			v = round((y - low) * inverse)
		} else {
			w := q.lattice.Weight(b.Weights[i])
			v, whole = q.lattice.Value(y, w), q.lattice.Value(q.Column.Upper, w)
		}
		pair := sums[2*c : 2*c+2 : 2*c+2]
		pair[0] += v
		pair[1] += whole - v
	}
}

// addBeside adds y − c to the first number and one row to the second.
func (q *Average) addBeside(b Block, sums []int64) {
	for i, y := range q.numbers(b) {
		if b.Cell(i) >= 0 {
			sums[0] += q.lattice.Value(y, 1)
			sums[1] += q.one
		}
	}
}

// Linear describes the mean without its noise; nil where it is not linear.
func (q *Average) Linear() *sdk.Linear {
	if q.Divisor == 0 {
		return nil
	}
	c := q.lattice.Centre
	return &sdk.Linear{Low: q.Column.Lower - c, High: q.Column.Upper - c, Scale: 1 / q.Divisor}
}

// Expected is the error of the mean in a cell. What says what it is the mean of.
func (q *Average) Expected(public sdk.Public, what string, n Noise) sdk.ExpectedError {
	e := sdk.ExpectedError{Field: sdk.EstimateField, Note: what}
	half := func(sd float64) float64 { return sd / n.SD * n.Tail(0.05) }
	switch {
	case q.Divisor > 0:
		e.Linear, e.NoiseSD, e.Half95 = q.Linear(), q.Unit()*n.SD, q.Unit()*n.Tail(0.05)
		if q.interval != nil && q.interval.Strata == nil { // their column is not declared
			e.Note += q.interval.WideStrata(public)
		}
		e.Unsure = q.Unsure(n)
	case q.Total > 0:
		above, rows := q.sums(n)
		e = sdk.ExpectedError{Field: sdk.EstimateField, Note: what + ", a ratio of two sums", Above: &above, Over: &rows}
		e.NoiseSD = e.PerRow() / q.Total
		e.Half95, e.Unsure = half(e.NoiseSD), above.Unsure/(q.Total*q.Total)
		e.Above = nil
		middle := Middle(q.Column)
		e.Linear = &sdk.Linear{Low: q.Column.Lower - middle, High: q.Column.Upper - middle, Scale: 1 / q.Total}
		e.Over = &sdk.Term{Linear: sdk.Linear{Low: 1, High: 1, Scale: 1 / q.Total}}
	default:
		above, rows := q.sums(n)
		e = PerRow(public, what, above, rows, q.Column.Upper-q.Column.Lower)
		e.Note += q.interval.WideStrata(public)
		return e
	}
	if q.number == nil {
		e.Linear.Column = q.Column.Name
	}
	return e
}

// unsure is Additive.Unsure for a ratio of two sums times the square of the lower one, at most, as a mean at one of the bounds has it.
func (q *Average) unsure(n Noise) float64 {
	iv, width := q.interval, q.Column.Upper-q.Column.Lower
	switch {
	case iv == nil || !iv.sampled():
		return 0
	case q.moments != nil:
		m, square := q.moments, 0.0
		switch poly := []float64{0, 0, 1}; {
		case m.squares >= 0:
			if m.number != nil { // t² = t
				poly = poly[1:]
			}
			_, square = m.combine(make([]int64, m.squares+1), control(poly, m.squares), n, 0)
			square *= m.shrink
		case m.number != nil:
			square = m.NoiseOf(n, 1) / 4
		default:
			square = m.NoiseOf(n, poly...)
		}
		return width * width * iv.Added(iv.Square*square, m.NoiseOf(n, 0, 1))
	case q.clusters != nil:
		per := width * q.maxWeight / float64(q.high)
		return per * per * iv.Added(iv.Square*float64(q.clusters.divide)*n.SD*math.Sqrt(6)/4, n.SD)
	}
	return 0
}

// Unit is the value of a lattice step in a mean with a public divisor.
func (q *Average) Unit() float64 { return q.lattice.Step / q.Divisor }

// Unsure is Additive.Unsure for a mean with a public divisor.
func (q *Average) Unsure(n Noise) float64 { return q.additive.Unsure(n, 1/q.Divisor) }

// sums describes the two sums of a ratio: of the distances of values from the middle of the bounds, and the number of values. Their
// noise is independent.
func (q *Average) sums(n Noise) (above, rows sdk.Term) {
	half, one := (q.Column.Upper-q.Column.Lower)/2, q.maxWeight/float64(max(q.high, 1))
	switch {
	case q.moments != nil:
		above.NoiseSD, rows.NoiseSD = 2*half*q.moments.NoiseOf(n, -0.5, 1), q.moments.NoiseOf(n, 1)
	case q.one > 0:
		above.NoiseSD, rows.NoiseSD = q.lattice.Step*n.SD, n.SD/float64(q.one)
	default:
		above.NoiseSD, rows.NoiseSD = math.Sqrt2*half*one*n.SD, math.Sqrt2*one*n.SD
	}
	above.Half95, rows.Half95 = above.NoiseSD/n.SD*n.Tail(0.05), rows.NoiseSD/n.SD*n.Tail(0.05)
	above.Unsure = q.unsure(n)
	above.Linear = sdk.Linear{Low: -half, High: half}
	if q.number == nil {
		above.Linear.Column = q.Column.Name
	}
	return above, rows
}

// Estimate is a released value with the standard deviation of its noise. Low and High are the
// interval for the population's value, if the job asks for one. Count is the noisy number of values,
// 0 where that is public, and Above and Below are the sums of a ratio. Value, SD, Low and High are NaN
// where the value means nothing.
type Estimate struct {
	Value, SD, Low, High, Count, Above, Below float64
	// Error is the standard deviation of noise and draw together, and Freedom the degrees of freedom of the draw.
	Error, Freedom float64

	along [2]float64 // see Along
	cut   bool       // see Within
}

// Blank takes the value from an estimate and leaves the count and the sums.
func (e Estimate) Blank() Estimate {
	none := math.NaN()
	e.Value, e.SD, e.Low, e.High, e.Error, e.Freedom = none, none, none, none, none, none
	return e
}

// Within blanks an estimate with an interval that holds everything between the bounds, and remembers
// whether an end was cut off at one of them.
func (e Estimate) Within(lower, upper float64) Estimate {
	if e.Low < e.High && e.Low <= lower && e.High >= upper {
		return e.Blank()
	}
	e.cut = e.Low <= lower || e.High >= upper
	return e
}

// Times is the estimate of so many times the value.
func (e Estimate) Times(x float64) Estimate {
	e.Value, e.SD, e.Low, e.High, e.Error = x*e.Value, x*e.SD, x*e.Low, x*e.High, x*e.Error
	return e
}

// CV is the coefficient of variation, to four decimals.
func (e Estimate) CV() float64 {
	if e.Error < mostCV*math.Abs(e.Value) || math.IsNaN(e.Value) || math.IsNaN(e.Error) {
		return math.Round(1e4*e.Error/math.Abs(e.Value)) / 1e4
	}
	return mostCV
}

// Row puts an estimate in the order of fields.
func (e Estimate) Row(fields []sdk.Field) []float64 {
	row := make([]float64, len(fields))
	for i, f := range fields {
		switch f.Name {
		case sdk.EstimateField:
			row[i] = e.Value
		case sdk.SDField:
			row[i] = e.SD
		case LowField:
			row[i] = e.Low
		case HighField:
			row[i] = e.High
		case ErrorField:
			row[i] = e.Error
		case CVField:
			row[i] = e.CV()
		case FreedomField:
			row[i] = e.Freedom
		case CountField:
			row[i] = e.Count
		case AboveField:
			row[i] = e.Above
		case BelowField:
			row[i] = e.Below
		}
	}
	return row
}

// Estimate is the mean in a cell, from its noisy sums.
func (q *Average) Estimate(sums []int64, n Noise) Estimate {
	switch {
	case q.moments != nil:
		return q.moments.Mean(sums, n)
	case q.clusters != nil:
		return q.betweenClusters(sums, n)
	case q.Divisor > 0:
		return q.centred(sums, n)
	case q.one > 0:
		return q.besides(sums[0], sums[1], n)
	}
	return q.quotient(sums[0], sums[1], n)
}

// centred is c + sum/T, held to the bounds.
func (q *Average) centred(sums []int64, n Noise) Estimate {
	unit, c := q.lattice.Step/q.Divisor, q.Column
	x := q.lattice.Centre + unit*float64(sums[0])
	half := unit * n.Tail(0.05)
	low, high := x-half, x+half // without an interval noise alone may hide everything
	e := Estimate{SD: unit * n.SD}.Along(1, 0)
	if q.additive != nil {
		low, high = q.additive.Interval(sums, n, q.lattice.Centre, 1/q.Divisor)
		e.Low, e.High = math.Max(low, c.Lower), math.Min(high, c.Upper)
		e.Error, e.Freedom = q.additive.Error(sums, n, 1/q.Divisor)
	}
	if low <= c.Lower && high >= c.Upper || low > c.Upper || high < c.Lower {
		return e.Blank()
	}
	e.Value, e.cut = Clamp(c, x), q.additive != nil && (low <= c.Lower || high >= c.Upper)
	return e
}

// besides is c + S/C, S the noisy centred sum and C the noisy number of values, cut off at
// the bounds.
func (q *Average) besides(sum, count int64, n Noise) Estimate {
	one, step, c := float64(q.one), q.lattice.Step, q.Column
	s, values := step*float64(sum), float64(count)/one
	e := Estimate{Count: values}
	if n.Hides(float64(count), n.SD) {
		return e.Blank()
	}
	e.Value = Clamp(c, q.lattice.Centre+s/values)
	e = e.Along(step, -(e.Value-q.lattice.Centre)/one)
	noise := func(mean float64) float64 { return n.SD * math.Hypot(step, (mean-q.lattice.Centre)/one) }
	e.SD = math.Min(c.Upper-c.Lower, noise(e.Value)/math.Max(1, values))
	if q.interval == nil {
		return e
	}
	lucky := q.interval.lucky(n, float64(count), n.SD, 1/one, false) / one
	e.Low, e.High = q.interval.solve(e.Value, c.Lower, c.Upper, c.Upper-c.Lower, n, 0, func(mean float64) (float64, spread) {
		return s - (mean-q.lattice.Centre)*values, spread{noise: noise(mean), lucky: lucky * math.Abs(mean-q.lattice.Centre)}
	})
	return e.Within(c.Lower, c.Upper)
}

// lightest returns how much a row of the least weight adds to A + B.
func (q *Average) lightest() float64 { return float64(q.high) * q.lattice.Least / q.maxWeight }

// quotient is L + (U−L)·A/(A+B), cut off at the bounds.
func (q *Average) quotient(a, b int64, n Noise) Estimate {
	lower, width := q.Column.Lower, q.Column.Upper-q.Column.Lower
	x, y := float64(a), float64(b)
	e := Estimate{Count: (x + y) * q.maxWeight / float64(q.high)}
	if n.Hides(x+y, math.Sqrt2*n.SD) {
		return e.Blank()
	}
	share := math.Min(math.Max(x/(x+y), 0), 1)
	e = e.Along(1-share, -share)
	noise := func(share float64) float64 { return n.SD * math.Hypot(1-share, share) }
	e.Value = lower + width*share
	e.SD = math.Min(width, width*noise(share)/math.Max(x+y, q.lightest()))
	if q.interval == nil {
		return e
	}
	lucky := q.interval.lucky(n, x+y, math.Sqrt2*n.SD, q.maxWeight/float64(q.high), false) // it may lie in one of the two sums alone
	low, high := q.interval.solve(share, 0, 1, 1, n, 0, func(share float64) (float64, spread) {
		return (1-share)*x - share*y, spread{noise: noise(share), lucky: lucky * math.Max(share, 1-share)}
	})
	e.Low, e.High = lower+width*low, lower+width*high
	return e.Within(lower, lower+width)
}
