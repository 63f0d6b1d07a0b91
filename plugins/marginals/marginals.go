package marginals

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism is the family of tables. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	return sdk.Description{
		Name: "marginals", Version: "1.0.0",
		Summary: "tables of counts by all combinations of some columns, consistent with one another, with the least noise",
		Params:  json.RawMessage(schema), Relations: linear.Relations(), Designs: sdk.EveryDesign(), Capped: true, Linear: true, Weighted: true,
	}
}

// Form makes the statistic of a request.
func (statistic) Form(req sdk.PlanRequest) (*linear.Form, error) {
	l, err := layoutOf(req)
	if err != nil {
		return nil, err
	}
	if !(req.Target.Delta > 0) {
		return nil, fmt.Errorf("guarantee: marginals add Gaussian noise, which needs a rho, or a delta beside epsilon; " +
			"under a pure epsilon take count or histogram, one table each")
	}
	var columns []sdk.Column
	for _, d := range l.dimensions {
		columns = append(columns, d.column)
	}
	rows := 0
	for _, t := range l.Tables {
		rows += l.Cells(t)
	}
	var c *counter
	q := linear.Query{
		Values: columns, Reach: l.moves,
		Add: func(b linear.Block, _ []int64) {
			if c == nil {
				c = newCounter(l)
			}
			c.add(b)
		},
		Done: func(sums []int64) {
			if c != nil {
				c.done(sums)
			}
		},
	}
	return &linear.Form{
		Cells: linear.Cells{N: 1}, Noise: linear.Gaussian, Queries: []linear.Query{q}, Output: l.output(), PerCell: rows,
		Errors: func(noises []linear.Noise) []sdk.ExpectedError { return l.expected(req.Public, noises[0]) },
		Finish: func(sums [][]int64, noises []linear.Noise) []sdk.ResultColumn { return l.result(sums[0], noises[0]) },
	}, nil
}

// output are the columns of the result.
func (l *layout) output() []sdk.Field {
	fields := []sdk.Field{{Name: "table", Type: sdk.String, Doc: "the columns of the table, with commas between"}}
	for i := range l.widest {
		fields = append(fields, sdk.Field{Name: fmt.Sprint("value", i+1), Type: sdk.String,
			Doc: fmt.Sprintf("value of column %d of the table, empty where it has fewer", i+1)})
	}
	fields = append(fields, linear.Fields("the number of records in the cell, in the population", 0)...)
	if l.Finish == "whole" {
		fields = append(fields, sdk.Field{Name: "whole", Type: sdk.Int64,
			Doc: "post-processing of the estimates: whole, not negative, and adding up in all tables; biased where cells are small"})
	}
	return fields
}

// expected returns how accurate the tables are.
func (l *layout) expected(public sdk.Public, n linear.Noise) []sdk.ExpectedError {
	least, most, worst := math.Inf(1), 0.0, ""
	for i, sds := range l.deviations(n) {
		for _, sd := range sds {
			if sd > most {
				most, worst = sd, l.name(l.Tables[i])
			}
			if sd > 0 {
				least = math.Min(least, sd)
			}
		}
	}
	facts := &sdk.Linear{Low: 0, High: l.rows, Scale: l.weigh.Scale}
	if l.public && public.Design.SampleSize == 0 {
		facts.Low = -l.rows // the total is public, and that of the sample is not
	}
	note := "each cell"
	if most > least*(1+1e-9) {
		note = fmt.Sprintf("cells of %s, the least accurate; the most accurate ones have a standard deviation of %s", worst, linear.Figure(least))
	}
	return []sdk.ExpectedError{{Field: sdk.EstimateField, NoiseSD: most, Half95: most * normal95, Note: note, Linear: facts}}
}

// normal95 is the 97.5 % quantile of a normal variable: the noise of a cell is a sum of many
// discrete Gaussian ones on a fine lattice.
const normal95 = 1.959963984540054

// result is made from the noisy vector and public facts alone.
func (l *layout) result(noisy []int64, n linear.Noise) []sdk.ResultColumn {
	parts := l.parts(noisy)
	estimates, sds := l.estimates(parts), l.deviations(n)
	cells := 0
	for _, e := range estimates {
		cells += len(e)
	}
	table := make([]string, 0, cells)
	values := make([][]string, l.widest)
	for i := range values {
		values[i] = make([]string, cells)
	}
	estimate, noise := make([]float64, 0, cells), make([]float64, 0, cells)
	for i, t := range l.Tables {
		name, each := l.name(t), len(estimates[i])
		for j, p := range t {
			labels := l.dimensions[p.Attribute].levels[p.Level-1].labels
			each /= len(labels)
			column := values[j][len(estimate):][:len(estimates[i])]
			for at := 0; at < len(column); {
				for _, label := range labels {
					for range each {
						column[at] = label
						at++
					}
				}
			}
		}
		estimate = append(estimate, estimates[i]...)
		for x := range estimates[i] {
			table, noise = append(table, name), append(noise, sds[i][min(x, len(sds[i])-1)])
		}
	}
	out := []sdk.ResultColumn{{Name: "table", Texts: table}}
	for i, v := range values {
		out = append(out, sdk.ResultColumn{Name: fmt.Sprint("value", i+1), Texts: v})
	}
	out = append(out, sdk.ResultColumn{Name: sdk.EstimateField, Float64: estimate}, sdk.ResultColumn{Name: sdk.SDField, Float64: noise})
	if l.Finish == "whole" {
		out = append(out, sdk.ResultColumn{Name: "whole", Int64: l.whole(parts, n.SD)})
	}
	return out
}
