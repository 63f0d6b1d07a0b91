package distinct

import (
	"errors"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(``, ``)

// Mechanism is the number of units. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe("distinct", "1.0.0", "number of units, in all or by group", schema)
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	var p linear.Common
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	cells, noise, err := p.Read(req.Public, p.Interval.WithError(linear.Fields("", 0)))
	if err != nil {
		return nil, err
	}
	rows := cells.Units(req.Public)
	switch {
	case rows.Rows > 1:
		return nil, errors.New("a unit with several rows would count several times: cap each unit at one row (cap: {rows: 1}), or fold it")
	case req.Public.Population > 0 && !rows.Leaves && !rows.Switches:
		return nil, errors.New("the number of units is public under replace-one: a neighbour changes neither it nor their groups")
	}
	n, err := linear.NewCounts(req, 1)
	if err != nil {
		return nil, err
	}
	if err := p.Interval.Check(req.Public, cells); err != nil {
		return nil, err
	}
	units, err := linear.NewAdditive(n.Lattice, 1, 1, nil, cells, req, p.Interval, noise)
	if err != nil {
		return nil, err
	}
	return &linear.Form{
		Cells: cells, Noise: noise, Output: p.Interval.WithError(linear.Fields("the number of units in the population", n.Unit())),
		Queries: []linear.Query{units.Query},
		Errors:  func(noise []linear.Noise) []sdk.ExpectedError { return n.Expected(noise[0], "each number") },
		Row:     func(_ int, sums []int64, noise linear.Noise) []float64 { return n.Row(sums, noise, p.Interval, units) },
	}, nil
}
