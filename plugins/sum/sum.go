package sum

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(`"column"`, `
    "column": {"type": "string", "description": "the numeric column to add up"},
`+linear.DifferenceSchema)

type params struct {
	Column     string `json:"column"`
	Difference bool   `json:"difference"`
	linear.Common
}

// Mechanism is the total. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe("sum", "1.0.0", "total of a numeric column, of the whole table or by group", schema)
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	var p params
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	c, err := linear.NumberColumn(req.Public, "column", p.Column)
	if err != nil {
		return nil, err
	}
	cells, noise, err := p.Read(req.Public, p.Interval.WithError(linear.Fields("", 0)))
	if err != nil {
		return nil, err
	}
	w, known := linear.WeightsOf(req.Public.Design)
	if !known {
		return nil, linear.ErrScale
	}
	if err := p.Interval.CheckClustered(req.Public, cells, c); err != nil {
		return nil, err
	}
	if n := float64(req.Public.Population); n > 0 && !p.Difference && linear.Varies(req.Public.Design) {
		if d := linear.Divisor(req.Public, cells, c); d > 0 {
			return ratio(req, c, cells, d, n, p, noise)
		}
	}
	t, err := newTotal(req, c, cells, w)
	if err != nil {
		return nil, err
	}
	if t.additive, err = linear.NewAdditive(t.lattice, c.Lower, c.Upper, &c, cells, req, p.Interval, noise); err != nil {
		return nil, err
	}
	t.interval = p.Interval
	what := "the total of " + c.Name
	if w.Scale != 1 || w.Most != 1 {
		what += ", scaled to the population"
	}
	granularity := t.unit()
	if t.offset != 0 {
		granularity = 0
	}
	fields := linear.Of(p.Interval.WithError(linear.Estimating(sdk.StatisticTotal, linear.Fields(what, granularity))), []string{c.Name}, nil)
	return &linear.Form{
		Cells: cells, Noise: noise,
		Queries: []linear.Query{t.additive.Query},
		Output:  fields,
		Errors:  func(n []linear.Noise) []sdk.ExpectedError { return t.expected(n[0]) },
		Row:     func(_ int, sums []int64, n linear.Noise) []float64 { return t.estimate(sums, n).Row(fields) },
	}, nil
}

// ratio is the form of a total that is the public number of rows times the ratio of two sums.
func ratio(req sdk.PlanRequest, c sdk.Column, cells linear.Cells, divisor, rows float64, p params, noise string) (*linear.Form, error) {
	q, err := linear.NewAverage(c, divisor, false, nil, cells, req, req.Target.Epsilon, noise, p.Interval)
	if err != nil {
		return nil, err
	}
	if math.IsInf(rows*math.Max(math.Abs(c.Lower), math.Abs(c.Upper)), 0) {
		return nil, fmt.Errorf("column: the bounds of %q are too far apart", c.Name)
	}
	fields := p.Interval.WithError(
		linear.Estimating(sdk.StatisticTotal, linear.Fields("the total of "+c.Name+", scaled to the population", 0)))
	fields = append(linear.Of(fields, []string{c.Name}, nil), linear.Flag(linear.TooFew))
	return &linear.Form{
		Cells: cells, Noise: noise, Queries: []linear.Query{q.Query}, Output: fields,
		Errors: func(n []linear.Noise) []sdk.ExpectedError {
			e := q.Expected(req.Public, "the total of "+c.Name, n[0])
			e.NoiseSD, e.Half95, e.Linear.Scale = rows*e.NoiseSD, rows*e.Half95, rows*e.Linear.Scale
			return []sdk.ExpectedError{e}
		},
		Estimate: func(_ int, sums []int64, n linear.Noise) linear.Estimate { return q.Estimate(sums, n).Times(rows) },
	}, nil
}

// total is offset + scale·Σ w(y−c) in each cell.
type total struct {
	column        sdk.Column
	lattice       linear.Lattice
	additive      *linear.Additive
	interval      *linear.Interval
	units         sdk.Units
	each          int64 // how many rows a row counts as
	offset, scale float64
}

func newTotal(req sdk.PlanRequest, c sdk.Column, cells linear.Cells, w linear.Weights) (*total, error) {
	t := &total{column: c, units: cells.Units(req.Public, c), each: req.Public.Cap.Each(), scale: w.Scale}
	centre := 0.0
	if d := linear.Divisor(req.Public, cells, c); d > 0 && req.Public.Population > 0 {
		// N·c + N/T·Σ w(y−c), with T the divisor of a mean
		centre = linear.Middle(c)
		t.scale = float64(req.Public.Population) / d
		t.offset = float64(req.Public.Population) * centre
	}
	most := w.Most * math.Max(math.Abs(c.Lower-centre), math.Abs(c.Upper-centre))
	if !(most > 0) || math.IsInf(4*most*t.scale, 0) || math.IsInf(t.offset, 0) {
		return nil, fmt.Errorf("column: the bounds of %q are too far apart or too close together", c.Name)
	}
	moves := most * float64(t.units.Groups) * float64(t.units.Rows)
	t.lattice = linear.NewLattice(centre, linear.Step(most, moves/req.Target.Epsilon, linear.MostRows(req.Public)), w.Least, w.Most)
	return t, nil
}

// unit returns what a lattice step stands for.
func (t *total) unit() float64 { return t.lattice.Step * t.scale }

func (t *total) expected(n linear.Noise) []sdk.ExpectedError {
	rows, centre := float64(t.units.Rows/t.each), t.lattice.Centre
	facts := &sdk.Linear{Low: t.column.Lower - centre, High: t.column.Upper - centre, Scale: t.scale, Adds: t.column.Name}
	if t.units.Leaves || t.units.Cells > 1 || t.units.Rows > 1 {
		facts.Low, facts.High = rows*math.Min(0, facts.Low), rows*math.Max(0, facts.High)
	} else {
		facts.Column = t.column.Name
	}
	return []sdk.ExpectedError{{
		Field: sdk.EstimateField, NoiseSD: t.unit() * n.SD, Half95: t.unit() * n.Tail(0.05), Note: "each total", Linear: facts,
		Unsure: t.additive.Unsure(n, t.scale),
	}}
}

func (t *total) estimate(sums []int64, n linear.Noise) linear.Estimate {
	e := linear.Estimate{Value: t.offset + t.unit()*float64(sums[0]), SD: t.unit() * n.SD}
	if t.interval != nil {
		e.Low, e.High = t.additive.Interval(sums, n, t.offset, t.scale)
		e.Error, e.Freedom = t.additive.Error(sums, n, t.scale)
	}
	return e
}
