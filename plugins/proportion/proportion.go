package proportion

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(`"column"`, `
    "column": {"type": "string", "description": "the column that has the property: a category, or a number"},
    "values": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true}],
               "description": "of a category: the value, or the values, whose share is released"},
    "from":   {"type": "number", "description": "of a number: the least value that counts; without it, all from the lower bound on"},
    "to":     {"type": "number", "description": "of a number: values below it count; without it, all up to the upper bound"},
`+linear.DifferenceSchema)

type params struct {
	asked.Share
	Values     sdk.Names `json:"values"`
	Difference bool      `json:"difference"`
	linear.Common
}

// Mechanism is the share of rows. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe(asked.Share{}.Mechanism(), "1.0.0", "share of rows with a property, of the whole table or by group", schema)
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	var p params
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	c, has, err := p.property(req.Public)
	if err != nil {
		return nil, err
	}
	count := linear.Counted(req.Public.Design)
	cells, noise, err := p.Read(req.Public, append(p.Interval.WithError(linear.Fields("", 0, count)), linear.Flag(linear.TooFew)))
	if err != nil {
		return nil, err
	}
	// The number that is averaged has the missing values of the column.
	of := sdk.Column{Name: c.Name, Type: c.Type, Domain: c.Domain, Missing: c.Missing, Lower: 0, Upper: 1}
	share, err := linear.NewAverage(of, linear.Divisor(req.Public, cells, c), p.Difference, has, cells, req, req.Target.Epsilon,
		noise, p.Interval)
	if err != nil {
		return nil, err
	}
	fields := linear.Estimating(sdk.StatisticShare, linear.Fields("the share of rows", 0))
	if share.Divisor == 0 {
		fields = append(fields, count)
	}
	fields = append(p.Interval.WithError(fields), linear.Flag(linear.TooFew))
	return &linear.Form{
		Cells: cells, Noise: noise, Queries: []linear.Query{share.Query}, Output: fields,
		Errors: func(n []linear.Noise) []sdk.ExpectedError {
			return []sdk.ExpectedError{share.Expected(req.Public, c.Name, n[0])}
		},
		Estimate: func(_ int, sums []int64, n linear.Noise) linear.Estimate { return share.Estimate(sums, n) },
	}, nil
}

// property is the column and the function that says 1 where a row has the property.
func (p params) property(public sdk.Public) (sdk.Column, func(linear.Block) []float64, error) {
	c, ok := public.Column(p.Column)
	switch {
	case !ok:
		return c, nil, fmt.Errorf("column: %q is not declared in dataset.columns", p.Column)
	case c.Type == sdk.Category && (p.From != nil || p.To != nil):
		return c, nil, errors.New("from and to are for numbers; name the values of a category")
	case c.Type == sdk.Category:
		return p.category(c)
	case len(p.Values) > 0:
		return c, nil, errors.New("values: are for a category; give from, to or both for a number")
	case p.From == nil && p.To == nil:
		return c, nil, errors.New("from: give from, to or both for a number")
	}
	from, to := math.Inf(-1), math.Inf(1)
	if p.From != nil {
		from = *p.From
	}
	if p.To != nil {
		to = *p.To
	}
	if !(from < to) {
		return c, nil, errors.New("from: must be below to")
	}
	var buffer []float64
	return c, func(b linear.Block) []float64 {
		buffer = slices.Grow(buffer[:0], b.Rows)[:b.Rows]
		for i, x := range b.Columns[0].Float64 {
			buffer[i] = 0
			if from <= x && x < to {
				buffer[i] = 1
			}
		}
		return buffer
	}, nil
}

// category is the property of having one of the values.
func (p params) category(c sdk.Column) (sdk.Column, func(linear.Block) []float64, error) {
	if len(p.Values) == 0 {
		return c, nil, errors.New("values: name the value, or the values, whose share is asked for")
	}
	in := make([]float64, len(c.Domain))
	for _, v := range p.Values {
		at := slices.Index(c.Domain, v)
		if at < 0 {
			return c, nil, fmt.Errorf("values: %q is not in the domain of %q", v, c.Name)
		}
		in[at] = 1
	}
	var buffer []float64
	return c, func(b linear.Block) []float64 {
		buffer = slices.Grow(buffer[:0], b.Rows)[:b.Rows]
		for i, code := range b.Columns[0].Codes {
			if buffer[i] = 0; code >= 0 {
				buffer[i] = in[code]
			}
		}
		return buffer
	}, nil
}
