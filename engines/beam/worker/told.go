package worker

import (
	"context"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// shelf has the built-in mechanisms, and what plugins said where they are.
type shelf struct {
	inprocess.Mechanisms
	told map[string]run.Told
}

// Get finds a mechanism. A plugin is first: its name in the job takes the place of a built-in one.
func (s shelf) Get(ctx context.Context, name string) (planned.Mechanism, error) {
	t, ok := s.told[name]
	if !ok {
		return s.Mechanisms.Get(ctx, name)
	}
	about, err := t.Description()
	if err != nil {
		return nil, err
	}
	return absent{t, about}, nil
}

// absent is a plugin that this machine does not have.
type absent struct {
	run.Told
	about sdk.Description
}

func (m absent) About() sdk.Description                { return m.about }
func (m absent) Origin() (builtin bool, sha256 string) { return false, m.SHA256 }
func (m absent) Confined() string                      { return "" }

// Plan repeats an answer. What was refused, or not asked, is refused.
func (m absent) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	p, err := m.Told.Plan(r)
	if err != nil {
		err = &host.Error{Code: host.CodeRefused, Plugin: m.about.Name}
	}
	return p, err
}
