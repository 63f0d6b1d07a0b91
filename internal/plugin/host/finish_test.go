//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// total adds up x between 0 and 10, and counts the rows. How it cheats is its name.
type total struct{ sum }

var totalEvent = privacy.Compose{Events: []privacy.Event{
	privacy.DiscreteLaplace{Scale: 1000, Sensitivity: privacy.Sensitivity{AddRemove: 10, ReplaceOne: 10}},
	privacy.DiscreteGaussian{Sigma: 3, Sensitivity: privacy.Sensitivity{ReplaceOne: 1}},
}}

func (m total) Describe() sdk.Description {
	d := sum{name: m.name}.Describe()
	d.Linear = m.name != "low-bits" && m.name != "text"
	d.DeclaresFinish = strings.HasPrefix(m.name, "declared")
	return d
}

func (m total) Plan(sdk.PlanRequest) (sdk.Plan, error) {
	p := sdk.Plan{Columns: []string{"x"}, Event: totalEvent, Rows: 1,
		Output: []sdk.Field{{Name: "total", Type: sdk.Float64, Granularity: 1, Low: 0.5, High: 2000}, {Name: "says", Type: sdk.String, Texts: []string{"sound"}}}}
	if strings.HasPrefix(m.name, "declared") {
		p.Output[0].Value, p.Output[1].Value = "sum + n", "says"
		p.Finish = &sdk.Finish{Constants: []sdk.Constant{{Name: "says", Texts: []string{"sound"}}},
			Noise: []sdk.NoiseColumns{{Columns: []string{"sum"}}, {Columns: []string{"n"}}}}
	}
	switch m.name {
	case "other-noise":
		p.Event = privacy.Pure{Eps: 1}
	case "declared-none":
		p.Finish, p.Output[0].Value, p.Output[1].Value = nil, "", ""
	case "undeclared":
		p.Output[0].Value, p.Output[1].Value = "sum", "'sound'"
		p.Finish = &sdk.Finish{}
	case "declared-typo":
		p.Output[0].Value = "summ + n"
	case "declared-calls":
		p.Finish.Noise = p.Finish.Noise[:1]
	case "declared-zero":
		p.Output[0].Value = "n / (sum - sum)"
	}
	return p, nil
}

var seen float64 // a row, kept from one release to the next

func (m total) Release(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	var sum, n int64
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		for _, x := range b.Float64(0) {
			sum += int64(x)
			n++
			seen = x
		}
		return nil
	})
	if err != nil {
		return sdk.Result{}, err
	}
	sums := []int64{sum}
	if m.name == "declared-long" {
		sums = append(sums, 1)
	}
	a, err := host.AddLaplace(ctx, totalEvent.Events[0].(privacy.DiscreteLaplace), sums)
	if err != nil {
		return sdk.Result{}, err
	}
	b, err := host.AddGaussian(ctx, totalEvent.Events[1].(privacy.DiscreteGaussian), []int64{n})
	if err != nil {
		return sdk.Result{}, err
	}
	out, says := float64(a[0]+b[0]), "sound"
	switch m.name {
	case "thief", "declared-thief":
		out = seen
	case "declared-told":
		if a[0] != 0 || b[0] != 0 {
			return sdk.Result{}, errors.New("the plugin hears of the sums")
		}
	case "low-bits":
		out += seen / 1024
	case "text":
		says = string(rune('a' + int(seen)))
	}
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "total", Float64: []float64{out}}, {Name: "says", Texts: []string{says}}}}, nil
}

func startTotal(t *testing.T, cheat string, lattice bool) *Plugin {
	t.Helper()
	c := command(t, "total", cheat)
	c.Lattice = lattice
	p, err := Start(t.Context(), c, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// xs is a feed of some batches.
func xs(batches ...[]float64) func(context.Context, RowWriter) error {
	return func(_ context.Context, w RowWriter) error {
		for _, b := range batches {
			if err := w.Write(sdk.Batch{Rows: len(b), Columns: []sdk.Values{{Float64: b}}}); err != nil {
				return err
			}
		}
		return nil
	}
}

func alone(t *testing.T, cheat string, lattice bool, feed func(context.Context, RowWriter) error) (sdk.Result, error) {
	t.Helper()
	p := startTotal(t, cheat, lattice)
	out, err := p.Release(t.Context(), planned(t, p), feed, &fakeDrawer{})
	return out, err
}

// The host makes the result that the plugin would have made. The plugin hears of no sum.
func TestDeclared(t *testing.T) {
	for name, feed := range map[string]func(context.Context, RowWriter) error{"few": xs([]float64{3, 4}, []float64{10}), "none": xs()} {
		want, err := alone(t, "honest", true, feed)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"declared", "declared-told"} {
			p := startTotal(t, mode, true)
			got, err := p.Release(t.Context(), planned(t, p), feed, &fakeDrawer{})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %+v, want %+v; %v", name, mode, got, want, err)
			}
		}
	}
	// A value that cannot be computed is missing, and no failure.
	out, err := alone(t, "declared-zero", true, xs([]float64{3}))
	if err != nil || !reflect.DeepEqual(out.Columns[0].Blank, []bool{true}) {
		t.Errorf("%+v, %v", out, err)
	}
}

// Sums that other machines made of parts of the rows are finished without the plugin.
func TestDeclaredElsewhere(t *testing.T) {
	p := startTotal(t, "declared", true)
	req := planned(t, p)
	p.Close()
	elsewhere := startTotal(t, "declared", true)
	var sums [][]int64
	for _, part := range [][]float64{{3, 4}, {10}, {}} {
		more, err := elsewhere.Sums(t.Context(), req, xs(part))
		if err == nil {
			sums, err = AddVectors(sums, more)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.Finish(t.Context(), req, sums, &fakeDrawer{})
	want, err2 := alone(t, "declared", true, xs([]float64{3, 4, 10}))
	if err = errors.Join(err, err2); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v, %v", got, want, err)
	}
	if _, err = p.Finish(t.Context(), req, [][]int64{{1, 2}, {3}}, &fakeDrawer{}); err == nil {
		t.Error("sums of another length are finished")
	}
}

// What a plugin that saw rows returns does not reach the result where the finish is declared. The twin
// gives the row away.
func TestThief(t *testing.T) {
	for mode, leaks := range map[string]bool{"thief": true, "declared-thief": false} {
		a, err := alone(t, mode, true, xs([]float64{2, 3, 5}))
		b, err2 := alone(t, mode, true, xs([]float64{3, 5, 2}))
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if same := reflect.DeepEqual(a, b); same == leaks {
			t.Errorf("%s: the results are the same: %v; %v, %v", mode, same, a, b)
		}
	}
}

// A row in the digits below the grid, or in a text, does not get out. The twins show that it
// was there.
func TestLattice(t *testing.T) {
	twin, err := alone(t, "low-bits", false, xs([]float64{2, 7}))
	if checkCode(t, err, CodeLattice); err == nil {
		t.Errorf("the plugin hides nothing: %v", twin)
	}
	same := func(x float64) sdk.Result {
		out, err := alone(t, "low-bits", true, xs([]float64{10 - x, x}))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if a, b := same(3), same(7); !reflect.DeepEqual(a, b) {
		t.Errorf("a row is in %v and %v", a, b)
	}
	_, err = alone(t, "text", true, xs([]float64{3}))
	checkCode(t, err, CodeLattice)
	out, err := alone(t, "low-bits", true, xs([]float64{1e6}))
	if err != nil || out.Columns[0].Float64[0] != 2000 {
		t.Errorf("a value above the range: %v, %v", out, err)
	}
}

func TestNumber(t *testing.T) {
	for _, tc := range []struct {
		f       sdk.Field
		x, want float64
	}{
		{sdk.Field{Granularity: 0.5}, 1.3, 1.5},
		{sdk.Field{Granularity: 1, Low: 0.5, High: 7.5}, -3, 1},
		{sdk.Field{Granularity: 1, Low: 0.5, High: 7.5}, 9, 7},
		{sdk.Field{Low: -1, High: 1}, 5, 1},
		{sdk.Field{}, 1.0 / 3, float64(float32(1.0 / 3))},
		{sdk.Field{}, 1e300, math.MaxFloat32},
		{sdk.Field{}, -1e300, -math.MaxFloat32},
	} {
		if got := number(tc.f, tc.x); got != tc.want {
			t.Errorf("%+v of %v: %v, want %v", tc.f, tc.x, got, tc.want)
		}
	}
}

// A plan whose finish does not fit is refused before any row is read, and a vector that does not fit
// fails the release.
func TestFinishRefused(t *testing.T) {
	for mode, says := range map[string]string{
		"other-noise": "", "declared-none": "declares_finish", "undeclared": "declares_finish",
		"declared-typo": `there is no column "summ"`, "declared-calls": "1 noise calls, and the event has 2",
	} {
		_, err := startTotal(t, mode, true).Plan(t.Context(), request())
		if checkCode(t, err, CodePlan); !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	_, err := alone(t, "declared-long", true, xs([]float64{5}))
	checkCode(t, err, CodeNoiseFailed)
}

// What goes wrong in the feed, or in the process of rows, is told as it is.
func TestDeclaredFails(t *testing.T) {
	mine := errors.New("mine")
	_, err := alone(t, "declared", true, func(ctx context.Context, w RowWriter) error {
		return errors.Join(xs([]float64{1})(ctx, w), mine)
	})
	if !errors.Is(err, mine) {
		t.Error(err)
	}
	p := startTotal(t, "declared", true)
	_, err = p.Release(t.Context(), planned(t, p), func(ctx context.Context, w RowWriter) error {
		p.runner.process().Kill(p.limits.Grace)
		return xs(make([]float64, 1<<15), make([]float64, 1<<15), make([]float64, 1<<15))(ctx, w)
	}, &fakeDrawer{})
	checkCode(t, err, CodeCrash)
}

// TestRepeatsOfNothing: a plan of very many repeats that make no call is refused at once.
func TestRepeatsOfNothing(t *testing.T) {
	event := privacy.Event(privacy.Compose{})
	for range 8 {
		event = privacy.Repeat{N: 1 << 30, Event: event}
	}
	m, err := wire.FromPlan(sdk.Plan{Event: event, Rows: 1, Output: []sdk.Field{{Name: "n", Type: sdk.Int64}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &Plugin{limits: Limits{}.filled(), running: &running{}}
	refused := make(chan error, 1)
	go func() {
		_, err := p.checkPlan(m, sdk.PlanRequest{}, sdk.Description{Linear: true})
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil {
			t.Error("it is accepted")
		}
	case <-time.After(time.Minute):
		t.Fatal("it is still looked at after a minute")
	}
}
