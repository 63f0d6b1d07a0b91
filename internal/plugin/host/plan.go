package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/finish"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// maxDetail bounds a plugin's refusal, in characters.
const maxDetail = 500

// Describe asks the plugin twice what it is, and returns the description of the
// mechanism that the command names.
func (p *Plugin) Describe(ctx context.Context) (sdk.Description, error) {
	p.call.Lock()
	defer p.call.Unlock()
	return p.describe(ctx)
}

func (p *Plugin) describe(ctx context.Context) (sdk.Description, error) {
	if p.desc != nil {
		return *p.desc, nil
	}
	var out sdk.Description
	err := p.invoke(ctx, 2*p.limits.Plan, func(ctx context.Context) error {
		p.ask.Lock()
		m, err := p.said, error(nil)
		p.ask.Unlock()
		if m == nil {
			m, err = askTwice(p, func() (*wire.DescribeResponse, error) {
				return p.joint.mechanism.Describe(ctx, &wire.DescribeRequest{})
			})
		}
		if err != nil {
			return err
		}
		p.ask.Lock()
		p.said = m
		p.ask.Unlock()
		out, err = p.pick(m)
		return err
	})
	if err != nil {
		return sdk.Description{}, err
	}
	p.desc = &out
	return out, nil
}

// askTwice asks the same twice, and returns the answer if both are the same and hold nothing
// unknown.
func askTwice[M proto.Message](p *Plugin, ask func() (M, error)) (M, error) {
	first, err := ask()
	if err != nil {
		return first, err
	}
	second, err := ask()
	switch {
	case err != nil:
		return first, err
	case !proto.Equal(first, second):
		return first, p.fault(CodeNondeterministic)
	case wire.Known(first) != nil:
		return first, p.fault(CodeProtocol)
	}
	return first, nil
}

// pick finds the command's mechanism among those that a plugin describes.
func (p *Plugin) pick(m *wire.DescribeResponse) (sdk.Description, error) {
	p.socket = slices.Contains(m.GetLanes(), wire.Lane_LANE_SOCKET)
	p.columns = slices.Contains(m.GetLanes(), wire.Lane_LANE_COLUMNS)
	if !p.socket && !p.columns {
		return sdk.Description{}, p.fault(CodeProtocol) // it has no way to get rows
	}
	all := m.GetMechanisms()
	for i, d := range all {
		if d.GetName() != p.cmd.Mechanism && (p.cmd.Mechanism != "" || len(all) != 1) {
			continue
		}
		for _, other := range all[i+1:] {
			if other.GetName() == d.GetName() {
				return sdk.Description{}, p.fault(CodeDescription)
			}
		}
		out, err := wire.ToDescription(d)
		if out = out.Whole(); err != nil || out.Check() != nil {
			return sdk.Description{}, p.fault(CodeDescription)
		}
		if out.SelfNoising && !p.cmd.AllowSelfNoising {
			return sdk.Description{}, p.fault(CodeSelfNoising)
		}
		return out, nil
	}
	if p.shared() { // those beside it go on
		e := p.fault(CodeRefused)
		e.Detail = "no built-in mechanism has this name"
		return sdk.Description{}, e
	}
	return sdk.Description{}, p.fault(CodeDescription)
}

// Plan asks the plugin twice for its plan, and returns it if both answers are the
// same, well formed, and can be carried out. It sends no data. An Error with
// CodeRefused leaves the plugin running.
func (p *Plugin) Plan(ctx context.Context, req sdk.PlanRequest) (sdk.Plan, error) {
	p.call.Lock()
	defer p.call.Unlock()
	desc, err := p.describe(ctx)
	if err != nil {
		return sdk.Plan{}, err
	}
	if e := p.uncapped(desc, req.Public); e != nil {
		return sdk.Plan{}, e
	}
	ask := req
	if desc.DeclaresQuery { // it plans for one group
		if _, ask, err = req.Ungrouped(); err != nil {
			return sdk.Plan{}, err
		}
	}
	m, err := wire.FromPlanRequest(desc.Name, ask)
	if err != nil {
		return sdk.Plan{}, err
	}
	var out sdk.Plan
	err = p.invoke(ctx, 2*p.limits.Plan, func(ctx context.Context) error {
		if proto.Size(m) > wire.MaxMessage {
			return p.fault(CodeOversize)
		}
		answer, err := askTwice(p, func() (*wire.PlanResponse, error) { return p.joint.mechanism.Plan(ctx, m) })
		if status.Code(err) == codes.FailedPrecondition { // the plugin made a plan that cannot be sent
			e := p.fault(CodePlan)
			e.Detail = printable(status.Convert(err).Message())
			return e
		}
		if err != nil {
			return err
		}
		if r, ok := answer.GetAnswer().(*wire.PlanResponse_Refusal); ok {
			e := p.fault(CodeRefused)
			e.Detail = printable(r.Refusal)
			return e
		}
		out, err = p.checkPlan(answer.GetPlan(), req, desc)
		return err
	})
	return out, err
}

// uncapped refuses units with several rows for a mechanism that claims nothing about them (P22). Such
// a mechanism would treat each row as a unit.
func (p *Plugin) uncapped(desc sdk.Description, public sdk.Public) error {
	if public.Cap == nil || desc.Capped {
		return nil
	}
	e := p.fault(CodeRefused)
	e.Detail = "it does not say what units with several rows cost; fold each unit into one row"
	return e
}

func (p *Plugin) checkPlan(m *wire.Plan, req sdk.PlanRequest, desc sdk.Description) (sdk.Plan, error) {
	plan, err := wire.ToPlan(m)
	if err == nil {
		err = plan.Check(req)
	}
	if err == nil && desc.DeclaresQuery != (len(plan.Queries) > 0) {
		err = errors.New("plan: a mechanism says declares_query exactly where its plans have queries")
	}
	if err == nil && desc.DeclaresQuery {
		if plan, err = finish.Complete(plan, req); err == nil {
			err = plan.Check(req)
		}
	}
	if err == nil && !desc.SelfNoising { // first: it knows how many calls there are without making them
		if _, err = calls.New(plan.Event); err != nil {
			err = fmt.Errorf("plan: %w", err)
		}
	}
	if err == nil && desc.Linear {
		if _, err = calls.Linear(plan.Event); err != nil {
			err = fmt.Errorf("plan: %w", err)
		}
	}
	if err == nil {
		err = checkFinish(desc, plan)
	}
	if refused := new(finish.Refusal); errors.As(err, &refused) {
		e := p.fault(CodeRefused)
		e.Detail = refused.Why
		return sdk.Plan{}, e
	}
	if err != nil {
		// The texts of these checks are our own and there is no data yet.
		e := p.fault(CodePlan)
		e.Detail = printable(err.Error())
		return sdk.Plan{}, e
	}
	if plan.Rows > p.limits.ResultRows {
		return sdk.Plan{}, p.fault(CodeOversize)
	}
	return plan, nil
}

// printable makes one short line of a plugin's text that a terminal can take.
func printable(s string) string {
	var out strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(s, "?") {
		if n++; n > maxDetail {
			out.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			out.WriteByte(' ')
		case unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			out.WriteByte('?')
		}
	}
	return strings.TrimSpace(out.String())
}
