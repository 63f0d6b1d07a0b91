package sdktest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// count is a complete mechanism: the noisy number of rows whose category is the
// first of its domain.
type count struct {
	calls   []privacy.DiscreteLaplace // what Release really asks for
	planned *int
}

func (count) Describe() sdk.Description {
	return sdk.Description{
		Name: "count", Version: "1.0.0", Summary: "rows of the first category",
		Relations: []privacy.Relation{privacy.AddRemove}, Designs: []string{"full"},
	}
}

func (m count) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	if req.Target.Epsilon <= 0 {
		return sdk.Plan{}, errors.New("epsilon must be positive")
	}
	rows := int64(1)
	if m.planned != nil { // a plan that depends on more than its request
		*m.planned++
		rows += int64(*m.planned)
	}
	return sdk.Plan{
		Columns: []string{"g"}, Rows: rows, Output: []sdk.Field{{Name: "n", Type: sdk.Int64}},
		Event: privacy.DiscreteLaplace{Scale: 1 / req.Target.Epsilon},
	}, nil
}

func (m count) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	var n int64
	for {
		b, err := rows.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return sdk.Result{}, err
		}
		for i, c := range b.Codes(0) {
			if b.IsValid(0, i) && c == 0 {
				n++
			}
		}
	}
	calls := m.calls
	if calls == nil {
		calls = []privacy.DiscreteLaplace{req.Plan.Event.(privacy.DiscreteLaplace)}
	}
	out := []int64{n}
	for _, c := range calls {
		var err error
		if out, err = host.AddLaplace(ctx, c, out); err != nil {
			return sdk.Result{}, err
		}
	}
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "n", Int64: out}}}, nil
}

func request() sdk.PlanRequest {
	return sdk.PlanRequest{
		Public: sdk.Public{
			Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove},
			Columns: []sdk.Column{{Name: "g", Type: sdk.Category, Missing: sdk.MissingDrop, Domain: []string{"a", "b"}}},
		},
		Target: privacy.Point{Epsilon: 0.5},
	}
}

var table = sdktest.Table{Rows: 5, BatchRows: 2, Columns: map[string]sdk.Values{"g": {Codes: []int32{0, 1, 0, -1, 0}}}}

func ExampleRun() {
	out, err := sdktest.Run(count{}, request(), table, nil)
	fmt.Println(out.Result.Columns[0].Int64, out.Calls[0].Event, err)
	// Output: [3] {2 {0 0}} <nil>
}

func TestRunHoldsToThePlan(t *testing.T) {
	planned := privacy.DiscreteLaplace{Scale: 2}
	for name, c := range map[string]struct {
		calls []privacy.DiscreteLaplace
		want  string
	}{
		"right": {[]privacy.DiscreteLaplace{planned}, ""},
		"fewer": {[]privacy.DiscreteLaplace{}, "fewer"},
		"more":  {[]privacy.DiscreteLaplace{planned, planned}, "call 2"},
		"scale": {[]privacy.DiscreteLaplace{{Scale: 1}}, "call 1"},
	} {
		_, err := sdktest.Run(count{calls: c.calls}, request(), table, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := sdktest.Run(count{planned: new(int)}, request(), table, nil); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a plan that changes: %v", err)
	}
	bad := request()
	bad.Target.Epsilon = 0
	if _, err := sdktest.Run(count{}, bad, table, nil); err == nil || err.Error() != "epsilon must be positive" {
		t.Errorf("a refusal: %v", err)
	}
	short := table
	short.Rows = 6
	if _, err := sdktest.Run(count{}, request(), short, nil); err == nil {
		t.Error("a column that is too short is accepted")
	}
}

func TestRunRecords(t *testing.T) {
	out, err := sdktest.Run(count{}, request(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []sdktest.Call{{Method: "AddLaplace", Event: privacy.DiscreteLaplace{Scale: 2}, Values: []int64{3}}}
	if !reflect.DeepEqual(out.Calls, want) {
		t.Errorf("calls %+v", out.Calls)
	}
}
