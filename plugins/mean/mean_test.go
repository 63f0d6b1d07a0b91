package mean

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// table is a small table: numbers, groups (-1: none), weights (nil: equal).
type table struct {
	x       [][]float64
	valid   [][]bool
	groups  []int32
	weights []float64
}

type oneBatch struct {
	batch *sdk.Batch
	done  bool
}

func (o *oneBatch) Next() (*sdk.Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	o.done = true
	return o.batch, nil
}

// bare is a host that adds no noise and keeps the queries.
type bare struct {
	sdk.Host
	queries [][]int64
	events  []privacy.Event
}

func (b *bare) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	b.queries, b.events = append(b.queries, append([]int64(nil), v...)), append(b.events, ev)
	return v, nil
}

func (b *bare) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	b.queries, b.events = append(b.queries, append([]int64(nil), v...)), append(b.events, ev)
	return v, nil
}

func run(t *testing.T, req sdk.PlanRequest, tab table) (sdk.Result, *bare) {
	t.Helper()
	plan, err := Mechanism{}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	var cols []sdk.Values
	if tab.groups != nil {
		cols = append(cols, sdk.Values{Codes: tab.groups})
	}
	n := 0
	for i, x := range tab.x {
		v := sdk.Values{Float64: x}
		if tab.valid != nil {
			v.Valid = make([]byte, (len(x)+7)/8)
			for r, ok := range tab.valid[i] {
				if ok {
					v.Valid[r>>3] |= 1 << (r & 7)
				}
			}
		}
		cols, n = append(cols, v), len(x)
	}
	b := &sdk.Batch{Rows: n, Columns: cols, Weights: tab.weights}
	host := &bare{}
	res, err := Mechanism{}.Release(context.Background(),
		sdk.ReleaseRequest{PlanRequest: req, Plan: plan}, &oneBatch{batch: b}, host)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Check(plan); err != nil {
		t.Fatalf("the result is not what was planned: %v", err)
	}
	return res, host
}

func column(r sdk.Result, name string) []float64 {
	for _, c := range r.Columns {
		if c.Name == name {
			return c.Float64
		}
	}
	return nil
}

func request(params string, rel privacy.Relation, d sdk.Design, population int64, cols ...sdk.Column) sdk.PlanRequest {
	return sdk.PlanRequest{
		Params: json.RawMessage(params),
		Public: sdk.Public{Relation: rel, SampleRelations: []privacy.Relation{rel}, Population: population, Design: d, Columns: cols},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

func full(n int64) sdk.Design {
	return sdk.Design{Kind: "full", Rate: 1, SampleSize: n, MinWeight: 1, MaxWeight: 1, EqualWeights: true}
}

var score = sdk.Column{Name: "x", Type: sdk.Number, Lower: 200, Upper: 1000, Missing: sdk.MissingRefuse}

func TestMeanOfKnownValues(t *testing.T) {
	x := []float64{200, 1000, 640, 555.25, 731}
	want := (200 + 1000 + 640 + 555.25 + 731) / 5
	tab := table{x: [][]float64{x}}

	res, _ := run(t, request(`{"column":"x"}`, privacy.ReplaceOne, full(5), 5, score), tab)
	if got := column(res, "estimate")[0]; math.Abs(got-want) > 1e-3 {
		t.Errorf("centred, N public: %v, want %v", got, want)
	}
	res, _ = run(t, request(`{"column":"x"}`, privacy.AddRemove, sdk.Design{Kind: "full", Rate: 1, EqualWeights: true, MinWeight: 1, MaxWeight: 1}, 0, score), tab)
	if got := column(res, "estimate")[0]; math.Abs(got-want) > 1e-3 {
		t.Errorf("ratio, N secret: %v, want %v", got, want)
	}
	if got := column(res, "count")[0]; math.Abs(got-5) > 1e-9 {
		t.Errorf("count %v, want 5", got)
	}
	// Poisson, N public: the divisor is rate·N whatever was drawn.
	res, _ = run(t, request(`{"column":"x"}`, privacy.ReplaceOne, sdk.Design{Kind: "poisson", Rate: 0.5, EqualWeights: true, MinWeight: 2, MaxWeight: 2}, 8, score), tab)
	centred := 600 + (want-600)*5/4
	if got := column(res, "estimate")[0]; math.Abs(got-centred) > 1e-3 {
		t.Errorf("poisson: %v, want %v", got, centred)
	}
	// Unequal weights: c + Σw(y−c)/N.
	w := []float64{1, 2, 3, 1.5, 2.5}
	res, _ = run(t, request(`{"column":"x"}`, privacy.ReplaceOne, sdk.Design{Kind: "multistage", SampleSize: 5, MinWeight: 1, MaxWeight: 3}, 10, score),
		table{x: [][]float64{x}, weights: w})
	sum := 0.0
	for i := range x {
		sum += w[i] * (x[i] - 600)
	}
	if got, want := column(res, "estimate")[0], 600+sum/10; math.Abs(got-want) > 1e-3 {
		t.Errorf("weighted: %v, want %v", got, want)
	}
}

func TestGroupsAndMissing(t *testing.T) {
	c := score
	c.Missing = sdk.MissingDrop
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingDrop}
	tab := table{
		x:      [][]float64{{300, 500, 700, 900, 1000, 250}},
		valid:  [][]bool{{true, true, false, true, true, true}},
		groups: []int32{0, 0, 0, 1, 1, -1},
	}
	for _, noise := range []string{"laplace", "gaussian"} {
		params := fmt.Sprintf(`{"column":"x","by":"g","noise":%q}`, noise)
		res, _ := run(t, request(params, privacy.ReplaceOne, full(6), 6, c, g), tab)
		want := []float64{400, 950, 600}
		counts := []float64{2, 2, 0}
		for i := range want {
			if got := column(res, "estimate")[i]; math.Abs(got-want[i]) > 1e-2 {
				t.Errorf("%s group %d: %v, want %v", noise, i, got, want[i])
			}
			if got := column(res, "count")[i]; math.Abs(got-counts[i]) > 1e-6 {
				t.Errorf("%s count %d: %v, want %v", noise, i, got, counts[i])
			}
		}
	}
}

// Bounds whose distance is infinite are refused, and so are bounds between which no
// lattice has a step.
func TestBoundsAtTheEndsOfFloat64(t *testing.T) {
	for _, c := range []sdk.Column{{Lower: -1e308, Upper: 1e308}, {Upper: 5e-324}} {
		c.Name, c.Type = "x", sdk.Number
		for _, rel := range []privacy.Relation{privacy.ReplaceOne, privacy.AddRemove} {
			if _, err := (Mechanism{}).Plan(request(`{"column":"x"}`, rel, full(4), 4, c)); err == nil {
				t.Errorf("%+v is accepted", c)
			}
		}
	}
}

// Two neighbouring tables never differ by more than the declared sensitivity:
// every relation, estimator, norm, with extremes, groups, weights and nulls.
func TestSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingDrop}
	for trial := range tier.Of(50, 500) {
		c := score
		if rng.IntN(3) == 0 {
			c.Missing = sdk.MissingDrop
		}
		rel := []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}[rng.IntN(2)]
		d, population := full(7), int64(7)
		if rel == privacy.AddRemove {
			d, population = sdk.Design{Kind: "full", Rate: 1, EqualWeights: true, MinWeight: 1, MaxWeight: 1}, 0
		}
		weighted := rng.IntN(3) == 0
		if weighted {
			d = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: 7.3}
		}
		by := rng.IntN(2) == 0
		noise := []string{"laplace", "laplace", "laplace", "gaussian"}[rng.IntN(4)]
		params := fmt.Sprintf(`{"column":"x","noise":%q}`, noise)
		if by {
			params = fmt.Sprintf(`{"column":"x","by":"g","noise":%q}`, noise)
		}
		req := request(params, rel, d, population, c, g)
		left := randomTable(rng, 6, c, by, weighted)
		right := left.change(rng, rel, c, by, weighted)
		_, a := run(t, req, left)
		_, b := run(t, req, right)
		for i := range a.queries {
			l1, l2, moved := 0.0, 0.0, int64(0)
			for k := range a.queries[i] {
				diff := math.Abs(float64(a.queries[i][k] - b.queries[i][k]))
				l1, l2 = l1+diff, l2+diff*diff
				if diff > 0 {
					moved++
				}
			}
			switch ev := a.events[i].(type) {
			case privacy.DiscreteLaplace:
				if l1 > ev.Sensitivity.Under(rel) {
					t.Fatalf("trial %d: L1 %v exceeds %v (%s)", trial, l1, ev.Sensitivity.Under(rel), params)
				}
			case privacy.DiscreteGaussian:
				if math.Sqrt(l2) > ev.Sensitivity.Under(rel) || moved > max(ev.Coordinates, 1) {
					t.Fatalf("trial %d: L2 %v exceeds %v (%s)", trial, math.Sqrt(l2), ev.Sensitivity.Under(rel), params)
				}
			}
		}
	}
}

func randomTable(rng *rand.Rand, n int, c sdk.Column, by, weighted bool) table {
	tab := table{x: [][]float64{nil}}
	if c.Missing == sdk.MissingDrop {
		tab.valid = [][]bool{nil}
	}
	for range n {
		tab = tab.appendRow(rng, c, by, weighted)
	}
	return tab
}

func (tab table) appendRow(rng *rand.Rand, c sdk.Column, by, weighted bool) table {
	x := []float64{c.Lower, c.Upper, c.Lower + rng.Float64()*(c.Upper-c.Lower)}[rng.IntN(3)]
	out := tab
	out.x = [][]float64{append(append([]float64(nil), tab.x[0]...), x)}
	if tab.valid != nil {
		out.valid = [][]bool{append(append([]bool(nil), tab.valid[0]...), rng.IntN(4) > 0)}
	}
	if by {
		out.groups = append(append([]int32(nil), tab.groups...), int32(rng.IntN(3)-1))
	}
	if weighted {
		out.weights = append(append([]float64(nil), tab.weights...), []float64{1, 7.3, 1 + 6.3*rng.Float64()}[rng.IntN(3)])
	}
	return out
}

// change makes a neighbour: one row more, or the last row another.
func (tab table) change(rng *rand.Rand, rel privacy.Relation, c sdk.Column, by, weighted bool) table {
	if rel == privacy.ReplaceOne {
		n := len(tab.x[0]) - 1
		tab.x = [][]float64{tab.x[0][:n]}
		if tab.valid != nil {
			tab.valid = [][]bool{tab.valid[0][:n]}
		}
		if by {
			tab.groups = tab.groups[:n]
		}
		if weighted {
			tab.weights = tab.weights[:n]
		}
	}
	return tab.appendRow(rng, c, by, weighted)
}

func TestRefusals(t *testing.T) {
	noDelta := request(`{"column":"x","noise":"gaussian"}`, privacy.ReplaceOne, full(5), 5, score)
	noDelta.Target.Delta = 0
	for name, req := range map[string]sdk.PlanRequest{
		"unknown column":  request(`{"column":"y"}`, privacy.ReplaceOne, full(5), 5, score),
		"unknown key":     request(`{"column":"x","colour":1}`, privacy.ReplaceOne, full(5), 5, score),
		"both":            request(`{"column":"x","columns":["x"]}`, privacy.ReplaceOne, full(5), 5, score),
		"neither":         request(`{}`, privacy.ReplaceOne, full(5), 5, score),
		"noise":           request(`{"column":"x","noise":"uniform"}`, privacy.ReplaceOne, full(5), 5, score),
		"by a number":     request(`{"column":"x","by":"x"}`, privacy.ReplaceOne, full(5), 5, score),
		"gaussian, pure":  noDelta,
		"weights unknown": request(`{"column":"x"}`, privacy.ReplaceOne, sdk.Design{Kind: "multistage"}, 5, score),
	} {
		if _, err := (Mechanism{}).Plan(req); err == nil {
			t.Errorf("%s: planned", name)
		}
	}
}

// A group column with one value is a filter: a row that does not pass is in no group. Every
// pair of rows is tried; Gaussian noise need not cover more than the one pair of cells.
func TestFilterPaysOnce(t *testing.T) {
	pass := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"yes"}, Missing: sdk.MissingDrop}
	c := score
	c.Missing = sdk.MissingDrop
	for _, noise := range []string{"laplace", "gaussian"} {
		for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
			population := int64(0)
			if rel == privacy.ReplaceOne {
				population = 6
			}
			req := request(fmt.Sprintf(`{"column":"x","by":"g","noise":%q}`, noise), rel, full(population), population, c, pass)
			vector := func(x float64, valid bool, code int32) ([]int64, privacy.Event) {
				_, host := run(t, req, table{x: [][]float64{{x}}, valid: [][]bool{{valid}}, groups: []int32{code}})
				return host.queries[0], host.events[0]
			}
			type row struct {
				x     float64
				valid bool
				code  int32
			}
			var rows []row
			for _, x := range tier.Of([]float64{c.Lower, c.Upper}, []float64{c.Lower, 600, c.Upper}) {
				rows = append(rows, row{x, true, 0}, row{x, false, 0}, row{x, true, -1})
			}
			nothing := []int64{0, 0}
			l1, l2 := 0.0, 0.0
			var ev privacy.Event
			for _, a := range rows {
				for _, b := range rows {
					v, e := vector(a.x, a.valid, a.code)
					w, _ := vector(b.x, b.valid, b.code)
					if ev = e; rel == privacy.AddRemove {
						w = nothing
					}
					p, q := float64(v[0]-w[0]), float64(v[1]-w[1])
					l1, l2 = math.Max(l1, math.Abs(p)+math.Abs(q)), math.Max(l2, math.Hypot(p, q))
				}
			}
			switch ev := ev.(type) {
			case privacy.DiscreteLaplace:
				if ev.Sensitivity.Under(rel) != l1 {
					t.Errorf("%s: declared %v, the largest move is %v", rel, ev.Sensitivity.Under(rel), l1)
				}
			case privacy.DiscreteGaussian:
				if s := ev.Sensitivity.Under(rel); s < l2 || s > l2*(1+1e-12) || ev.Coordinates != 2 {
					t.Errorf("%s: declared %v in %d cells, the largest move is %v", rel, s, ev.Coordinates, l2)
				}
			}
		}
	}
}
