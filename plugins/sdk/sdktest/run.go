package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Table is the rows of a test: the columns by name, all of the same length.
type Table struct {
	Rows    int
	Columns map[string]sdk.Values
	Weights []float64
	// BatchRows is the number of rows in a batch; 0 stands for all in one. It must be
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
	d = d.Whole()
	return d, d.Check()
}

// Plan describes and plans twice and returns both answers if they are the same
// each time and well formed. A refusal is ErrRefused.
func Plan(m sdk.Mechanism, req sdk.PlanRequest) (sdk.Description, sdk.Plan, error) {
	d, err := describe(m)
	if err != nil {
		return d, sdk.Plan{}, err
	}
	if d.DeclaresQuery {
		if _, req, err = req.Ungrouped(); err != nil {
			return d, sdk.Plan{}, refusal{err}
		}
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
	if d.DeclaresFinish != (plan.Finish != nil) {
		return d, plan, errors.New("plan: a mechanism says DeclaresFinish exactly where its plans have a Finish")
	}
	if d.DeclaresQuery != (len(plan.Queries) > 0) {
		return d, plan, errors.New("plan: a mechanism says DeclaresQuery exactly where its plans have Queries")
	}
	if !d.SelfNoising && !d.DeclaresQuery {
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

// Batches cuts a table into the batches of the columns of a plan.
func (t Table) Batches(plan sdk.Plan) ([]sdk.Batch, error) {
	step := t.BatchRows
	if step <= 0 {
		step = max(1, t.Rows)
	}
	if t.Weights != nil && len(t.Weights) != t.Rows {
		return nil, errors.New("table: weights must be as many as rows")
	}
	var out []sdk.Batch
	for at := 0; at < t.Rows; at += step {
		end := min(t.Rows, at+step)
		b := sdk.Batch{Rows: end - at}
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
			b.Columns = append(b.Columns, v)
		}
		if t.Weights != nil {
			b.Weights = t.Weights[at:end]
		}
		out = append(out, b)
	}
	return out, nil
}

// rows feeds a table to a mechanism in this process.
type rows struct {
	batches []sdk.Batch
	read    bool
}

func newRows(t Table, public sdk.Public, plan sdk.Plan) (*rows, error) {
	columns, err := plan.Declared(public)
	if err != nil {
		return nil, err
	}
	r := &rows{}
	if r.batches, err = t.Batches(plan); err != nil {
		return nil, err
	}
	for _, b := range r.batches {
		if err := b.Check(columns); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	return r, nil
}

func (r *rows) Next() (*sdk.Batch, error) {
	if len(r.batches) == 0 {
		r.read = true
		return nil, io.EOF
	}
	b := &r.batches[0]
	r.batches = r.batches[1:]
	return b, nil
}

// Subject is a mechanism under test, in this process or in one of its own.
type Subject interface {
	// Describe asks twice and returns the description if both answers agree.
	Describe(ctx context.Context) (sdk.Description, error)
	// Plan asks twice and returns the plan if both answers agree and the host could
	// carry it out. A refusal is ErrRefused.
	Plan(ctx context.Context, req sdk.PlanRequest) (sdk.Plan, error)
	// Release runs the plan on the table; noise answers the noise calls. The outcome
	// holds what was seen even beside an error.
	Release(ctx context.Context, req sdk.PlanRequest, plan sdk.Plan, table Table, noise sdk.Host) (Outcome, error)
}

// What a Subject's errors may wrap. The checks are named after them.
var (
	// ErrRefused says that a mechanism refused to plan: it made no mistake.
	ErrRefused = errors.New("refused")
	// ErrPanic says that a mechanism panicked, or that its process ended.
	ErrPanic = errors.New("panic")
	// ErrDeadline says that a mechanism did not answer in time.
	ErrDeadline = errors.New("deadline passed")
	// ErrProtocol says that a process does not speak the plugin protocol.
	ErrProtocol = errors.New("does not speak the plugin protocol")
)

// InProcess is a mechanism that is called directly.
func InProcess(m sdk.Mechanism) Subject { return inProcess{m} }

type inProcess struct{ m sdk.Mechanism }

func (s inProcess) Describe(context.Context) (d sdk.Description, err error) {
	defer panicked(&err)
	return describe(s.m)
}

func (s inProcess) Plan(_ context.Context, req sdk.PlanRequest) (plan sdk.Plan, err error) {
	defer panicked(&err)
	_, plan, err = Plan(s.m, req)
	return plan, err
}

func (s inProcess) Release(ctx context.Context, req sdk.PlanRequest, plan sdk.Plan, table Table, noise sdk.Host) (out Outcome, err error) {
	out.Description = s.m.Describe() // which making the plan has checked
	out.Plan = plan
	if len(plan.Queries) > 0 {
		return out, errors.New("the host makes the releases of a declared query: dprelease plugin check makes some")
	}
	rows, err := newRows(table, req.Public, plan)
	if err != nil {
		return out, err
	}
	h := &recorder{to: noise, rows: rows}
	if !out.Description.SelfNoising {
		if h.calls, err = calls.New(plan.Event); err != nil {
			return out, fmt.Errorf("plan: %w", err)
		}
	}
	var host sdk.Host = h
	if plan.Finish != nil {
		host = &zeros{Host: h, plan: plan}
	}
	err = func() (err error) {
		defer panicked(&err)
		out.Result, err = s.m.Release(ctx, sdk.ReleaseRequest{PlanRequest: req, Plan: plan}, rows, host)
		return err
	}()
	out.Calls = h.made
	switch {
	case h.err != nil:
		return out, h.err // the host's verdict comes before what the mechanism made of it
	case err != nil:
		return out, fmt.Errorf("release: %w", err)
	case h.calls != nil && h.calls.Done() != nil:
		return out, fmt.Errorf("release made %d noise calls, fewer than its plan: %w", len(h.made), calls.ErrDiffers)
	}
	if plan.Finish != nil { // the host makes the result
		out.Result = sdk.Result{}
		return out, nil
	}
	return out, out.Result.Check(plan)
}

// zeros is the host of a plan with a finish: it keeps the answers to itself.
type zeros struct {
	sdk.Host
	plan sdk.Plan
	at   int // the next call
}

func (z *zeros) AddLaplace(ctx context.Context, ev privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	_, err := z.Host.AddLaplace(ctx, ev, values)
	return z.answer(len(values), err)
}

func (z *zeros) AddGaussian(ctx context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	_, err := z.Host.AddGaussian(ctx, ev, values)
	return z.answer(len(values), err)
}

// answer refuses a vector whose length is not the one that the finish declares.
func (z *zeros) answer(n int, err error) ([]int64, error) {
	z.at++
	switch noise := z.plan.Finish.Noise; {
	case err != nil:
		return nil, err
	case z.at > len(noise):
		return nil, fmt.Errorf("noise call %d has no columns in the finish", z.at)
	case int64(n) != noise[z.at-1].Length(z.plan.Rows):
		return nil, fmt.Errorf("noise call %d has %d values, and the finish declares %d", z.at, n, noise[z.at-1].Length(z.plan.Rows))
	}
	return make([]int64, n), nil
}

// Fault is the value of a panic that says where it comes from: in a mechanism of another language, the exception and the way to it.
type Fault string

// panicked turns a panic into an error with its stack. All data here is generated, so that its
// value may be shown.
func panicked(err *error) {
	switch r := recover().(type) {
	case nil:
	case Fault:
		*err = fmt.Errorf("%w: %s", ErrPanic, string(r))
	default:
		*err = fmt.Errorf("%w: %v%s", ErrPanic, r, stack(string(debug.Stack())))
	}
}

// stack is the part of a stack that belongs to the mechanism: between the panic and the suite.
func stack(all string) string {
	if at := strings.LastIndex(all, "\npanic("); at >= 0 {
		all = all[at+1:]
	}
	lines := strings.Split(strings.TrimSpace(all), "\n")
	lines = lines[min(2, len(lines)):] // of panic itself
	if end := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "/plugins/sdk/sdktest.") }); end >= 0 {
		lines = lines[:end]
	}
	out := ""
	for i := 1; i < len(lines); i += 2 { // a function, and its place
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i]), " +0x")
		if out += "\n    " + place; i > 30 {
			break
		}
	}
	return out
}
