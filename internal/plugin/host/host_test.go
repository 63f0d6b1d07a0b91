//go:build linux

package host

import (
	"context"
	"math"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// modes are the plugins of the tests.
var modes map[string]func(args []string)

func init() { modes = allModes() } // not a literal: the modes refer to it

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func command(t testing.TB, mode string, args ...string) Command {
	return Command{Name: "test", Path: self(t), Args: append([]string{"plugin", mode}, args...), Confine: sandbox.Confinement{Mode: sandbox.Required}}
}

func start(t testing.TB, mode string, l Limits, args ...string) *Plugin {
	t.Helper()
	p, err := Start(context.Background(), command(t, mode, args...), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func request() sdk.PlanRequest {
	return sdk.PlanRequest{
		Params: []byte(`{"column":"x"}`),
		Public: sdk.Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: 6,
			Design: sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: []sdk.Column{
				{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1e10, Missing: sdk.MissingDrop},
				{Name: "g", Type: sdk.Category, Missing: sdk.MissingRefuse, Domain: []string{"a", "b", "c"}},
			},
		},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

func releaseOf(req sdk.PlanRequest, plan sdk.Plan) sdk.ReleaseRequest {
	return sdk.ReleaseRequest{PlanRequest: req, Plan: plan}
}

// rows is a feed of six rows, in two batches, of which one x and one g are missing.
func rows(_ context.Context, w RowWriter) error {
	for range 2 {
		err := w.Write(sdk.Batch{Rows: 3, Columns: []sdk.Values{
			{Float64: []float64{secret, 2, math.MaxFloat64}, Valid: []byte{0b011}},
			{Codes: []int32{0, -1, 2}},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// ways are all ways for rows to reach a plugin: each with a plugin that reads them, and
// the lane that the host chooses.
var ways = map[string]struct {
	mode []string
	lane lane
}{
	"columns": {[]string{"good"}, &columnsLane{}},
	"socket":  {[]string{"raw", "arrow"}, &socketLane{}},
}

// everyWay runs a test for each way. The plugin has the marker among its arguments.
func everyWay(t *testing.T, test func(t *testing.T, p *Plugin, marker string)) {
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			m := marker()
			p := start(t, w.mode[0], Limits{}, append(w.mode[1:len(w.mode):len(w.mode)], m)...)
			if _, err := p.Describe(context.Background()); err != nil {
				t.Fatal(err)
			}
			l, err := (&release{p: p, columns: request().Public.Columns}).openLane()
			if err != nil || reflect.TypeOf(l) != reflect.TypeOf(w.lane) {
				t.Fatalf("the lane is %T, %v", l, err)
			}
			l.close()
			test(t, p, m)
		})
	}
}

func TestRelease(t *testing.T) {
	everyWay(t, func(t *testing.T, p *Plugin, _ string) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		d, err := p.Describe(ctx)
		if err != nil || d.Name != "sum" || d.Version != "1.0.0" || len(d.Relations) != 2 {
			t.Fatalf("Describe: %+v, %v", d, err)
		}
		plan, err := p.Plan(ctx, request())
		if err != nil {
			t.Fatal(err)
		}
		want, _ := sum{}.defaultPlan(request())
		if !reflect.DeepEqual(plan, want) {
			t.Fatalf("plan changed on the wire:\n%+v\n%+v", plan, want)
		}
		for range 2 { // a plugin serves more than one release
			dr := &fakeDrawer{}
			got, err := p.Release(ctx, releaseOf(request(), plan), rows, dr)
			if err != nil {
				t.Fatal(err)
			}
			if want := good(2*2*(secret+2)+10, 2+3, 7+3); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if dr.laplace != 1 || dr.gaussian != 2 {
				t.Errorf("draws: %+v", dr)
			}
		}
	})
}
