//go:build linux

package host

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/wire"
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
	return d
}

func (m total) Plan(sdk.PlanRequest) (sdk.Plan, error) {
	p := sdk.Plan{Columns: []string{"x"}, Event: totalEvent, Rows: 1,
		Output: []sdk.Field{{Name: "total", Type: sdk.Float64, Granularity: 1, Low: 0.5, High: 2000}, {Name: "says", Type: sdk.String, Texts: []string{"sound"}}}}
	if m.name == "other-noise" {
		p.Event = privacy.Pure{Eps: 1}
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
	switch m.name {
	case "loud":
		sum *= 1000
	case "empty-handed":
		n++
	}
	a, err := host.AddLaplace(ctx, totalEvent.Events[0].(privacy.DiscreteLaplace), []int64{sum})
	if err != nil {
		return sdk.Result{}, err
	}
	b, err := host.AddGaussian(ctx, totalEvent.Events[1].(privacy.DiscreteGaussian), []int64{n})
	if err != nil {
		return sdk.Result{}, err
	}
	out, says := float64(a[0]+b[0]), "sound"
	switch m.name {
	case "thief":
		out = seen
	case "low-bits":
		out += seen / 1024
	case "text":
		says = string(rune('a' + int(seen)))
	}
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: "total", Float64: []float64{out}}, {Name: "says", String: []string{says}}}}, nil
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

// manyOnes are more rows than become one vector.
func manyOnes(last float64) func(context.Context, RowWriter) error {
	ones := make([]float64, 1<<15)
	for i := range ones {
		ones[i] = 1
	}
	batches := make([][]float64, vectorRows>>15+2)
	for i := range batches {
		batches[i] = ones
	}
	return xs(append(batches, []float64{last})...)
}

// apart releases in two processes, and alone in one.
func apart(t *testing.T, cheat string, feed func(context.Context, RowWriter) error) (sdk.Result, privacy.Event, error) {
	t.Helper()
	one, other := startTotal(t, cheat, true), startTotal(t, cheat, true)
	return one.ReleaseApart(t.Context(), other, planned(t, one), feed, &fakeDrawer{})
}

func alone(t *testing.T, cheat string, lattice bool, feed func(context.Context, RowWriter) error) (sdk.Result, error) {
	t.Helper()
	p := startTotal(t, cheat, lattice)
	out, _, err := p.Release(t.Context(), planned(t, p), feed, &fakeDrawer{})
	return out, err
}

// Two processes release what one releases, over several vectors too.
func TestApartIsTheSame(t *testing.T) {
	for name, feed := range map[string]func(context.Context, RowWriter) error{"few": xs([]float64{3, 4}, []float64{10}), "none": xs(), "many": manyOnes(7)} {
		want, err := alone(t, "honest", true, feed)
		got, event, err2 := apart(t, "honest", feed)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, want) || !privacy.Equal(event, totalEvent) {
			t.Errorf("%s: %+v, %v, want %+v; %v; %v", name, got, event, want, err2, err)
		}
	}
}

// What a process of rows remembers does not reach the result of another. The twin, one
// process, gives the row away.
func TestThief(t *testing.T) {
	for _, tc := range []struct {
		release func(x float64) (sdk.Result, error)
		leaks   bool
	}{
		{func(x float64) (sdk.Result, error) { return alone(t, "thief", false, xs([]float64{2, x})) }, true},
		{func(x float64) (sdk.Result, error) {
			out, _, err := apart(t, "thief", xs([]float64{2, x}))
			return out, err
		}, false},
	} {
		a, err := tc.release(3)
		b, err2 := tc.release(8)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if same := reflect.DeepEqual(a, b); same == tc.leaks {
			t.Errorf("the results are the same: %v; %v, %v", same, a, b)
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

// A vector that is longer than its rows can make it is shortened, and no other.
func TestLimit(t *testing.T) {
	for _, c := range []linearCall{{bound: 3}, {bound: 3, euclidean: true}, {bound: 3, centred: true}} {
		centre := []int64(nil)
		if c.centred {
			centre = []int64{100, -7}
		}
		for a := int64(-12); a <= 12; a++ {
			for b := int64(-12); b <= 12; b++ {
				at := []int64{0, 0}
				if c.centred {
					at = []int64{200, -14}
				}
				v := []int64{at[0] + a, at[1] + b}
				c.limit(v, centre, 2)
				norm := func(a, b int64) float64 {
					if c.euclidean {
						return math.Hypot(float64(a), float64(b))
					}
					return math.Abs(float64(a)) + math.Abs(float64(b))
				}
				switch got := norm(v[0]-at[0], v[1]-at[1]); {
				case norm(a, b) <= 6 && (v[0] != at[0]+a || v[1] != at[1]+b):
					t.Errorf("%+v: (%d, %d) became %v", c, a, b, v)
				case got > 6+2: // the centre is no whole number of steps away from what is cut off
					t.Errorf("%+v: (%d, %d) became %v, %v long", c, a, b, v, got)
				case centre == nil && got > 6:
					t.Errorf("%+v: (%d, %d) became %v, %v long", c, a, b, v, got)
				}
			}
		}
	}
}

// A mechanism that shouts is held to what its rows can amount to, one that is not linear fails,
// and one whose plan asks for other noise is refused.
func TestNotLinear(t *testing.T) {
	out, _, err := apart(t, "loud", xs([]float64{5, 5}))
	if err != nil || out.Columns[0].Float64[0] != 2*10+1000+2+3 {
		t.Errorf("%v, %v", out, err)
	}
	_, _, err = apart(t, "empty-handed", xs([]float64{5}))
	checkCode(t, err, CodeNoiseFailed)
	_, err = startTotal(t, "other-noise", true).Plan(t.Context(), request())
	checkCode(t, err, CodePlan)
}

// What goes wrong in the feed, or in the process of rows, is told as it is.
func TestApartFails(t *testing.T) {
	mine := errors.New("mine")
	_, event, err := apart(t, "honest", func(ctx context.Context, w RowWriter) error {
		return errors.Join(xs([]float64{1})(ctx, w), mine)
	})
	if !errors.Is(err, mine) || event != nil {
		t.Errorf("%v, %v", event, err)
	}
	one, other := startTotal(t, "honest", true), startTotal(t, "honest", true)
	req := planned(t, one)
	_, event, err = one.ReleaseApart(t.Context(), other, req, func(ctx context.Context, w RowWriter) error {
		one.runner.process().Kill(one.limits.Grace)
		return manyOnes(1)(ctx, w)
	}, &fakeDrawer{})
	if checkCode(t, err, CodeCrash); event != nil {
		t.Errorf("%v was drawn", event)
	}
}

// TestRepeatsOfNothing: a plan of very many repeats that make no call is refused at once.
func TestRepeatsOfNothing(t *testing.T) {
	event := privacy.Event(privacy.Compose{})
	for range 8 {
		event = privacy.Repeat{N: 1 << 30, Event: event}
	}
	m, err := wire.FromPlan(wire.Version, sdk.Plan{Event: event, Rows: 1, Output: []sdk.Field{{Name: "n", Type: sdk.Int64}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &Plugin{version: wire.Version, limits: Limits{}.filled()}
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
	case <-time.After(10 * time.Second):
		t.Fatal("it is still looked at after ten seconds")
	}
}
