package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/finish"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// checkFinish returns what is wrong with the finish of a plan, or nil. It sees no data.
func checkFinish(desc sdk.Description, plan sdk.Plan) error {
	if desc.DeclaresFinish != (plan.Finish != nil) {
		return errors.New("plan: a mechanism says declares_finish exactly where its plans have a finish")
	}
	if plan.Finish == nil {
		return nil
	}
	calls, err := calls.Linear(plan.Event)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if len(calls) != len(plan.Finish.Noise) {
		return fmt.Errorf("plan: finish: it names the columns of %d noise calls, and the event has %d", len(plan.Finish.Noise), len(calls))
	}
	_, err = finish.New(plan)
	return err
}

// declared carries out a plan with a finish: the plugin turns the rows into vectors, or the host does where the
// queries are declared, and the host does the rest.
func (p *Plugin) declared(ctx context.Context, req sdk.ReleaseRequest, feed func(ctx context.Context, w RowWriter) error,
	drawer Drawer) (sdk.Result, error) {
	vectors, err := p.Sums(ctx, req, feed)
	if err != nil {
		return sdk.Result{}, err
	}
	return p.finished(req.Plan, vectors, drawer)
}

// Sums has the process of a linear mechanism turn rows into vectors, and returns for each noise call the sum
// without noise. The mechanism sees zeros, and its result is dropped. The host adds up declared queries itself. Errors are
// those of Release.
func (p *Plugin) Sums(ctx context.Context, req sdk.ReleaseRequest, feed func(ctx context.Context, w RowWriter) error) ([][]int64, error) {
	if len(req.Plan.Queries) > 0 {
		vectors, err := Queried(ctx, req, feed)
		switch {
		case ctx.Err() != nil:
			return nil, p.fault(CodeCanceled)
		case errors.Is(err, errVector):
			return nil, p.fault(CodeNoiseFailed)
		}
		return vectors, err
	}
	s := &sums{rows: req.Plan.Rows}
	if req.Plan.Finish != nil {
		s.noise = req.Plan.Finish.Noise
	}
	_, err := p.release(ctx, req, feed, s)
	return s.vectors, err
}

// Queried makes the sums of declared queries, in this process. An error is errVector, or one of the feed's own.
//
// # Contract
//
// No code of the plugin runs, and none sees a row. The vectors have the sensitivities that the plan's event names.
// Proof: ../finish/query.proof.md. // P39
func Queried(ctx context.Context, req sdk.ReleaseRequest, feed func(ctx context.Context, w RowWriter) error) ([][]int64, error) {
	q, err := finish.Read(req.Plan, req.Params, req.Public)
	if err != nil {
		return nil, errVector
	}
	f := &feeder{columns: q.Declared(), sink: q}
	switch err := feed(ctx, f); {
	case f.err != nil && !f.bad:
		return nil, errVector
	case err != nil:
		return nil, err
	case f.err != nil:
		return nil, f.err
	}
	return q.Sums(), nil
}

// finished draws the noise of a plan with a finish and computes its result, in this process.
//
// # Contract
//
// The result depends on rows only through the noisy sums: vectors plus the noise of the plan's
// event. No code of the plugin runs here. Proof: finish.proof.md. That the sums have the declared
// sensitivity remains the mechanism's claim.
func (p *Plugin) finished(plan sdk.Plan, vectors [][]int64, drawer Drawer) (sdk.Result, error) {
	program, err := finish.New(plan)
	calls, err2 := calls.Linear(plan.Event)
	if err != nil || err2 != nil || len(calls) != len(vectors) || len(calls) != len(plan.Finish.Noise) {
		return sdk.Result{}, p.fault(CodePlan)
	}
	for k, v := range vectors {
		if int64(len(v)) != plan.Finish.Noise[k].Length(plan.Rows) || drawer.Add(calls[k], v) != nil {
			return sdk.Result{}, p.fault(CodeNoiseFailed)
		}
	}
	return program.Result(vectors), nil
}

// sums keeps the vectors of a plan with a finish. As a Drawer it answers with zeros, which carry no
// information.
type sums struct {
	Drawer                     // nil: a linear mechanism makes no other call
	noise   []sdk.NoiseColumns // nil where the plan has no finish
	rows    int64              // of the result
	vectors [][]int64
}

// Add takes a vector.
func (s *sums) Add(_ privacy.Event, values []int64) error {
	k := len(s.vectors)
	if s.noise != nil && (k == len(s.noise) || int64(len(values)) != s.noise[k].Length(s.rows)) {
		return errVector
	}
	s.vectors = append(s.vectors, slices.Clone(values))
	clear(values)
	return nil
}

// Finish makes the release of a linear mechanism from sums that others added up. Where the plan has
// a finish the host computes it; otherwise the process makes it: it sees no row, and the host
// replaces its zeros by the sums and adds the noise, once. Errors are those of Release.
func (p *Plugin) Finish(ctx context.Context, req sdk.ReleaseRequest, vectors [][]int64, drawer Drawer) (sdk.Result, error) {
	if req.Plan.Finish != nil {
		return p.finished(req.Plan, vectors, drawer)
	}
	calls, err := calls.Linear(req.Plan.Event)
	if err != nil || len(calls) != len(vectors) {
		return sdk.Result{}, p.fault(CodePlan)
	}
	none := func(context.Context, RowWriter) error { return nil }
	return p.release(ctx, req, none, &finisher{Drawer: drawer, sums: vectors})
}

// finisher answers the noise calls of the process that finishes with the noisy sums.
type finisher struct {
	Drawer
	sums [][]int64
	at   int
}

// Add replaces the zeros of a release without rows by the sums, and adds noise.
func (f *finisher) Add(ev privacy.Event, values []int64) error {
	sum := f.sums[f.at]
	f.at++
	if slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) || sum != nil && len(sum) != len(values) {
		return errVector // a query that is not 0 without rows is not linear
	}
	copy(values, sum)
	return f.Drawer.Add(ev, values)
}

// Figures makes the result of a linear mechanism from noisy sums. Nothing is drawn, and the process sees no row.
// Errors are those of Release.
func (p *Plugin) Figures(ctx context.Context, req sdk.ReleaseRequest, noisy [][]int64) (sdk.Result, error) {
	return p.Finish(ctx, req, noisy, silent{})
}

// silent adds no noise: it is there already.
type silent struct{ Drawer }

// Add adds nothing.
func (silent) Add(privacy.Event, []int64) error { return nil }

var errVector = errors.New("the vector cannot be added")

// AddVectors adds the vectors of more rows to a sum. A nil sum is the first one.
func AddVectors(sum, more [][]int64) ([][]int64, error) {
	if sum == nil {
		sum = make([][]int64, len(more))
	}
	if len(sum) != len(more) {
		return nil, errVector
	}
	for i, v := range more {
		if err := plus(&sum[i], v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// plus adds a vector to a sum, which begins as nil.
func plus(sum *[]int64, values []int64) error {
	if *sum == nil {
		*sum = make([]int64, len(values))
	}
	if len(*sum) != len(values) {
		return errVector
	}
	for i, v := range values {
		next := (*sum)[i] + v
		if (next < v) != ((*sum)[i] < 0) {
			return errVector // it overflows
		}
		(*sum)[i] = next
	}
	return nil
}
