package quantiles

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism releases quantiles. Its zero value is ready for use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name: "quantiles", Version: "1.1.0", Summary: "any list of quantiles of a numeric column, by group", Params: json.RawMessage(schema),
		Relations: linear.Relations(), Designs: sdk.EveryDesign(), Grouped: true, Capped: true, Weighted: true,
	}
}

// layout is everything that a release needs to know. It follows from public facts alone,
// so Release makes it again.
type layout struct {
	params
	column  sdk.Column
	cells   linear.Cells
	lattice lattice
	counts  bool // the method counts the rows of a group, so it can tell an empty one
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req.Params)
	if err != nil {
		return nil, err
	}
	l := &layout{params: p, counts: p.Interval != nil}
	if l.column, err = linear.NumberColumn(req.Public, "column", p.Column); err != nil {
		return nil, err
	}
	if l.cells, err = linear.NewCells(req.Public, p.By, append(linear.Names(l.output()), sdk.FlagField)...); err != nil {
		return nil, err
	}
	if !(req.Target.Epsilon > 0) || math.IsInf(req.Target.Epsilon, 0) {
		return nil, errors.New("guarantee: epsilon must be positive, and large enough to be told from 0")
	}
	l.lattice, err = newLattice(l.column, p.Step, l.cells.N)
	return l, err
}

// Plan chooses the method and spends the budget. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	method, err := l.choose(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	return method.plan(req)
}

// Release reads the rows and has the host draw.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	method, err := l.choose(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	return method.release(ctx, req, rows, host)
}

// method is one way to find the quantiles.
type method interface {
	plan(req sdk.PlanRequest) (sdk.Plan, error)
	release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error)
}

// choose takes the method that the job names, or the better one by public facts.
func (l *layout) choose(req sdk.PlanRequest) (method, error) {
	switch {
	case l.Interval != nil && req.Public.Cap != nil:
		return nil, errors.New("interval: a unit may have several rows: fold them")
	case l.Method == tree || l.Method == auto && req.Public.Cap != nil:
		return newTree(l, req)
	case req.Public.Cap != nil:
		return nil, errors.New("method: recursion needs units with one row each: fold their rows, or take method: tree")
	case l.Method == recursion || l.Step == 0 || l.Interval != nil:
		return newSearch(l, req)
	}
	// With a public step both methods see every value, so their errors in rank are known. They are
	// compared without delta, because finding out how recursion spends a delta takes long.
	r, err := newSearch(l, req)
	if err != nil {
		return nil, err
	}
	pure := req
	pure.Target.Delta = 0
	t, err := newTree(l, pure)
	if err != nil || !t.resolves() || r.spend(pure) != nil || r.rankSD() < t.rankSD() {
		return r, nil
	}
	return newTree(l, req)
}

// rounding names the public numbers that estimates are.
func (l *layout) rounding() string {
	if l.Step > 0 {
		return "a public number"
	}
	return "a public number of five digits or fewer, which may lie between two values; of whole numbers say step: 1"
}

// middle is the index of the quantile nearest the median.
func (l *layout) middle() (best int) {
	for i, q := range l.Quantiles {
		if max(q-whole/2, whole/2-q) < max(l.Quantiles[best]-whole/2, whole/2-l.Quantiles[best]) {
			best = i
		}
	}
	return best
}

// expected describes the error of quantiles, whose ranks the noise moves by that standard deviation, in rows of the sample.
func (l *layout) expected(note string, sd float64) sdk.ExpectedError {
	e := sdk.ExpectedError{Field: sdk.EstimateField, Note: note,
		SamplingNote: "it depends on how densely the values lie around the quantile, which is private"}
	e.Above, e.Over = sdk.RankTerms(l.column.Name, float64(l.Quantiles[l.middle()])/whole, sd, 1.96*sd)
	return e
}

// output are the columns of the result after those of the groups. Each quantile has a row. There is
// no column for the error in value, which depends on the data (P19).
func (l *layout) output() []sdk.Field {
	fields := []sdk.Field{
		{Name: "quantile", Type: sdk.Float64, Doc: "the rank: 0.5 is the median"},
		{Name: sdk.EstimateField, Type: sdk.Float64, Statistic: sdk.StatisticQuantile,
			Doc: "the quantile, with noise in its rank: one of the public numbers between the bounds"},
	}
	if fields = l.Interval.WithError(fields); l.counts {
		fields = append(fields, linear.Flag(linear.TooFew))
	}
	if l.Step > 0 { // a step is in the unit of the values as they are
		return fields
	}
	return linear.Of(fields, []string{l.column.Name}, nil, "quantile")
}

// result makes the result from the estimates of all quantiles of all cells, with their intervals if there are any.
func (l *layout) result(estimates []linear.Estimate) sdk.Result {
	return sdk.Result{Columns: append(l.cells.Labels(len(l.Quantiles)), linear.Results(l.output(), func(yield func([]float64) bool) {
		for i, e := range estimates {
			row := []float64{float64(l.Quantiles[i%len(l.Quantiles)]) / whole, e.Value}
			if !yield(append(row, l.Interval.Ends(e)...)) {
				return
			}
		}
	})...)}
}

// shaped adds the columns that the mechanism reads and makes to the plan of a method.
func (l *layout) shaped(method sdk.Plan) sdk.Plan {
	groups := l.cells.Fields()
	method.Columns = append(linear.Names(groups), l.column.Name)
	method.Output = append(groups, l.output()...)
	method.Rows = int64(l.cells.N * len(l.Quantiles))
	return method
}
