package variance

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(`"column"`, `
    "column": {"type": "string", "description": "the numeric column"},`)

type params struct {
	Column string `json:"column"`
	linear.Common
}

// Mechanism is the variance. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{ root bool }

// SD is the mechanism sd: the root of the variance.
func SD() Mechanism { return Mechanism{Of: statistic{root: true}} }

// Describe returns the name, version, parameters and designs of the mechanism.
func (m statistic) Describe() sdk.Description {
	if m.root {
		return linear.Describe("sd", "1.0.0", "standard deviation of a numeric column, of the whole table or by group", schema)
	}
	return linear.Describe("variance", "1.0.0", "variance of a numeric column, of the whole table or by group", schema)
}

// output are the columns of the result beside the groups.
func (m statistic) output(p params, d sdk.Design) []sdk.Field {
	what, of, statistic := "the variance of the values", []string{p.Column, p.Column}, sdk.StatisticVariance
	if m.root {
		statistic = sdk.StatisticSD
		what, of = "the standard deviation of the values", of[:1]
	}
	mean := linear.Number("mean", "the mean of the values, with noise")
	mean.Of = []string{p.Column}
	fields := p.Interval.WithError(linear.Estimating(statistic, linear.Fields(what, 0)))
	return slices.Insert(append(linear.Of(fields, of, nil), linear.Flag(linear.TooFew)), 2, mean, linear.Counted(d))
}

// Form makes the statistic of a request.
func (m statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	var p params
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	c, err := linear.NumberColumn(req.Public, "column", p.Column)
	if err != nil {
		return nil, err
	}
	width := c.Upper - c.Lower
	if width > 1e150 || width < 1e-150 || math.Max(math.Abs(c.Lower), math.Abs(c.Upper)) > 1e300 {
		return nil, fmt.Errorf("column: the bounds of %q must be of ordinary size", c.Name)
	}
	cells, noise, err := p.Read(req.Public, m.output(p, req.Public.Design))
	if err != nil {
		return nil, err
	}
	if err := p.Interval.Check(req.Public, cells, c); err != nil {
		return nil, err
	}
	s := &spread{root: m.root, column: c, interval: p.Interval}
	if s.moments, err = linear.NewMoments(c, 2, nil, cells, req, p.Interval); err != nil {
		return nil, err
	}
	if d := req.Public.Design; d.EqualWeights && linear.Divisor(req.Public, cells, c) > 0 {
		s.moments.Rows = float64(d.SampleSize)
	}
	return &linear.Form{
		Cells: cells, Noise: noise, Output: m.output(p, req.Public.Design),
		Queries: []linear.Query{s.moments.Query},
		Errors: func(n []linear.Noise) []sdk.ExpectedError {
			return []sdk.ExpectedError{s.expected(req.Public, n[0])}
		},
		Row: s.row,
	}, nil
}
