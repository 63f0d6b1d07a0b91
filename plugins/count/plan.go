package count

import (
	"errors"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism is the table of counts. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe("count", "1.2.0", "counts by groups of public domains", schema)
}

// layout follows from public facts alone; Release derives it again.
type layout struct {
	params
	public   sdk.Public
	cells    linear.Cells
	units    sdk.Units
	weights  linear.Weights
	lattice  linear.Lattice
	additive *linear.Additive
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	l, err := newLayout(req)
	if err != nil {
		return nil, err
	}
	return &linear.Form{
		Cells: l.cells, Noise: l.Noise, Queries: []linear.Query{l.additive.Query},
		Output: l.output(), Errors: l.expected, Finish: l.result,
	}, nil
}

func newLayout(req sdk.PlanRequest) (l *layout, err error) {
	pub := req.Public
	l = &layout{public: pub}
	if err := sdk.DecodeParams(req.Params, &l.params); err != nil {
		return nil, err
	}
	if l.Noise, err = linear.NoiseOf(l.Noise, linear.Usual(req)); err != nil {
		return nil, err
	}
	if l.cells, err = linear.NewCells(pub, l.By, own...); err != nil {
		return nil, err
	}
	if l.units = l.cells.Units(pub); l.cells.N > 1 && pub.Design.Kind == "stratified" && !l.units.Leaves {
		l.units.Switches = true // the counts of strata are public; jobs that ask for them keep their noise
	}
	if pub.Population > 0 && !l.units.Switches && !l.units.Leaves {
		return nil, errors.New("these counts are public under replace-one: a neighbour changes neither the number of records nor their groups")
	}
	var known bool
	if l.weights, known = linear.WeightsOf(pub.Design); !known {
		return nil, linear.ErrScale
	}
	if err := l.Interval.CheckClustered(pub, l.cells); err != nil {
		return nil, err
	}
	l.lattice = linear.NewLattice(0, l.step(req.Target.Epsilon), l.weights.Least, l.weights.Most)
	l.additive, err = linear.NewAdditive(l.lattice, 1, 1, nil, l.cells, req, l.Interval, l.Noise)
	return l, err
}

// step is 1 for unweighted counts, and about a millionth of the noise for weighted counts and
// counts whose squares by cluster would be too coarse in whole rows.
func (l *layout) step(epsilon float64) float64 {
	most := l.weights.Most
	if most == 1 && l.weights.Least == 1 && !l.Interval.Clustered() {
		return 1
	}
	moves := most * float64(l.units.Groups) * float64(l.units.Rows) // of one unit, before rounding
	return linear.Step(most, moves/epsilon, linear.MostRows(l.public))
}

func (l *layout) unit() float64 { return l.lattice.Step * l.weights.Scale }

func (l *layout) expected(noises []linear.Noise) []sdk.ExpectedError {
	// Without noise a cell is weight·Σ w·z, where z is how many rows one unit adds to that cell.
	facts := &sdk.Linear{Low: 0, High: float64(l.units.Rows / l.public.Cap.Each()), Scale: l.weights.Scale}
	n := noises[0]
	return []sdk.ExpectedError{{
		Field: sdk.EstimateField, NoiseSD: l.unit() * n.SD, Half95: l.unit() * n.Tail(0.05), Note: "each cell",
		Linear: facts, Unsure: l.additive.Unsure(n, l.unit()/l.lattice.Step),
	}}
}
