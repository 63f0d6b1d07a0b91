package inprocess

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/finish"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanisms plan in this process. They are known by their names.
type Mechanisms map[string]sdk.Mechanism

var errUnknown = errors.New("this program does not hold the mechanism")

// Get finds a mechanism.
func (ms Mechanisms) Get(_ context.Context, name string) (planned.Mechanism, error) {
	m, ok := ms[name]
	if !ok {
		return nil, errUnknown
	}
	return mechanism{m}, nil
}

// mechanism is a built-in mechanism, as the planner asks it.
type mechanism struct{ sdk.Mechanism }

func (m mechanism) About() sdk.Description                { return m.Describe().Whole() }
func (m mechanism) Origin() (builtin bool, sha256 string) { return true, "" }
func (m mechanism) Confined() string                      { return "" }
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
