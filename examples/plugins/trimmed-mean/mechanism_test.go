package main

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// TestConformance looks for a promise that the mechanism breaks. A failure prints a
// pair of small tables; that there is none proves nothing.
func TestConformance(t *testing.T) {
	sdktest.Test(t, Mechanism{}, sdktest.Config{Seed: 1})
}

// TestKnownValues: without noise the release is the trimmed mean.
func TestKnownValues(t *testing.T) {
	x := []float64{90, 1, 3, 2, 100, 4, 0, 5, 0, 6}
	req := sdk.PlanRequest{
		Params: json.RawMessage(`{"column": "x", "trim": 0.2}`),
		Public: sdk.Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: 10,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: 10, LargestCount: 10, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: 0, Upper: 100, Missing: sdk.MissingRefuse}},
		},
		Target: privacy.Point{Epsilon: 1},
	}
	out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Rows: 10, Columns: map[string]sdk.Values{"x": {Float64: x}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out.Result.Columns[0].Float64[0], (1+2+3+4+5+6)/6.0; math.Abs(got-want) > 1e-4 {
		t.Errorf("%v, want %v", got, want)
	}
	req.Public.Design.SampleSize = 0
	if _, err := (Mechanism{}).Plan(req); err == nil {
		t.Error("a secret number of records is accepted")
	}
}
