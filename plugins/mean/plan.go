package mean

import (
	"context"
	"fmt"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanism is the mean. Its zero value is ready for use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return linear.Describe("mean", "1.1.0", "mean of numeric columns, of the whole table or by group", schema)
}

// Plan chooses the estimator, the lattice and the noise. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	plan, err := linear.Plan(req, l.form)
	if err != nil {
		return sdk.Plan{}, err
	}
	plan.Output, plan.Rows = l.output(), l.rows()
	return plan, nil
}

// Release sums every column on its lattice, has the host add the noise, and
// divides once by public constants.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	f, sums, noises, err := linear.Sums(ctx, req, rows, host, l.form)
	if err != nil {
		return sdk.Result{}, err
	}
	return l.result(f, sums, noises), nil
}

// layout is everything that a release needs to know. It follows from public facts alone,
// so Release derives it again.
type layout struct {
	params  params
	public  sdk.Public
	cells   linear.Cells
	queries []*linear.Average
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req)
	if err != nil {
		return nil, err
	}
	l := &layout{params: p, public: req.Public}
	var by []string
	if p.By != "" {
		by = []string{p.By}
	}
	if l.cells, err = linear.NewCells(req.Public, by, linear.Names(p.Interval.WithError(nil))...); err != nil {
		return nil, err
	}
	// Where one of the columns may lack values, all are ratios: one table has one shape.
	var columns []sdk.Column
	for _, name := range p.Columns {
		c, err := linear.NumberColumn(req.Public, "column", name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	divisor := linear.Divisor(req.Public, l.cells, columns...)
	if !(req.Target.Epsilon > 0) {
		return nil, fmt.Errorf("guarantee: epsilon must be positive, and large enough to be told from 0")
	}
	for _, c := range columns {
		q, err := linear.NewAverage(c, divisor, p.Difference, nil, l.cells, req, req.Target.Epsilon/float64(len(columns)), p.Noise, p.Interval)
		if err != nil {
			return nil, err
		}
		l.queries = append(l.queries, q)
	}
	return l, nil
}

func (l *layout) form(sdk.PlanRequest) (*linear.Form, error) {
	f := &linear.Form{Cells: l.cells, Noise: l.params.Noise, Errors: l.expected,
		Estimate: func(query int, sums []int64, n linear.Noise) linear.Estimate {
			return l.queries[query].Estimate(sums, n)
		}}
	for _, q := range l.queries {
		f.Queries = append(f.Queries, q.Query)
	}
	return f, nil
}

func (l *layout) rows() int64 { return int64(l.cells.N) * int64(len(l.queries)) }

// expected returns how large the noise will be, as far as that is public.
func (l *layout) expected(noises []linear.Noise) []sdk.ExpectedError {
	var all []sdk.ExpectedError
	for i, q := range l.queries {
		e, c := q.Expected(l.public, q.Column.Name, noises[i]), q.Column
		if e.Linear == nil {
			e.SamplingNote = "it depends on how many values of " + c.Name + " the sample holds, which is secret; the more of them, the smaller it is"
			if l.params.By != "" {
				e.SamplingNote = "it depends on how many rows of each group the sample holds, which is secret; the more of them, the smaller it is"
			}
		}
		all = append(all, e)
	}
	return all
}
