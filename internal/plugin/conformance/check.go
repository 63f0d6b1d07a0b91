package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// Check runs the suite and the checks of the process on the plugin that cmd names. An
// error means that it could not be run at all. What it finds is in the verdict, also when
// ctx ends before it is through.
func Check(ctx context.Context, cmd host.Command, cfg sdktest.Config) (Verdict, error) {
	p := NewProcess(cmd, false)
	defer p.Close()
	r, err := check(ctx, p, cmd, cfg)
	if r == nil {
		return Verdict{}, err
	}
	v := NewVerdict(cmd.SHA256, p.Confined().String(), r)
	v.About, v.Plans, v.Read = p.about, p.plans, p.sees.read()
	return v, err
}

func check(ctx context.Context, p *Process, cmd host.Command, cfg sdktest.Config) (*sdktest.Report, error) {
	if cfg.Shrink == 0 {
		cfg.Shrink = 60 // a process that fails has to be started again
	}
	if cfg.Runs == 0 {
		cfg.Runs = 1500
	}
	if len(cfg.Requests) == 0 {
		var err error
		cfg.Requests, err = sdktest.Requests(ctx, p, cfg.Seed)
		if ctx.Err() != nil {
			return ended(ctx, &sdktest.Report{Used: map[string]float64{}, Findings: p.Seen()})
		}
		if err != nil && !starts(ctx, p) {
			return notStarted(err)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := sdktest.Check(ctx, p, cfg)
	if r == nil {
		return nil, err
	}
	r.Findings = append(r.Findings, p.Seen()...)
	if said := p.Said(); said != "" {
		r.Findings = append(r.Findings, sdktest.Finding{Check: "output",
			Detail: fmt.Sprintf("it prints: %.200q; a plugin must not write rows, or anything derived from them, anywhere", said)})
	}
	if ctx.Err() != nil {
		return ended(ctx, r)
	}
	if err != nil {
		return r, err
	}
	if r.Pairs == 0 && r.Refuted() { // nothing can be released, and it was said why
		return r, nil
	}
	accepted, plan, err := first(ctx, p, cfg.Requests)
	if err != nil {
		if ctx.Err() != nil {
			return ended(ctx, r)
		}
		if r.Refuted() { // what it does wrong is why it plans nothing
			return r, nil
		}
		return r, err
	}
	if f := elsewhere(ctx, cmd, p.plans[0], p.planned); f != nil && !r.Found(f.Check) {
		r.Findings = append(r.Findings, *f)
	}
	found, err := manners(ctx, cmd, r.Mechanism, accepted, endLimit)
	if ctx.Err() != nil { // it was cut off, which is not the plugin's fault
		return ended(ctx, r)
	}
	r.Findings = append(r.Findings, found...)
	if err != nil {
		return r, err
	}
	if f := slowLane(ctx, cmd, accepted, plan); f != nil {
		r.Findings = append(r.Findings, *f)
	}
	found, pairs, calls, err := behind(ctx, p, cfg.Requests, cfg.Seed, operators, broken{})
	r.Findings, r.Pairs, r.Calls = append(r.Findings, found...), r.Pairs+pairs, r.Calls+calls
	if ctx.Err() != nil {
		return ended(ctx, r)
	}
	return r, err
}

// Why a check ended before it was through, beside [sdktest.Hopeless].
const (
	OutOfTime   = "the time was over"
	Interrupted = "it was interrupted"
)

// ended notes why the check was given up. What it has found stays found.
func ended(ctx context.Context, r *sdktest.Report) (*sdktest.Report, error) {
	r.Ended = Interrupted
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.Ended = OutOfTime
	}
	return r, nil
}

// apart is the time between the questions to the first and the second process: the clock has another second then.
const apart = 1100 * time.Millisecond

// elsewhere asks a second process, at another time and in another environment, what the
// plugin is and what it plans. Begun is when the first process made that plan.
func elsewhere(ctx context.Context, cmd host.Command, first Planned, begun time.Time) *sdktest.Finding {
	select {
	case <-time.After(apart - time.Since(begun)):
	case <-ctx.Done():
		return nil
	}
	here := NewProcess(cmd, false)
	defer here.Close()
	cmd.Elsewhere = true
	there := NewProcess(cmd, false)
	defer there.Close()
	one, err := here.Describe(ctx)
	two, again := there.Describe(ctx)
	other, failed := there.Plan(ctx, first.Request)
	switch {
	case ctx.Err() != nil:
	case err != nil || again != nil || !reflect.DeepEqual(one, two):
		return &sdktest.Finding{Check: "describe", Detail: "a process in another folder and environment describes itself otherwise"}
	case failed != nil || !reflect.DeepEqual(first.Plan, other):
		return &sdktest.Finding{Check: "plan", Detail: "a process in another folder and environment, at another time, plans otherwise"}
	}
	return nil
}

// starts reports whether the plugin describes itself.
func starts(ctx context.Context, p *Process) bool {
	_, err := p.Describe(ctx)
	return err == nil
}

// notStarted is the report on a plugin that does not even describe itself.
func notStarted(err error) (*sdktest.Report, error) {
	var e *host.Error
	if !errors.As(err, &e) || e.Code == host.CodeSandbox { // the machine's fault
		return nil, err
	}
	return &sdktest.Report{Used: map[string]float64{}, Findings: []sdktest.Finding{{Check: "describe", Detail: err.Error()}}}, nil
}

// first is the first request that the plugin accepts.
func first(ctx context.Context, p *Process, all []sdk.PlanRequest) (sdk.PlanRequest, sdk.Plan, error) {
	var last error
	for _, req := range all {
		plan, err := p.Plan(ctx, req)
		if err == nil {
			return req, plan, nil
		}
		last = err
	}
	return sdk.PlanRequest{}, sdk.Plan{}, last
}

// slowLane makes one release over the slowest lane that the plugin supports, and cancels
// another, which must end soon.
func slowLane(ctx context.Context, cmd host.Command, req sdk.PlanRequest, plan sdk.Plan) *sdktest.Finding {
	p := NewProcess(cmd, true)
	defer p.Close()
	table, n := sdktest.Example(req, plan)
	if _, err := p.Release(ctx, req, plan, table, sdktest.NoNoise{Rows: n}); err != nil {
		return &sdktest.Finding{Check: "protocol", Detail: fmt.Sprintf("over the slowest lane that it supports: %v", err)}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	begun := time.Now()
	_, err := p.Release(gone, req, plan, table, sdktest.NoNoise{Rows: n})
	if took := time.Since(begun); err == nil || took > endLimit+releaseLimit {
		return &sdktest.Finding{Check: "cancel", Detail: fmt.Sprintf("a release that was given up took %v", took.Round(time.Millisecond))}
	}
	return nil
}

// Small returns a job's requests with a public size small enough to search: 1, 8 or 40
// records instead of thousands, at the same rate. If the mechanism refuses a request at
// every such size, Small keeps it as it is, up to a few thousand records.
func Small(ctx context.Context, s sdktest.Subject, jobs []sdk.PlanRequest) ([]sdk.PlanRequest, error) {
	var out []sdk.PlanRequest
	for _, req := range jobs {
		accepted := 0
		for _, n := range []int64{1, 8, 40} {
			small, public := req, sdktest.Size(req)
			if public > n {
				small = sdktest.Resized(req, n)
			}
			_, err := s.Plan(ctx, small)
			if err != nil && !errors.Is(err, sdktest.ErrRefused) {
				return nil, err
			}
			if err == nil {
				out = append(out, small)
				accepted++
			}
			if public <= n {
				break // there was nothing to bring down
			}
		}
		if accepted == 0 && req.Public.Design.SampleSize <= 4096 {
			out = append(out, req)
		}
	}
	return out, nil
}
