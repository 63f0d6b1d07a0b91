package sdktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
)

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
	if out.Description, err = s.Describe(ctx); err != nil {
		return out, err
	}
	out.Plan = plan
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
	err = func() (err error) {
		defer panicked(&err)
		out.Result, err = s.m.Release(ctx, sdk.ReleaseRequest{
			Params: req.Params, Public: req.Public, Target: req.Target, Plan: plan,
		}, rows, h)
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
	return out, out.Result.Check(plan)
}

// panicked turns a panic into an error. All data here is generated, so that its
// value may be shown.
func panicked(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrPanic, r)
	}
}
