package inprocess

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/finish"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanisms plan in this process. They are known by their names.
type Mechanisms map[string]sdk.Mechanism

var errUnknown = errors.New("this program does not hold the mechanism")

// Get finds a mechanism.
func (ms Mechanisms) Get(_ context.Context, name string) (plan.Mechanism, error) {
	m, ok := ms[name]
	if !ok {
		return nil, errUnknown
	}
	validate, err := plan.Parameters(m.Describe().Whole().Params)
	return mechanism{m, validate}, err
}

// mechanism is a built-in mechanism, as the planner asks it.
type mechanism struct {
	sdk.Mechanism
	validate func(params json.RawMessage) error
}

func (m mechanism) About() sdk.Description                { return m.Describe().Whole() }
func (m mechanism) Origin() (builtin bool, sha256 string) { return true, "" }
func (m mechanism) Confined() string                      { return "" }
func (m mechanism) Validate(raw json.RawMessage) error    { return m.validate(raw) }
func (m mechanism) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	if !m.Describe().DeclaresQuery {
		return m.Mechanism.Plan(r)
	}
	_, one, err := r.Ungrouped()
	if err != nil {
		return sdk.Plan{}, err
	}
	p, err := m.Mechanism.Plan(one)
	if err != nil {
		return sdk.Plan{}, err
	}
	return finish.Complete(p, r)
}

// NoPast knows no earlier job, so it plans a first one.
type NoPast struct{}

// Node finds nothing.
func (NoPast) Node(context.Context, *job.Job, string) (*ledger.Node, error) { return nil, nil }
