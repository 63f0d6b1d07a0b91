package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// asked is a mechanism that releases nothing unless it is asked as its plan was.
type asked struct{ want sdk.PlanRequest }

func (asked) Describe() sdk.Description {
	return sdk.Description{Name: "asked", Version: "1", Params: json.RawMessage(`{}`), Relations: []privacy.Relation{privacy.AddRemove}, Designs: sdk.EveryDesign()}
}

func (asked) Plan(sdk.PlanRequest) (sdk.Plan, error) {
	return sdk.Plan{Event: privacy.Compose{}, Rows: 1, Output: []sdk.Field{{Name: "n", Type: sdk.Float64}}}, nil
}

func (a asked) Release(_ context.Context, req sdk.ReleaseRequest, _ sdk.Rows, _ sdk.Host) (sdk.Result, error) {
	if !reflect.DeepEqual(req.PlanRequest, a.want) {
		return sdk.Result{}, errors.New("that is not what the plan was asked")
	}
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "n", Float64: []float64{1}}}}, nil
}

// A release repeats all of the request that its plan was made from, also that a job counts in rho.
func TestReleaseRepeatsTheRequest(t *testing.T) {
	req := sdk.PlanRequest{Params: json.RawMessage(`{}`), InRho: true, Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
		Public: sdk.Public{Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove},
			Design: sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true}}}
	if _, err := Run(asked{req}, req, Table{}, nil); err != nil {
		t.Error(err)
	}
}
