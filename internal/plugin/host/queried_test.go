//go:build linux

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// query declares the sum of x. How it cheats is its name. Its process ends where it is asked for a release.
type query struct{ sum }

func (m query) Describe() sdk.Description {
	return sdk.Description{Name: "query", Version: "1", DeclaresQuery: m.name != "query-silent",
		DeclaresFinish: m.name == "query-silent", Linear: m.name == "query-silent", Relations: []privacy.Relation{privacy.AddRemove}, Designs: []string{"full"}}
}

func (m query) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	p := sdk.Plan{Rows: 1, Output: []sdk.Field{{Name: "total", Type: sdk.Float64, Value: "sum"}},
		Queries: []sdk.Query{{Coordinates: []sdk.Coordinate{{Value: "x", Low: 0, High: 10, Lattice: 1}}}},
		Finish:  &sdk.Finish{Noise: []sdk.NoiseColumns{{Columns: []string{"sum"}}}}}
	switch m.name {
	case "query-event":
		p.Event = privacy.DiscreteLaplace{Scale: 1, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}
	case "query-columns":
		p.Columns = []string{"x"}
	case "query-none":
		p.Queries, p.Event = nil, totalEvent
	case "query-typo":
		p.Queries[0].Coordinates[0].Value = "xx"
	case "query-told": // of groups
		if len(req.Params) > 2 {
			return p, errors.New("it is told of the groups")
		}
	}
	return p, nil
}

func (query) Release(context.Context, sdk.ReleaseRequest, sdk.Rows, sdk.Host) (sdk.Result, error) {
	panic("a release was asked for")
}

func startQuery(t *testing.T, cheat string) *Plugin {
	t.Helper()
	p, err := Start(t.Context(), command(t, "query", cheat), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// The host makes the release: the plugin's process may be gone.
func TestQueried(t *testing.T) {
	p := startQuery(t, "query")
	d, err := p.Describe(t.Context())
	if err != nil || !d.Capped || !d.Grouped || !d.Weighted || !d.Linear || len(d.Relations) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	ask := request()
	plan, err := p.Plan(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, rel := range ask.Public.SampleRelations {
		if a, err := privacy.EpsilonAt(plan.Event, rel, ask.Target.Delta); err != nil || a.Epsilon > ask.Target.Epsilon {
			t.Errorf("%v, %v", a, err)
		}
	}
	p.Close()
	req := sdk.ReleaseRequest{PlanRequest: ask, Plan: plan}
	rows := xs([]float64{3, 4}, []float64{10, 99, -7})
	out, err := p.Release(t.Context(), req, rows, &fakeDrawer{})
	if err != nil {
		t.Fatal(err)
	}
	sums, err := p.Sums(t.Context(), req, rows)
	if err != nil || !reflect.DeepEqual(sums, [][]int64{{27}}) {
		t.Errorf("the sums are %v, %v", sums, err)
	}
	again, err := p.Finish(t.Context(), req, sums, &fakeDrawer{})
	if err != nil || !reflect.DeepEqual(again, out) {
		t.Errorf("%v, and from sums %v, %v", out, again, err)
	}
	mine := errors.New("mine")
	if _, err = p.Release(t.Context(), req, func(context.Context, RowWriter) error { return mine }, &fakeDrawer{}); !errors.Is(err, mine) {
		t.Error(err)
	}
	req.Plan.Event = privacy.DiscreteLaplace{Scale: 9, Sensitivity: privacy.Sensitivity{AddRemove: 9, ReplaceOne: 9}}
	_, err = p.Release(t.Context(), req, rows, &fakeDrawer{})
	checkCode(t, err, CodeNoiseFailed)
}

// The plugin plans for one group: the host adds the groups, and says nothing of them.
func TestQueriedByGroup(t *testing.T) {
	p := startQuery(t, "query-told")
	ask := request()
	ask.Params = json.RawMessage(`{"by":"g"}`)
	plan, err := p.Plan(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Release(t.Context(), sdk.ReleaseRequest{PlanRequest: ask, Plan: plan},
		func(_ context.Context, w RowWriter) error {
			return w.Write(sdk.Batch{Rows: 4, Columns: []sdk.Values{{Codes: []int32{1, 0, 2, -1}}, {Float64: []float64{2, 3, 4, 5}}}})
		}, &fakeDrawer{})
	if err != nil || out.Columns[0].Name != "g" || !reflect.DeepEqual(out.Columns[0].Texts, []string{"a", "b", "c"}) || len(out.Columns[1].Float64) != 3 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestQueryRefused(t *testing.T) {
	for mode, says := range map[string]string{
		"query-event": "neither columns nor an event", "query-columns": "neither columns nor an event", "query-none": "declares_query",
		"query-typo": "did you mean", "query-silent": "declares_query",
	} {
		_, err := startQuery(t, mode).Plan(t.Context(), request())
		if checkCode(t, err, CodePlan); !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
