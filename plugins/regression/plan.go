package regression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism is linear regression from noisy sums. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return sdk.Description{
		Name:      "regression",
		Version:   "1.0.0",
		Summary:   "linear regression by least squares, in one pass, with standard errors",
		Params:    json.RawMessage(schema),
		Relations: linear.Relations(),
		Designs:   sdk.EveryDesign(),
		Linear:    true,
	}
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	l, err := newLayout(req)
	if err != nil {
		return nil, err
	}
	return &linear.Form{
		Cells: linear.Cells{N: 1}, Noise: l.params.Noise, Output: output, PerCell: len(l.set.Names()) + 1 + len(facts),
		Queries: []linear.Query{{Values: l.columns(), Reach: l.sums.reach(), Add: l.add}},
		Errors:  func(noises []linear.Noise) []sdk.ExpectedError { return l.expected(noises[0]) },
		Finish: func(sums [][]int64, noises []linear.Noise) []sdk.ResultColumn {
			return l.result(l.solve(sums[0], noises[0]), noises[0])
		},
	}, nil
}

// layout is everything that a release needs to know. It follows from public facts.
type layout struct {
	params params
	set    features.Set
	target features.Feature
	weight float64 // the largest design weight, 1 where all are equal
	rows   float64 // the number of rows where it is public and every row counts, else 0
	sums   sums
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req.Params)
	if err != nil {
		return nil, err
	}
	l := &layout{params: p, weight: 1}
	if l.set, err = features.NewSet(p.Features, p.Log, p.Target, maxWidth, req.Public); err != nil {
		return nil, err
	}
	if l.target, err = features.New(p.Target, "target", slices.Contains(p.Log, p.Target), req.Public); err != nil {
		return nil, err
	}
	if l.target.Column.Type != sdk.Number {
		return nil, fmt.Errorf("target: %q is not a number; for a yes or no use mechanism sgd with model: logistic", p.Target)
	}
	if linear.MostRows(req.Public) > maxRows {
		return nil, errors.New("the table may have too many records")
	}
	d := req.Public.Design
	if !d.EqualWeights {
		if l.weight = d.MaxWeight; !(l.weight >= 1) || math.IsInf(l.weight, 0) {
			return nil, fmt.Errorf("the largest weight of the design is not known")
		}
	} else if d.SampleSize > 0 && !(linear.Cells{N: 1}).Units(req.Public, l.columns()...).Leaves {
		l.rows = float64(d.SampleSize)
	}
	l.sums = newSums(l.set, l.rows > 0)
	return l, nil
}

// columns are the columns that are read, the target last.
func (l *layout) columns() []sdk.Column {
	var out []sdk.Column
	for _, f := range l.set.Features {
		out = append(out, f.Column)
	}
	return append(out, l.target.Column)
}

// add adds the products of the rows of a block. A row that lacks a value adds nothing.
func (l *layout) add(b linear.Block, total []int64) {
	v := make([]float64, l.sums.size)
	v[0] = 1
	last, y := len(l.set.Features), l.sums.size-1
	var nonzero []int
	for row := range b.Rows {
		if b.Cell(row) < 0 {
			continue
		}
		nonzero = append(nonzero[:0], 0)
		for k := range l.set.Features {
			f := &l.set.Features[k]
			at := f.First + 1
			if f.Column.Type == sdk.Category {
				if code := int(b.Columns[k].Codes[row]); code > 0 { // 0 is the reference
					at += code - 1
					v[at], nonzero = 1, append(nonzero, at)
				}
				continue
			}
			if v[at] = f.Scaled(b.Columns[k].Float64[row]); v[at] != 0 {
				nonzero = append(nonzero, at)
			}
		}
		if v[y] = l.target.Scaled(b.Columns[last].Float64[row]); v[y] != 0 {
			nonzero = append(nonzero, y)
		}
		weight := 1.0
		if b.Weights != nil {
			// The host's weights are at most the design's largest; the bound needs it.
			weight = math.Max(0, math.Min(1, b.Weights[row]/l.weight))
		}
		l.sums.add(total, v, nonzero, weight)
	}
}

// unit is the standard deviation of the noise in each sum, in units of one product.
func unit(n linear.Noise) float64 { return n.SD / steps }
