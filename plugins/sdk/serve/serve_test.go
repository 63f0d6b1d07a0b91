package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var (
	someDescription = sdk.Description{
		Name: "mean", Version: "1.2.3", Relations: []privacy.Relation{privacy.ReplaceOne}, Designs: []string{"full"},
	}
	someRequest = sdk.PlanRequest{
		Params: []byte(`{"column":"x"}`),
		Public: sdk.Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: 6194,
			Design:  sdk.Design{Kind: "full", Rate: 1},
			Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: -1, Upper: 1, Missing: sdk.MissingImpute}},
		},
		Target: privacy.Point{Epsilon: 0.1, Delta: 1e-9},
	}
	somePlan = sdk.Plan{
		Columns: []string{"x"}, Rows: 3, Event: privacy.DiscreteLaplace{Scale: 3}, Output: []sdk.Field{{Name: "estimate", Type: sdk.Float64}},
	}
)

// fake is a mechanism of which each test sets what it needs.
type fake struct {
	name string
	plan func(sdk.PlanRequest) (sdk.Plan, error)
}

func (f fake) Describe() sdk.Description {
	d := someDescription
	d.Name = f.name
	return d
}
func (f fake) Plan(r sdk.PlanRequest) (sdk.Plan, error) { return f.plan(r) }
func (f fake) Release(context.Context, sdk.ReleaseRequest, sdk.Rows, sdk.Host) (sdk.Result, error) {
	return sdk.Result{}, nil
}

func TestNewServer(t *testing.T) {
	for name, ms := range map[string][]sdk.Mechanism{
		"none": nil, "twice": {fake{name: "a"}, fake{name: "a"}}, "undescribed": {fake{}},
	} {
		if _, err := newServer(ms); err == nil {
			t.Errorf("%s is served", name)
		}
	}
	if s, err := newServer([]sdk.Mechanism{fake{name: "b"}, fake{name: "a"}}); err != nil {
		t.Error(err)
	} else if m, err := s.Describe(context.Background(), &wire.DescribeRequest{}); err != nil || len(m.GetMechanisms()) != 2 || m.GetMechanisms()[0].GetName() != "b" {
		t.Errorf("described %v, %v", m, err)
	}
}

// A later host may say more, at any depth: what is left out is not missed.
func TestServerIgnoresUnknownFields(t *testing.T) {
	req, err := wire.FromPlanRequest("a", someRequest)
	if err != nil {
		t.Fatal(err)
	}
	extra := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
	for _, m := range []proto.Message{req, req.GetPublic(), req.GetPublic().GetDesign(), req.GetPublic().GetColumns()[0], req.GetTarget()} {
		m.ProtoReflect().SetUnknown(extra)
	}
	if wire.Known(req) == nil {
		t.Fatal("the host would not notice a field that it does not know")
	}
	s, err := newServer([]sdk.Mechanism{fake{"a", func(got sdk.PlanRequest) (sdk.Plan, error) {
		if !reflect.DeepEqual(got, someRequest) {
			t.Errorf("got %+v", got)
		}
		return somePlan, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Plan(context.Background(), req); err != nil || r.GetPlan() == nil {
		t.Errorf("%v, %v", r, err)
	}
	start, err := wire.FromReleaseRequest("a", sdk.ReleaseRequest{PlanRequest: someRequest, Plan: somePlan})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []proto.Message{start, start.GetPlan(), start.GetPlan().GetOutput()[0]} {
		m.ProtoReflect().SetUnknown(extra)
	}
	if err := wire.Forget(start); err != nil {
		t.Fatal(err)
	}
	if got, err := wire.ToReleaseRequest(start); err != nil || !reflect.DeepEqual(got.Plan, somePlan) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestServerPlan(t *testing.T) {
	ask := func(plan func(sdk.PlanRequest) (sdk.Plan, error), name string) (*wire.PlanResponse, error) {
		s, err := newServer([]sdk.Mechanism{fake{"a", plan}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := wire.FromPlanRequest(name, someRequest)
		if err != nil {
			t.Fatal(err)
		}
		return s.Plan(context.Background(), req)
	}
	if r, err := ask(func(sdk.PlanRequest) (sdk.Plan, error) { return somePlan, nil }, "a"); err != nil || r.GetPlan().GetRows() != 3 {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := ask(func(sdk.PlanRequest) (sdk.Plan, error) { return sdk.Plan{}, errors.New("no") }, "a"); err != nil || r.GetRefusal() != "no" {
		t.Errorf("got %v, %v", r, err)
	}
	// A plan that cannot be sent is the plugin's fault, and no refusal of the job. The error says where it is wrong.
	edges := func(sdk.PlanRequest) (sdk.Plan, error) {
		p := somePlan
		p.Output = []sdk.Field{{Name: "q", Type: sdk.Float64, Value: "q"}}
		p.Finish = &sdk.Finish{Noise: []sdk.NoiseColumns{{Columns: []string{"q"}, Quantiles: &sdk.Quantiles{Edges: []float64{0, math.NaN()}, At: []float64{0.5}}}}}
		return p, nil
	}
	if r, err := ask(edges, "a"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(fmt.Sprint(err), "edges of quantiles must be finite") {
		t.Errorf("got %v, %v", r, err)
	}
	if _, err := ask(nil, "b"); err == nil {
		t.Error("a mechanism that is not there plans")
	}
	_, err := ask(func(sdk.PlanRequest) (sdk.Plan, error) { panic("4815162342") }, "a")
	if err == nil || strings.Contains(status.Convert(err).Message(), "4815162342") {
		t.Errorf("a panic became %v", err)
	}
}

// The lifeline ends the process when the host's end of it is closed, not before.
func TestExitWithHost(t *testing.T) {
	r, w := io.Pipe()
	exited := make(chan int, 1)
	go exitWithHost(r, func(code int) { exited <- code })
	select {
	case <-exited:
		t.Fatal("exited while the host lives")
	case <-time.After(20 * time.Millisecond):
	}
	w.Close()
	select {
	case code := <-exited:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("outlived its host")
	}
}

// Texts come out as they were, whether most of them differ or not, and a column of few is sent in few bytes.
func TestCodedTexts(t *testing.T) {
	few := make([]string, 1000)
	for i := range few {
		few[i] = []string{"north", "", "south"}[i%3]
	}
	for name, texts := range map[string][]string{"none": nil, "one": {"a"}, "unlike": {"a", "b", "c", "d", "a"}, "few": few} {
		c := &wire.ResultColumn{}
		c.String_, c.Codes = coded(texts)
		if got, ok := c.AppendTexts(nil); !ok || !slices.Equal(got, texts) || name == "few" && proto.Size(c) > 1100 {
			t.Errorf("%s: %v, %v in %d bytes", name, got, ok, proto.Size(c))
		}
	}
}
