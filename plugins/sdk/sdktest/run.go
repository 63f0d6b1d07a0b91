package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/dprelease/dprelease/internal/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Table is the rows of a test: the columns by name, all of the same length.
type Table struct {
	Rows    int
	Columns map[string]sdk.Values
	Weights []float64
	// BatchRows is how many rows go into a batch; 0 stands for all in one. It must be
	// a multiple of 8 where a column has a validity bitmap.
	BatchRows int
}

// Call is one noise call as the mechanism made it.
type Call struct {
	Method string // the method of sdk.Host
	Event  privacy.Event

	Values                    []int64 // AddLaplace, AddGaussian: before the noise
	Value, Scale, Granularity float64 // SmoothLaplace
	Pieces                    []sdk.Piece
	Rate                      float64 // Select
	Codes                     []int32 // RandomizeCategories: before the randomizer
	Rows                      []int64 // NextBatch: what was given
}

// Outcome is all that was seen of a run.
type Outcome struct {
	Description sdk.Description
	Plan        sdk.Plan
	Result      sdk.Result
	Calls       []Call
}

// Run runs m on the table. Noise answers the noise calls; nil stands for NoNoise.
// The outcome holds what was seen even beside an error.
func Run(m sdk.Mechanism, req sdk.PlanRequest, table Table, noise sdk.Host) (Outcome, error) {
	if noise == nil {
		noise = NoNoise{Rows: table.Rows}
	}
	d, plan, err := Plan(m, req)
	if err != nil {
		return Outcome{Description: d, Plan: plan}, err
	}
	return InProcess(m).Release(context.Background(), req, plan, table, noise)
}

func describe(m sdk.Mechanism) (sdk.Description, error) {
	d := m.Describe()
	if !reflect.DeepEqual(d, m.Describe()) {
		return d, errors.New("describe answers differently when asked twice")
	}
	return d, d.Check()
}

// Plan describes and plans twice and returns both answers if they are the same
// each time and well formed. A refusal is ErrRefused.
func Plan(m sdk.Mechanism, req sdk.PlanRequest) (sdk.Description, sdk.Plan, error) {
	d, err := describe(m)
	if err != nil {
		return d, sdk.Plan{}, err
	}
	plan, err := m.Plan(req)
	if err != nil {
		return d, plan, refusal{err}
	}
	again, err := m.Plan(req)
	if err != nil || !reflect.DeepEqual(plan, again) {
		return d, plan, errors.New("plan answers differently when asked twice")
	}
	if err := plan.Check(req); err != nil {
		return d, plan, err
	}
	if !d.SelfNoising {
		if _, err := calls.New(plan.Event); err != nil {
			return d, plan, fmt.Errorf("plan: %w", err)
		}
	}
	return d, plan, nil
}

// refusal is a mechanism's own error of Plan.
type refusal struct{ error }

func (r refusal) Is(target error) bool { return target == ErrRefused }
func (r refusal) Unwrap() error        { return r.error }

// rows feeds a table.
type rows struct {
	batches []*sdk.Batch
	read    bool
}

func newRows(t Table, public sdk.Public, plan sdk.Plan) (*rows, error) {
	columns, err := plan.Declared(public)
	if err != nil {
		return nil, err
	}
	step := t.BatchRows
	if step <= 0 {
		step = max(1, t.Rows)
	}
	r := &rows{}
	for at := 0; at < t.Rows; at += step {
		end := min(t.Rows, at+step)
		var cols []sdk.Values
		for _, name := range plan.Columns {
			v, ok := t.Columns[name]
			if !ok || len(v.Float64)+len(v.Codes) != t.Rows || (v.Valid != nil && (len(v.Valid)*8 < t.Rows || step%8 != 0 && end < t.Rows)) {
				return nil, fmt.Errorf("table: column %q is missing or not %d rows long, or cuts its bitmap inside a byte", name, t.Rows)
			}
			if v.Float64 != nil {
				v.Float64 = v.Float64[at:end]
			} else {
				v.Codes = v.Codes[at:end]
			}
			if v.Valid != nil {
				v.Valid = v.Valid[at/8 : (end+7)/8]
			}
			cols = append(cols, v)
		}
		weights := t.Weights
		if weights != nil {
			if len(weights) != t.Rows {
				return nil, errors.New("table: weights must be as many as rows")
			}
			weights = weights[at:end]
		}
		b := &sdk.Batch{Rows: end - at, Columns: cols, Weights: weights}
		if err := b.Check(columns); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
		r.batches = append(r.batches, b)
	}
	return r, nil
}

func (r *rows) Next() (*sdk.Batch, error) {
	if len(r.batches) == 0 {
		r.read = true
		return nil, io.EOF
	}
	b := r.batches[0]
	r.batches = r.batches[1:]
	return b, nil
}
