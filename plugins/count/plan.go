package count

import (
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism is the table of counts or sums. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe("count", "1.1.0", "counts or sums by groups of public domains", schema)
}

// layout follows from public facts alone; Release derives it again.
type layout struct {
	*shape
	public   sdk.Public
	weights  linear.Weights
	lattice  linear.Lattice
	additive *linear.Additive
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	l, err := newQuery(req)
	if err != nil {
		return nil, err
	}
	return &linear.Form{
		Cells: l.cells, Noise: l.Noise, Queries: []linear.Query{l.additive.Query},
		Output: l.output(), Errors: l.expected, Finish: l.result,
	}, nil
}

// newQuery is the layout without its noise.
func newQuery(req sdk.PlanRequest) (*layout, error) {
	s, err := parse(req)
	if err != nil {
		return nil, err
	}
	w, known := linear.WeightsOf(req.Public.Design)
	if !known {
		return nil, linear.ErrScale
	}
	l := &layout{shape: s, public: req.Public, weights: w}
	l.lattice = linear.NewLattice(0, l.step(req.Target.Epsilon), w.Least, w.Most)
	if err := l.Interval.CheckClustered(req.Public, l.cells, l.values()...); err != nil {
		return nil, err
	}
	// A row adds one to its cell, or its value.
	low, high, column := 1.0, 1.0, (*sdk.Column)(nil)
	if l.Sum != "" {
		low, high, column = l.sum.Lower, l.sum.Upper, &l.sum
	}
	l.additive, err = linear.NewAdditive(l.lattice, low, high, column, l.cells, req, l.Interval, l.Noise)
	return l, err
}

// step is 1 for unweighted counts, and about a millionth of the noise for sums, weighted counts and
// counts whose squares by cluster would be too coarse in whole rows.
func (l *layout) step(epsilon float64) float64 {
	if l.Sum == "" && l.weights.Most == 1 && l.weights.Least == 1 && !l.Interval.Clustered() {
		return 1
	}
	// How far one row can move the sums, before rounding.
	low, high := 0.0, l.weights.Most
	if l.Sum != "" {
		low, high = l.weights.Most*l.sum.Lower, l.weights.Most*l.sum.Upper
	}
	most := math.Max(math.Max(-low, high), math.Max(-high, low))
	moves := most * float64(l.units.Groups) * float64(l.units.Rows)
	if linear.OnlyReplace(l.public) && !l.units.Leaves && !l.units.Switches && l.Sum != "" && l.weights.Most == 1 {
		moves = high - low
	}
	return linear.Step(most, moves/epsilon, linear.MostRows(l.public))
}

func (l *layout) unit() float64 { return l.lattice.Step * l.weights.Scale }

func (l *layout) expected(noises []linear.Noise) []sdk.ExpectedError {
	// Without noise a cell is weight·Σ w·z, where z is what one unit adds to that cell. Each
	// of the unit's rows adds 1 in a count and its value in a sum.
	rows := float64(l.units.Rows / l.public.Cap.Each())
	facts := &sdk.Linear{Low: 0, High: rows, Scale: l.weights.Scale}
	if l.Sum != "" {
		facts.Adds, facts.Low, facts.High = l.Sum, rows*math.Min(0, l.sum.Lower), rows*math.Max(0, l.sum.Upper)
		if len(l.cells.Groups) == 0 && !l.units.Leaves {
			facts.Column, facts.Low, facts.High = l.Sum, l.sum.Lower, l.sum.Upper
		}
	}
	n := noises[0]
	return []sdk.ExpectedError{{Field: "estimate", NoiseSD: l.unit() * n.SD, Half95: l.unit() * n.Tail(0.05), Note: "each cell", Linear: facts,
		Unsure: l.additive.Unsure(n, l.unit()/l.lattice.Step)}}
}
