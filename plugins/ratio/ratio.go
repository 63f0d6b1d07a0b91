package ratio

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(`"numerator", "denominator"`, `
    "numerator":   {"type": "string", "description": "the numeric column whose sum is divided"},
    "denominator": {"type": "string", "description": "the numeric column, without negative values, by whose sum it is divided"},`)

type params struct {
	Numerator   string `json:"numerator"`
	Denominator string `json:"denominator"`
	linear.Common
}

// Mechanism is the ratio of two sums. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe("ratio", "1.0.0", "ratio of the sums of two numeric columns, of the whole table or by group", schema)
}

// output are the columns of the result beside the groups.
func output(p params, d sdk.Design) []sdk.Field {
	above, below := []string{p.Numerator}, []string{p.Denominator}
	sums := []sdk.Field{
		linear.Number(linear.AboveField, "the sum above the line, with noise; "+linear.About(d)),
		linear.Number(linear.BelowField, "the sum below the line, with noise; "+linear.About(d)),
	}
	sums[0].Of, sums[1].Of = above, below
	quotient := linear.Of(p.Interval.WithError(linear.Fields("the ratio of the sums", 0)), above, below)
	return append(slices.Insert(quotient, 2, sums...), linear.OneSided(linear.NearZero))
}

// quotient is a ratio of two sums.
type quotient struct {
	columns  [2]sdk.Column
	lattices [2]linear.Lattice
	interval *linear.Interval
	rows     int64 // of a unit that count
	parts    int   // of a cell: the two sums, and for an interval of a sample those of the squares
	square   float64
	ranges   [5][2]int64
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	var p params
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	var q quotient
	var err error
	for i, name := range []string{p.Numerator, p.Denominator} {
		if q.columns[i], err = linear.NumberColumn(req.Public, []string{"numerator", "denominator"}[i], name); err != nil {
			return nil, err
		}
	}
	if p.Numerator == p.Denominator {
		return nil, errors.New("denominator: must be another column than the numerator")
	}
	if q.columns[1].Lower < 0 {
		return nil, fmt.Errorf("denominator: %q has a negative lower bound; a ratio needs values of at least 0 below the line", p.Denominator)
	}
	cells, noise, err := p.Read(req.Public, output(p, req.Public.Design))
	if err != nil {
		return nil, err
	}
	w, known := linear.WeightsOf(req.Public.Design)
	if !known && !req.Public.Design.EqualWeights {
		return nil, errors.New("the design's largest weight is not known")
	}
	// Both columns have the same number of steps: a power of two that suits the noise on a
	// value of largest magnitude 1.
	u := cells.Units(req.Public, q.columns[:]...)
	step := linear.Step(w.Most, 2*w.Most*float64(u.Groups)*float64(u.Rows)/req.Target.Epsilon, linear.MostRows(req.Public))
	if err := p.Interval.Check(req.Public, cells, q.columns[:]...); err != nil {
		return nil, err
	}
	q.interval, q.rows = p.Interval, u.Rows/req.Public.Cap.Each()
	for i, c := range q.columns {
		most := math.Max(math.Abs(c.Lower), math.Abs(c.Upper))
		if most > 1e150 || most < 1e-150 {
			return nil, fmt.Errorf("column: the bounds of %q must be of ordinary size", c.Name)
		}
		q.lattices[i] = linear.NewLattice(0, step*most, w.Least, w.Most)
		q.ranges[i][0], q.ranges[i][1] = q.lattices[i].Ends(c.Lower, c.Upper)
	}
	q.squares(p.Interval)
	return &linear.Form{
		Cells: cells, Noise: noise, Output: output(p, req.Public.Design),
		Queries:  []linear.Query{{Values: q.columns[:], Reach: linear.Box(q.ranges[:q.parts]...), Add: q.add}},
		Errors:   func(n []linear.Noise) []sdk.ExpectedError { return q.expected(req.Public, n[0]) },
		Estimate: func(_ int, sums []int64, n linear.Noise) linear.Estimate { return q.estimate(sums, n) },
	}, nil
}

// squareShare is the most that squares may count beside a value.
const squareShare = 2

// squares adds the ranges of the products that an interval needs.
func (q *quotient) squares(iv *linear.Interval) {
	q.parts = 2
	if iv == nil || iv.Square == 0 {
		return
	}
	q.parts = 5
	// Both lattices have as many steps, so x − y is a number of them too.
	a, b := q.ranges[0], q.ranges[1]
	d := [2]int64{a[0] - b[1], a[1] - b[0]}
	q.square = squareShare * float64(max(-a[0], a[1], b[1], 1))
	product := func(x, y int64) int64 { return int64(math.Ceil(float64(x) * float64(y) / q.square)) }
	most := max(-d[0], d[1], 0)
	q.ranges[2] = [2]int64{0, product(most, most)}
	q.ranges[3] = [2]int64{-product(max(-d[0], 0), b[1]), product(max(d[1], 0), b[1])}
	q.ranges[4] = [2]int64{0, product(b[1], b[1])}
}

func (q *quotient) add(b linear.Block, sums []int64) {
	above, below := b.Columns[0].Float64, b.Columns[1].Float64
	for i := range above {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		w, f := 1.0, 1.0
		if b.Weights != nil {
			if w = q.lattices[0].Weight(b.Weights[i]); q.interval != nil {
				f = q.interval.Part(w)
			}
		}
		x, y := q.lattices[0].Value(above[i], w), q.lattices[1].Value(below[i], w)
		part := sums[q.parts*c : q.parts*(c+1)]
		part[0] += x
		part[1] += y
		if q.parts == 5 {
			for j, p := range [3][2]int64{{x - y, x - y}, {x - y, y}, {y, y}} {
				v := int64(f * float64(p[0]) * float64(p[1]) / q.square)
				part[2+j] += min(max(v, q.ranges[2+j][0]), q.ranges[2+j][1])
			}
		}
	}
}

func (q *quotient) expected(public sdk.Public, n linear.Noise) []sdk.ExpectedError {
	step, rows := q.lattices[1].Step, math.Max(1, float64(q.rows))
	over := &sdk.Term{NoiseSD: step * n.SD, Half95: step * n.Tail(0.05),
		Linear: sdk.Linear{Low: 0, High: rows * q.columns[1].Upper, Scale: 1, Adds: q.columns[1].Name}}
	if q.parts == 5 {
		over.Unsure = q.interval.Added(q.interval.Square*q.square*step*step*n.SD, over.NoiseSD)
	}
	a := q.columns[0]
	above := &sdk.Term{NoiseSD: q.lattices[0].Step * n.SD, Half95: q.lattices[0].Step * n.Tail(0.05),
		Linear: sdk.Linear{Low: math.Min(0, rows*a.Lower), High: math.Max(0, rows*a.Upper), Scale: 1, Adds: a.Name}}
	return []sdk.ExpectedError{{
		Field: sdk.EstimateField, Over: over, Above: above,
		Note: fmt.Sprintf("noise of standard deviation %s in the sum of %s and %s in the sum of %s", linear.Figure(q.lattices[0].Step*n.SD),
			q.columns[0].Name, linear.Figure(q.lattices[1].Step*n.SD), q.columns[1].Name) + q.interval.WideStrata(public),
		SamplingNote: "it depends on the sum of " + q.columns[1].Name + " in each group, which is secret; the larger that sum, the smaller it is",
	}}
}

// estimate divides, unless the noise hides the sum below the line: then at most one end of the interval
// is left. The ratio is held to what rows allow.
func (q *quotient) estimate(sums []int64, n linear.Noise) linear.Estimate {
	low, high := q.bounds()
	above, below := q.lattices[0].Step*float64(sums[0]), q.lattices[1].Step*float64(sums[1])
	sdAbove, sdBelow := q.lattices[0].Step*n.SD, q.lattices[1].Step*n.SD
	e := linear.Estimate{Above: above, Below: below}
	hidden := n.Hides(below, sdBelow)
	if e.Value = math.Min(math.Max(above/below, low), high); hidden {
		e = e.Blank()
	} else {
		e.SD = math.Min(math.Hypot(sdAbove, e.Value*sdBelow)/below, high-low) // the first-order error of a quotient
	}
	if q.interval != nil {
		own := q.intervalOf(sums, n, e.Value)
		e.Low, e.High, e.Error, e.Freedom = own.Low, own.High, math.Min(own.Error, high-low), own.Freedom
		noLow, noHigh := e.Low <= -endless, e.High >= endless
		switch all := (noLow || e.Low <= low) && (noHigh || e.High >= high); {
		case all, hidden && !noLow && !noHigh: // everything is possible, or it has two ends at a level below 95
			return e.Blank()
		case noLow:
			e.Low = math.NaN()
		case noHigh:
			e.High = math.NaN()
		}
	}
	if hidden {
		return e
	}
	return e.Within(low, high).Along(sdAbove, -e.Value*sdBelow)
}

// endless is from where on a ratio is no end of an interval.
const endless = math.MaxFloat64 / 8

// intervalOf is the interval for the ratio in a cell, with its whole error.
func (q *quotient) intervalOf(s []int64, n linear.Noise, r float64) linear.Estimate {
	low, high := q.bounds()
	unit := q.lattices[0].Step / q.lattices[1].Step
	var sums, sds [5]float64
	for i, step := range []float64{1, 1, q.square, q.square, q.square}[:q.parts] {
		sums[i], sds[i] = step*float64(s[i]), step*n.SD
	}
	e := q.interval.Quotient(r/unit, low/unit, high/unit, sums, sds, n).Times(unit)
	e.Low, e.High = math.Max(e.Low, low), math.Min(e.High, high) // the ends may be beyond a float64 in units of the lattice
	return e
}

// bounds are the ends of the range of the ratio.
func (q *quotient) bounds() (low, high float64) {
	a, b := q.columns[0], q.columns[1]
	if b.Lower <= 0 { // the sum below the line is at least 0, so the sum above it says on which side of 0 the ratio lies
		if low, high = -math.MaxFloat64/4, math.MaxFloat64/4; a.Lower >= 0 {
			low = 0
		} else if a.Upper <= 0 {
			high = 0
		}
		return low, high
	}
	return math.Min(a.Lower/b.Lower, a.Lower/b.Upper), math.Max(a.Upper/b.Lower, a.Upper/b.Upper)
}
