package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Query is one vector of sums: for each cell, one whole number for each part.
type Query struct {
	// Values are the columns that the query reads. A row in which one of them is missing
	// is in no cell.
	Values []sdk.Column
	Reach  sdk.Reach
	// Add adds the vectors of the rows to sums, where the parts of a cell lie side by side. The
	// vector of a row must depend on that row alone and keep to Reach.
	Add func(b Block, sums []int64)
	// Done, if given, is called after the last row. It adds what Add kept for later.
	Done func(sums []int64)
}

// Form is a statistic for one request. It depends on public facts alone, so Release makes it
// again.
type Form struct {
	Cells   Cells
	Noise   string // Auto, Laplace or Gaussian
	Queries []Query
	// Output are the columns of the result after those of the groups. A cell has PerCell rows in
	// it; 0 stands for 1.
	Output  []sdk.Field
	PerCell int
	// Errors are the expected errors that follow from the noises of the queries.
	Errors func(noises []Noise) []sdk.ExpectedError
	// Row makes row at of a cell from its share of the noisy sums of the one query: a number for
	// each column of Output.
	Row func(at int, sums []int64, n Noise) []float64
	// Estimate stands in the place of Row for a statistic that can tell how it changed between two
	// periods. It makes the estimate of a cell from its share of the noisy sums of a query.
	Estimate func(query int, sums []int64, n Noise) Estimate
	// Finish makes the columns of Output from the noisy sums of all queries, where there is neither Row nor Estimate.
	Finish func(sums [][]int64, noises []Noise) []sdk.ResultColumn

	change *Change
}

// Maker makes the form of a request.
type Maker func(req sdk.PlanRequest) (*Form, error)

// Relations are those under which its event holds.
func Relations() []privacy.Relation {
	return []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
}

// Plan plans the form of a request.
func Plan(req sdk.PlanRequest, maker Maker) (sdk.Plan, error) {
	f, claims, err := form(req, maker)
	if err != nil {
		return sdk.Plan{}, err
	}
	event, err := sdk.ChooseNoise(f.Noise, claims, req)
	if err != nil {
		return sdk.Plan{}, err
	}
	noises := noisesOf(event)
	if slices.ContainsFunc(noises, func(n Noise) bool { return n.SD > mostNoise }) {
		return sdk.Plan{}, errors.New("guarantee: it needs more noise than a host draws; allow a larger epsilon or delta")
	}
	return sdk.Plan{
		Columns: f.Columns(), Event: event, Rows: int64(f.Cells.N * f.PerCell),
		Output: append(f.Cells.Fields(), f.Output...), Errors: f.Errors(left(noises, req.Public.Cap.Each())),
	}, nil
}

// mostNoise bounds the noise of a sum, in lattice steps. A host draws noise of that scale.
const mostNoise = 1 << 50

// form makes the form of a request and the claims of its queries.
func form(req sdk.PlanRequest, maker Maker) (*Form, []sdk.Claim, error) {
	if !(req.Target.Epsilon > 0) {
		return nil, nil, errors.New("guarantee: epsilon must be positive, and large enough to be told from 0")
	}
	f, err := maker(req)
	if err != nil {
		return nil, nil, err
	}
	if f.PerCell == 0 {
		f.PerCell = 1
	}
	if f.change, err = changeOf(req.Params); err != nil {
		return nil, nil, err
	}
	if f.change != nil {
		if f.Estimate == nil {
			return nil, nil, errNoChange
		}
		f.Queries = append(f.Queries, f.Queries...)
	}
	var claims []sdk.Claim
	for _, q := range f.Queries {
		if f.Cells.N > maxNumbers/q.Reach.Parts {
			return nil, nil, fmt.Errorf("by: the groups make a vector of more than %d numbers", maxNumbers)
		}
		if q.Reach.Arrive.L1.Sign() == 0 {
			return nil, nil, errors.New("column: no row adds anything that noise could hide; the bounds are too close together")
		}
		claims = append(claims, q.Reach.Claim(f.Cells.Units(req.Public, q.Values...)))
	}
	return f, claims, nil
}

// Columns are the columns that Release reads: the groups, then each value once.
func (f *Form) Columns() []string {
	var names []string
	for _, g := range f.Cells.Groups {
		names = append(names, g.Name)
	}
	for _, q := range f.Queries {
		for _, v := range q.Values {
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// Release adds up the vectors of the rows, has the host add the noise, and finishes.
func Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host, maker Maker) (sdk.Result, error) {
	f, sums, noises, err := Sums(ctx, req, rows, host, maker)
	if err != nil {
		return sdk.Result{}, err
	}
	labels := f.Cells.Labels(f.PerCell)
	if f.Finish == nil {
		return sdk.Result{Columns: append(labels, Results(f.Output, f.rows(sums, noises))...)}, nil
	}
	return sdk.Result{Columns: append(labels, f.Finish(sums, noises)...)}, nil
}

// rows are the rows of all cells.
func (f *Form) rows(sums [][]int64, noises []Noise) iter.Seq[[]float64] {
	parts := f.Queries[0].Reach.Parts / f.PerCell
	return func(yield func([]float64) bool) {
		for i := range f.Cells.N * f.PerCell {
			var row []float64
			if f.Estimate != nil {
				row = f.At(0, i, sums, noises).Row(f.Output)
			} else {
				row = f.Row(i%f.PerCell, sums[0][i*parts:(i+1)*parts], noises[0])
			}
			if !yield(row) {
				return
			}
		}
	}
}

// Sums returns the form of a request, the noisy sums of its queries, and the noises that were added.
func Sums(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host, maker Maker) (*Form, [][]int64, []Noise, error) {
	f, claims, err := form(req.PlanRequest, maker)
	if err != nil {
		return nil, nil, nil, err
	}
	noises, err := planned(req.Plan.Event, claims)
	if err != nil {
		return nil, nil, nil, err
	}
	each, most := req.Public.Cap.Each(), int64(MostRows(req.Public))
	if each > 1 { // so that no sum of rows that count so often overflows
		for _, q := range f.Queries {
			one, _ := q.Reach.Arrive.L1.Float64()
			most = min(most, int64(0x1p62/(float64(each)*one)))
		}
	}
	sums, err := f.Sum(rows, most)
	if err != nil {
		return nil, nil, nil, err
	}
	for i, n := range noises {
		repeat(sums[i], each) // P22
		switch ev := n.Event.(type) {
		case privacy.DiscreteLaplace:
			sums[i], err = host.AddLaplace(ctx, ev, sums[i])
		case privacy.DiscreteGaussian:
			sums[i], err = host.AddGaussian(ctx, ev, sums[i])
		}
		if err != nil {
			return nil, nil, nil, err
		}
		share(sums[i], each)
	}
	return f, sums, left(noises, each), nil
}

// repeat makes sums in which each row counts so many times.
//
// # Contract
//
// A unit has at most Rows rows in each group, so it moves sums in which a row counts Times times by what a unit with
// Rows × Times rows moves them by where a row counts once: what the claims are for (Cells.Units). Proof: linear.proof.md.
func repeat(sums []int64, each int64) {
	if each > 1 {
		for i := range sums {
			sums[i] *= each
		}
	}
}

// share divides noisy sums in which each row counts so many times, to the nearest whole number, half up.
func share(sums []int64, each int64) {
	if each > 1 {
		for i, x := range sums {
			x = min(x, math.MaxInt64-each/2) + each/2
			q := x / each
			if x%each < 0 {
				q--
			}
			sums[i] = q
		}
	}
}

var errOverflow = errors.New("there are more rows than the lattice has room for")

// MostRows bounds the rows that a release takes: the public bound if there is one, otherwise
// 2^32. Lattices are chosen so that the sum of so many rows cannot overflow.
func MostRows(public sdk.Public) float64 {
	most := float64(public.Design.LargestCount)
	if most == 0 {
		return 1 << 32
	}
	if c := public.Cap; c != nil {
		most *= float64(c.Groups) * float64(c.Rows)
	}
	return min(most, 1<<62)
}

// Sum adds up the vectors of all rows, one sum for each query. It fails beyond most rows.
func (f *Form) Sum(rows sdk.Rows, most int64) ([][]int64, error) {
	at := map[string]int{}
	for i, name := range f.Columns() {
		at[name] = i
	}
	sums := make([][]int64, len(f.Queries))
	for i, q := range f.Queries {
		sums[i] = make([]int64, f.Cells.N*q.Reach.Parts)
	}
	var scratch []int32
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		if most -= int64(b.Rows); most < 0 {
			return errOverflow
		}
		for i, q := range f.Queries {
			values := make([]sdk.Values, len(q.Values))
			for j, v := range q.Values {
				values[j] = b.Columns[at[v.Name]]
			}
			var block Block
			if block, scratch = f.Cells.Block(b, values, scratch); block.Rows > 0 {
				q.Add(block, sums[i])
			}
		}
		return nil
	})
	for i, q := range f.Queries {
		if q.Done != nil && err == nil {
			q.Done(sums[i])
		}
	}
	return sums, err
}

// Statistic makes the forms of a mechanism.
type Statistic interface {
	Describe() sdk.Description
	Form(req sdk.PlanRequest) (*Form, error)
}

// Mechanism is a statistic as a mechanism. Its zero value is ready for use.
type Mechanism[S Statistic] struct{ Of S }

// Describe returns the name, version, parameters and designs of the mechanism.
func (m Mechanism[S]) Describe() sdk.Description { return m.Of.Describe() }

// Plan chooses the lattice and the noise. It sees no data.
func (m Mechanism[S]) Plan(req sdk.PlanRequest) (sdk.Plan, error) { return Plan(req, m.Of.Form) }

// Release adds up the rows and has the host add the noise to all sums.
func (m Mechanism[S]) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	return Release(ctx, req, rows, host, m.Of.Form)
}

// Describe describes a linear mechanism that takes groups, units with several rows and the weights of a survey.
func Describe(name, version, summary, schema string) sdk.Description {
	return sdk.Description{
		Name: name, Version: version, Summary: summary, Params: json.RawMessage(schema),
		Relations: Relations(), Designs: sdk.EveryDesign(), Grouped: true, Capped: true, Linear: true, Weighted: true,
	}
}

// ErrScale refuses a total where the design does not say what a row stands for.
var ErrScale = errors.New("a total of the population needs its public size or a poisson sample: the size is secret, " +
	"so a sample of fixed size cannot be scaled up")
