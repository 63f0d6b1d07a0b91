package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// present counts the records whose value is not missing.
type present struct{}

func (present) Describe() sdk.Description {
	return sdk.Description{
		Name: "present", Version: "1.0.0", Summary: "number of values that are not missing",
		Params:    json.RawMessage(`{"type": "object", "required": ["column"], "properties": {"column": {"type": "string"}}}`),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Designs:   []string{"full"},
	}
}

// noise is the event of a release. One record adds 0 or 1 to the count: under both
// relations the count moves by at most 1.
func noise(req sdk.PlanRequest) (privacy.DiscreteLaplace, error) {
	s := privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}
	scale, err := sdk.LaplaceScale(sdk.Largest(s, req.Public.SampleRelations), req.Target.Epsilon)
	return privacy.DiscreteLaplace{Scale: scale, Sensitivity: s}, err
}

func (present) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	var p struct{ Column string }
	if err := json.Unmarshal(req.Params, &p); err != nil {
		return sdk.Plan{}, err
	}
	if _, ok := req.Public.Column(p.Column); !ok {
		return sdk.Plan{}, fmt.Errorf("column: %q is not declared", p.Column)
	}
	event, err := noise(req)
	return sdk.Plan{
		Columns: []string{p.Column}, Event: event, Rows: 1,
		Output: []sdk.Field{{Name: "count", Type: sdk.Int64}},
		Errors: []sdk.ExpectedError{sdk.LaplaceError("count", event.Scale)},
	}, err
}

func (present) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	event, err := noise(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	var count int64
	err = sdk.Each(rows, func(b *sdk.Batch) error {
		for row := range b.Rows {
			if b.IsValid(0, row) {
				count++
			}
		}
		return nil
	})
	if err != nil {
		return sdk.Result{}, err
	}
	noisy, err := host.AddLaplace(ctx, event, []int64{count})
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "count", Int64: noisy}}}, err
}

// A whole mechanism, run on a table without noise.
func Example() {
	req := sdk.PlanRequest{
		Params: json.RawMessage(`{"column": "income"}`),
		Public: sdk.Public{
			Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove},
			Design:  sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: []sdk.Column{{Name: "income", Type: sdk.Number, Lower: 0, Upper: 1e6, Missing: sdk.MissingDrop}},
		},
		Target: privacy.Point{Epsilon: 0.5},
	}
	table := sdktest.Table{Rows: 4, Columns: map[string]sdk.Values{
		"income": {Float64: []float64{40e3, 0, 52e3, 31e3}, Valid: []byte{0b1101}}, // the second is missing
	}}
	out, err := sdktest.Run(present{}, req, table, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("count:", out.Result.Columns[0].Int64)
	fmt.Printf("with noise it will be off by less than %.1f, 95 times in 100\n", out.Plan.Errors[0].Half95)
	// Output:
	// count: [3]
	// with noise it will be off by less than 6.0, 95 times in 100
}
