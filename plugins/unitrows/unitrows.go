package unitrows

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var schema = linear.Schema(`"column", "at_most"`, `
    "column":  {"type": "string", "description": "the numeric column that says how many rows a unit has"},
    "at_most": {"type": "integer", "minimum": 2, "maximum": 1000, "description": "units with more rows count as having so many"},
    "keep":    {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1, "maximum": 1000},
                "description": "how many rows of a unit count, ascending: the share that is left out is given for each"},
    "choose":  {"type": "boolean", "default": false,
                "description": "instead of keep, for a job that chooses its cap in private: the units are counted between two caps, `+
	`and the share that is left out is given for each"},`)

type params struct {
	asked.UnitRows
	linear.Common
}

// Mechanism is the histogram of units by their number of rows. Its zero value is ready for use.
type Mechanism = linear.Mechanism[statistic]

type statistic struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (statistic) Describe() sdk.Description {
	d := linear.Describe(asked.UnitRows{}.Mechanism(), "1.1.0",
		"numbers of units by how many rows they have, and the rows that a cap leaves out", schema)
	d.Capped, d.Weighted = false, false // a cap hides what is counted
	return d
}

// The columns of text of the result.
const (
	aboutField  = asked.About
	figureField = "figure"
)

// figure is one row of the result: Σ weights·bins, or a share of that.
type figure struct {
	about, name string
	weights     []float64
	of          []float64 // a share: of this sum; nil otherwise
}

// bins are the smallest numbers of rows in each bin: one for each number, or for each cap that may be chosen, where a bin
// ends at the next cap.
func (p params) bins() []int {
	var all []int
	if p.Choose {
		caps := asked.Caps(int64(p.AtMost))
		for i := range caps {
			all = append(all, 1)
			if i > 0 {
				all[i] = int(caps[i-1]) + 1
			}
		}
		return all
	}
	for i := range p.AtMost {
		all = append(all, i+1)
	}
	return all
}

// figures are the rows of the result of a cell.
func (p params) figures() []figure {
	bins := p.bins()
	weights := func(of func(rows int) int) []float64 {
		out := make([]float64, len(bins))
		for i, rows := range bins {
			out[i] = float64(of(rows))
		}
		return out
	}
	all := weights(func(rows int) int { return rows })
	left := func(keep int) []float64 { return weights(func(rows int) int { return max(rows-keep, 0) }) }
	out := []figure{{"rows", "in the table, at least", all, nil}}
	if p.Choose {
		caps := asked.Caps(int64(p.AtMost))
		for _, keep := range caps[:len(caps)-1] { // units with more rows than the last count as having so many
			out = append(out, figure{"share", fmt.Sprintf("left out by a cap of %d, at least", keep), left(int(keep)), all})
		}
	} else {
		for _, keep := range p.Keep {
			out = append(out,
				figure{"rows", fmt.Sprintf("that count, %d of a unit at most", keep), weights(func(rows int) int { return min(rows, keep) }), nil},
				figure{"share", fmt.Sprintf("left out where %d of a unit count, at least", keep), left(keep), all})
		}
	}
	for i, rows := range bins {
		name := fmt.Sprintf("with %d rows", rows)
		switch {
		case i == len(bins)-1:
			name += " or more"
		case bins[i+1] > rows+1:
			name = fmt.Sprintf("with %d to %d rows", rows, bins[i+1]-1)
		case rows == 1:
			name = "with 1 row"
		}
		one := make([]float64, len(bins))
		one[i] = 1
		out = append(out, figure{asked.Units, name, one, nil})
	}
	return out
}

// output are the columns of the result after those of the groups.
func (p params) output() []sdk.Field {
	var abouts, names []string
	for _, f := range p.figures() {
		abouts, names = append(abouts, f.about), append(names, f.name)
	}
	slices.Sort(abouts)
	fields := []sdk.Field{
		{Name: aboutField, Type: sdk.String, Texts: slices.Compact(abouts),
			Doc: "what is counted: rows, units, or the share of rows that is left out"},
		{Name: figureField, Type: sdk.String, Texts: names, Doc: "which of them"},
	}
	return append(append(fields, p.Interval.With(linear.Fields("the number, or the share", 0))...), linear.Flag(linear.TooFew))
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
	switch {
	case p.Choose && (p.AtMost < 2 || p.AtMost > asked.MostRows || len(p.Keep) > 0):
		return nil, fmt.Errorf("choose: at_most must be between 2 and %d, and keep must be left out", asked.MostRows)
	case !p.Choose && (p.AtMost < 2 || len(p.Keep) == 0 || p.Keep[0] < 1 || p.Keep[len(p.Keep)-1] > p.AtMost || !ascending(p.Keep)):
		return nil, errors.New("keep: must be between 1 and at_most, ascending, and at_most at least 2")
	case !p.Choose && req.Public.Design.Kind != "full":
		return nil, errors.New("choose: the rows that a cap leaves out are those of the whole table, not of a sample")
	}
	cells, noise, err := p.Read(req.Public, append(p.output(), linear.Flag(linear.TooFew)))
	if err != nil {
		return nil, err
	}
	if cells.Units(req.Public, c).Rows > 1 {
		return nil, errors.New("a unit with several rows would count several times: fold it")
	}
	n, err := linear.NewCounts(req, 1)
	if err != nil {
		return nil, err
	}
	if noise == linear.Auto {
		noise = linear.Laplace // a unit is in one bin, so no δ makes the noise smaller by much
	}
	return &linear.Form{
		Cells: cells, Noise: noise, Output: p.output(), PerCell: len(p.figures()),
		Queries: []linear.Query{{
			Values: []sdk.Column{c}, Reach: n.OneOf(len(p.bins())),
			Add: func(b linear.Block, sums []int64) { p.add(n.Lattice, b, sums) },
		}},
		Errors: func(noises []linear.Noise) []sdk.ExpectedError { return p.expected(n.Unit(), noises[0]) },
		Finish: func(sums [][]int64, noises []linear.Noise) []sdk.ResultColumn {
			return p.result(cells.N, n.Unit(), sums[0], noises[0])
		},
	}, nil
}

// ascending reports whether no number stands twice, or before a smaller one.
func ascending(x []int) bool {
	return slices.IsSorted(x) && len(slices.Compact(slices.Clone(x))) == len(x)
}

// add counts each unit in the bin of its number of rows. // P22
func (p params) add(l linear.Lattice, b linear.Block, sums []int64) {
	bins := p.bins()
	for i, rows := range b.Columns[0].Float64 {
		if c := b.Cell(i); c >= 0 {
			w := 1.0
			if b.Weights != nil {
				w = l.Weight(b.Weights[i])
			}
			bin := sort.SearchInts(bins, int(math.Min(math.Max(math.RoundToEven(rows), 1), float64(p.AtMost)))+1)
			sums[c*len(bins)+bin-1] += l.Value(1, w)
		}
	}
}

// sd is the standard deviation of the noise in Σ weights·bins, for bins with the given one.
func sd(weights []float64, each float64) float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w * w
	}
	return each * math.Sqrt(sum)
}

func (p params) expected(unit float64, n linear.Noise) []sdk.ExpectedError {
	all, each := p.figures(), unit*n.SD
	rows := sd(all[0].weights, each)
	return []sdk.ExpectedError{
		{Field: sdk.EstimateField, NoiseSD: each, Half95: unit * n.Tail(0.05), Note: "units"},
		{Field: sdk.EstimateField, NoiseSD: rows, Half95: sd(all[0].weights, unit*n.Tail(0.05)), Note: "rows"},
		{Field: sdk.EstimateField, Note: "share: the noise in it is about that in the number of rows, over that number",
			SamplingNote: "the whole table is read"},
	}
}

// result makes the figures of all cells from their noisy bins. It is post-processing.
func (p params) result(cells int, unit float64, sums []int64, n linear.Noise) []sdk.ResultColumn {
	about, name := sdk.ResultColumn{Name: aboutField}, sdk.ResultColumn{Name: figureField}
	figures := p.figures()
	numbers := linear.Results(p.output()[2:], func(yield func([]float64) bool) {
		for c := range cells {
			bins := make([]float64, len(sums)/cells)
			for i := range bins {
				bins[i] = unit * float64(sums[c*len(bins)+i])
			}
			for _, f := range figures {
				if !yield(f.row(p.Interval, bins, unit*n.SD, n)) {
					return
				}
			}
		}
	})
	for range cells {
		for _, f := range figures {
			about.Texts, name.Texts = append(about.Texts, f.about), append(name.Texts, f.name)
		}
	}
	return append([]sdk.ResultColumn{about, name}, numbers...)
}

// row is a figure with the standard deviation of its noise and, where one is asked for, its interval.
func (f figure) row(iv *linear.Interval, bins []float64, each float64, n linear.Noise) []float64 {
	value := dot(f.weights, bins)
	if f.of != nil {
		return f.share(iv, bins, each, n)
	}
	noise := sd(f.weights, each)
	if iv == nil {
		return []float64{value, noise}
	}
	half := iv.Half(0, noise)
	return []float64{value, noise, math.Max(value-half, math.Min(0, value)), math.Max(value+half, 0)} // it is the sum of units, or of rows
}

// share is the row of a quotient of two sums.
func (f figure) share(iv *linear.Interval, bins []float64, each float64, n linear.Noise) []float64 {
	part, whole, none := dot(f.weights, bins), dot(f.of, bins), math.NaN()
	row := []float64{none, none, none, none}
	if !n.Hides(whole, sd(f.of, each)) {
		s := math.Min(math.Max(part/whole, 0), 1)
		row[0], row[1] = s, math.Min(sd(f.less(s), each)/whole, 1)
		if iv != nil {
			row[2], row[3] = iv.Share(s, func(s float64) (float64, float64) { return part - s*whole, sd(f.less(s), each) })
		}
		if iv != nil && row[2] <= 0 && row[3] >= 1 { // everything is possible
			row = []float64{none, none, none, none}
		}
	}
	if iv == nil {
		return row[:2]
	}
	return row
}

// less are the weights of the sum that is 0 if the share is s.
func (f figure) less(s float64) []float64 {
	out := make([]float64, len(f.weights))
	for i, w := range f.weights {
		out[i] = w - s*f.of[i]
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
