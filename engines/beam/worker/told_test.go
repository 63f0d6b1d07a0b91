package worker

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// declares adds up a column. Only the host of the job has it.
type declares struct{ sdk.Declared }

func (declares) Describe() sdk.Description {
	return sdk.Description{Name: "declares", Version: "1", DeclaresQuery: true, Params: json.RawMessage(`{"type": "object"}`)}
}

func (declares) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	return sdk.Plan{Rows: 1, Queries: []sdk.Query{{Coordinates: []sdk.Coordinate{{Value: "x", Low: -200, High: 500}}}},
		Finish: &sdk.Finish{Noise: []sdk.NoiseColumns{{Columns: []string{"sum"}}}},
		Output: []sdk.Field{{Name: "sum", Type: sdk.Float64, Value: "sum"}}}, nil
}

// listening keeps the answers of one mechanism.
type listening struct {
	planned.Mechanism
	told run.Told
}

func (l listening) Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	p, err := l.Mechanism.Plan(ctx, r)
	if err == nil {
		err = l.told.Add(r, p)
	}
	return p, err
}

type hears struct {
	inprocess.Mechanisms
	told *run.Told
}

func (h hears) Get(ctx context.Context, name string) (planned.Mechanism, error) {
	m, err := h.Mechanisms.Get(ctx, name)
	if err != nil || name != "declares" {
		return m, err
	}
	if h.told.Plans == nil {
		if *h.told, err = run.NewTold(m.About(), "0"); err != nil {
			return nil, err
		}
	}
	return listening{m, *h.told}, nil
}

// Machines that do not have a plugin whose query is declared add it up: by group, behind a filter and a fold. What they find
// is what one machine finds that has it. Without its answers they refuse.
func TestDeclaredQueriesNeedNoPlugin(t *testing.T) {
	path := spreadTable(t)
	for _, dataset := range []string{byRow + fields, many + "  fold: {x: sum, g: mode}\n" + fields} {
		j, err := language.Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(`version: 1
job: spread
dataset:
  id: spread
  source: {path: `+path+`}
`+dataset+`
budget: {limit: {epsilon: 1000}}
releases:
  - {name: n, mechanism: declares, by: [g], guarantee: {epsilon: 1}}
  - {name: s, mechanism: declares, where: "x > -100", guarantee: {epsilon: 1}}
engine: {runner: prism, options: {splits: 8, shards: 5}}
output: {dir: out}
`), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		here := inprocess.Mechanisms(maps.Clone(builtin.Mechanisms()))
		here["declares"] = declares{}
		var said run.Told
		p, err := plan.Make(t.Context(), j, hears{here, &said}, inprocess.NoPast{})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := run.OpenTable(t.Context(), p.Plan, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(opened.Close)
		r := &spread{&serial{worker: Worker{Builtins: builtin.Mechanisms()}}, p.Plan, opened}
		if err := r.run(t); err == nil || errors.Is(err, errAdded) {
			t.Errorf("without its answers: %v", err)
		}
		r.order = func(o *run.Order) { o.Told = map[string]run.Told{"declares": said} }
		got := addedUp(t, r, noise.Key{1}, nil)
		plain, err := run.AddUp(t.Context(), r.plan, r.table, here.Sums, nil, noise.Key{2}.Source())
		if err != nil {
			t.Fatal(err)
		}
		if len(got["n"]) != 1 || !reflect.DeepEqual(got, plain.Vectors) {
			t.Errorf("%s, not %s", brief(got), brief(plain.Vectors))
		}
	}
}
