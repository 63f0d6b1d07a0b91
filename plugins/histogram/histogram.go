package histogram

import (
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(`"column", "edges"`, `
    "column": {"type": "string", "description": "the numeric column whose values are counted"},
    "edges":  {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 10001,
               "description": "the edges of the bins, ascending: a value counts in the bin whose lower edge it reaches, `+
	`the last bin has its upper edge too"},`)

type params struct {
	Column string    `json:"column"`
	Edges  []float64 `json:"edges"`
	linear.Common
}

// Mechanism is the histogram. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return linear.Describe("histogram", "1.0.0", "how many values of a numeric column lie between public edges", schema)
}

// fields are the columns of the result beside the groups.
func fields(granularity float64) []sdk.Field {
	return append([]sdk.Field{
		linear.Number("lower", "lower edge of the bin, which is part of it"),
		linear.Number("upper", "upper edge of the bin, which is part of the last one only"),
	}, linear.Fields("the number of values in the bin, in the population", granularity)...)
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
	b, err := newBins(p.Edges)
	if err != nil {
		return nil, err
	}
	cells, noise, err := p.Read(req.Public, p.Interval.WithError(fields(0)))
	if err != nil {
		return nil, err
	}
	capped := cells.Units(req.Public, c).Rows
	n, err := linear.NewCounts(req, capped)
	if err != nil {
		return nil, err
	}
	if err := p.Interval.Check(req.Public, cells, c); err != nil {
		return nil, err
	}
	f := &linear.Form{Cells: cells, Noise: noise, PerCell: b.n()}
	q := linear.Query{Values: []sdk.Column{c}}
	if k := linear.NewNodes(req, p.Interval, capped); k != nil && b.n() > 1 {
		q.Reach, q.Add = k.Reach(b.n()), func(rows linear.Block, sums []int64) { b.weigh(k, rows, sums) }
		f.Output = p.Interval.WithError(fields(0))
		f.Errors = func(noise []linear.Noise) []sdk.ExpectedError {
			return k.Expected(noise[0], "each bin"+p.Interval.WideStrata(req.Public))
		}
		f.Row = func(at int, sums []int64, noise linear.Noise) []float64 { return b.edged(at, k.Row(sums, noise)) }
	} else {
		rough := n.Rough(p.Interval)
		q.Reach, q.Add = n.OneOf(b.n()), func(rows linear.Block, sums []int64) { b.count(n.Lattice, rows, sums) }
		f.Output = p.Interval.WithError(fields(n.Unit()))
		f.Errors = func(noise []linear.Noise) []sdk.ExpectedError {
			return n.Expected(noise[0], "each bin"+p.Interval.WideStrata(req.Public))
		}
		f.Row = func(at int, sums []int64, noise linear.Noise) []float64 {
			return b.edged(at, n.Row(sums, noise, p.Interval, rough))
		}
	}
	f.Queries = []linear.Query{q}
	return f, nil
}

// edged puts the edges of a bin before its figures.
func (b *bins) edged(at int, figures []float64) []float64 {
	return append([]float64{b.edges[at], b.edges[at+1]}, figures...)
}

// weigh counts the values of the rows at the nodes of their weights.
func (b *bins) weigh(k *linear.Nodes, rows linear.Block, sums []int64) {
	for i, x := range rows.Columns[0].Float64 {
		if c := rows.Cell(i); c >= 0 {
			if at := b.find(x); at >= 0 {
				w := 1.0
				if rows.Weights != nil {
					w = rows.Weights[i]
				}
				k.Add(w, sums[(c*b.n()+at)*k.N():])
			}
		}
	}
}

// count counts the values of the rows.
func (b *bins) count(l linear.Lattice, rows linear.Block, sums []int64) {
	one, n := l.Value(1, 1), b.n()
	for i, x := range rows.Columns[0].Float64 {
		c := rows.Cell(i)
		if c < 0 {
			continue
		}
		if at := b.find(x); at >= 0 {
			if rows.Weights != nil {
				one = l.Value(1, l.Weight(rows.Weights[i]))
			}
			sums[c*n+at] += one
		}
	}
}
