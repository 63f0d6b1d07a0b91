package count

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// world is a random request with the rule by which its tables have neighbours.
type world struct {
	req     sdk.PlanRequest
	rel     privacy.Relation
	columns []sdk.Column // groups, then the summed one
	weight  float64
}

func randomWorld(rng *rand.Rand) world {
	w := world{weight: []float64{1, 1, 7.3}[rng.IntN(3)]}
	var by []string
	for i := range rng.IntN(3) {
		c := category(fmt.Sprint("g", i), "a", "b", "c")
		c.Immutable = rng.IntN(2) == 0
		if rng.IntN(3) == 0 {
			c.Missing = sdk.MissingDrop
		}
		w.columns, by = append(w.columns, c), append(by, c.Name)
	}
	p := map[string]any{"noise": []string{"laplace", "laplace", "laplace", "gaussian"}[rng.IntN(4)]}
	if len(by) > 0 {
		p["by"] = by
	}
	if rng.IntN(2) == 0 {
		b := [][2]float64{{0, 1}, {100, 101}, {-7, 3}, {-2, -1}, {1e9, 1e9 + 1}}[rng.IntN(5)]
		c := sdk.Column{Name: "x", Type: sdk.Number, Lower: b[0], Upper: b[1], Missing: sdk.MissingRefuse}
		if rng.IntN(3) == 0 {
			c.Missing = sdk.MissingDrop
		}
		w.columns, p["sum"] = append(w.columns, c), "x"
	}
	raw, _ := json.Marshal(p)
	population := int64(0)
	w.rel = privacy.AddRemove
	if rng.IntN(2) == 0 {
		w.rel, population = privacy.ReplaceOne, 6
	}
	w.req = request(string(raw), population, w.columns...)
	if w.weight > 1 {
		w.req.Public.Design = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: w.weight}
	}
	w.req.Target.Epsilon = math.Exp(4*rng.Float64() - 3)
	return w
}

// record is one row: a code or a number for each column (NaN: missing), a weight.
type record struct {
	values []float64
	weight float64
}

func (w world) record(rng *rand.Rand, keep *record) record {
	r := record{weight: w.weight}
	if rng.IntN(2) == 0 {
		r.weight = 1 + (w.weight-1)*rng.Float64()
	}
	for i, c := range w.columns {
		v := float64(rng.IntN(3))
		if c.Type == sdk.Number {
			v = []float64{c.Lower, c.Upper, c.Lower + (c.Upper-c.Lower)*rng.Float64()}[rng.IntN(3)]
		}
		if c.Missing == sdk.MissingDrop && rng.IntN(3) == 0 {
			v = math.NaN()
		}
		if keep != nil && c.Immutable && !math.IsNaN(v) && !math.IsNaN(keep.values[i]) {
			v = keep.values[i] // or it is missing on one side
		}
		r.values = append(r.values, v)
	}
	return r
}

func (w world) table(records []record) sdktest.Table {
	tab := sdktest.Table{Rows: len(records), Columns: map[string]sdk.Values{}}
	for i, c := range w.columns {
		v := sdk.Values{Float64: []float64{}, Valid: make([]byte, len(records)/8+1)}
		if c.Type == sdk.Category {
			v = sdk.Values{Codes: []int32{}}
		}
		for row, r := range records {
			x := r.values[i]
			switch missing := math.IsNaN(x); {
			case c.Type == sdk.Category && missing:
				v.Codes = append(v.Codes, -1)
			case c.Type == sdk.Category:
				v.Codes = append(v.Codes, int32(x))
			case missing:
				v.Float64 = append(v.Float64, c.Lower)
			default:
				v.Float64 = append(v.Float64, x)
				v.Valid[row>>3] |= 1 << (row & 7)
			}
		}
		tab.Columns[c.Name] = v
	}
	for _, r := range records {
		if w.weight > 1 {
			tab.Weights = append(tab.Weights, r.weight)
		}
	}
	return tab
}

// feed hands out the batches of a table.
type feed []sdk.Batch

func (f *feed) Next() (*sdk.Batch, error) {
	if len(*f) == 0 {
		return nil, io.EOF
	}
	b := (*f)[0]
	*f = (*f)[1:]
	return &b, nil
}

// cells is the query on a table.
func (w world) cells(t *testing.T, f *linear.Form, records []record) []int64 {
	t.Helper()
	batches, err := w.table(records).Batches(sdk.Plan{Columns: f.Columns()})
	if err != nil {
		t.Fatal(err)
	}
	rows := feed(batches)
	sums, err := f.Sum(&rows, 100)
	if err != nil {
		t.Fatal(err)
	}
	return sums[0]
}

// declared returns the declaration of the query.
func (w world) declared(f *linear.Form) (l1, l2 privacy.Sensitivity, cells int64) {
	q := f.Queries[0]
	c := q.Reach.Claim(f.Cells.Units(w.req.Public, q.Values...))
	return c.L1, c.L2, c.Coordinates
}

// Neighbouring tables never differ by more than the declared sensitivity, in
// either norm: groups that may and may not change, one or two of them, sums with
// bounds of every sign, weights, missing values, both relations.
func TestSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	attained := map[string]float64{}
	for tried := 0; tried < 20000; {
		w := randomWorld(rng)
		f, err := statistic{}.Form(w.req)
		if err != nil {
			if !strings.Contains(err.Error(), "public under replace-one") {
				t.Fatal(err)
			}
			continue
		}
		tried++
		left := make([]record, rng.IntN(4)+1)
		for i := range left {
			left[i] = w.record(rng, nil)
		}
		right := slices.Clone(left)
		if w.rel == privacy.AddRemove {
			right = append(right, w.record(rng, nil))
		} else {
			right[0] = w.record(rng, &left[0])
		}
		a, b := w.cells(t, f, left), w.cells(t, f, right)
		l1, l2, moved := 0.0, 0.0, int64(0)
		for i, v := range a {
			d := math.Abs(float64(v - b[i]))
			if l1, l2 = l1+d, l2+d*d; d > 0 {
				moved++
			}
		}
		s1, s2, most := w.declared(f)
		if l1 > s1.Under(w.rel) || math.Sqrt(l2) > s2.Under(w.rel) || moved > most {
			t.Fatalf("%s under %s, %+v: %d cells move by %v and %v; declared %d, %v and %v",
				w.req.Params, w.rel, w.columns, moved, l1, math.Sqrt(l2), most, s1, s2)
		}
		u := f.Cells.Units(w.req.Public, f.Queries[0].Values...)
		key := fmt.Sprint(w.rel, " switches ", u.Switches, " leaves ", u.Leaves)
		attained[key] = math.Max(attained[key], math.Min(l1/s1.Under(w.rel), math.Sqrt(l2)/s2.Under(w.rel)))
	}
	for key, share := range attained {
		if share < 0.999 {
			t.Errorf("%s: no pair moves by more than %v of the sensitivity", key, share)
		}
	}
	if len(attained) < 6 {
		t.Errorf("only %v were tried", attained)
	}
}

// Where a record cannot leave its cell, a sum of values in [100, 101] needs a
// hundredth of the noise.
func TestSensitivityOfASumThatStays(t *testing.T) {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 100, Upper: 101, Missing: sdk.MissingRefuse}
	fixed, free := category("g", "a", "b"), category("g", "a", "b")
	fixed.Immutable = true
	sd := func(req sdk.PlanRequest) float64 {
		plan, err := Mechanism{}.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Errors[0].NoiseSD
	}
	total := sd(request(`{"sum":"x"}`, 10, x))
	if math.Abs(total/math.Sqrt2-1) > 1e-3 {
		t.Errorf("replace-one: sd %v, want √2", total)
	}
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want float64
	}{
		"fixed groups":  {request(`{"sum":"x","by":"g"}`, 10, x, fixed), 1},
		"groups change": {request(`{"sum":"x","by":"g"}`, 10, x, free), 202},
		"add-remove":    {request(`{"sum":"x","by":"g"}`, 0, x, free), 101},
	} {
		if got := sd(c.req) / math.Sqrt2; math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("%s: scale %v, want %v", name, got, c.want)
		}
	}
	drop := x
	drop.Missing = sdk.MissingDrop
	if got := sd(request(`{"sum":"x"}`, 10, drop)) / math.Sqrt2; math.Abs(got/101-1) > 1e-3 {
		t.Errorf("dropped values: scale %v, want 101", got)
	}
}

// A column with one group is a filter: rows that do not pass have the code -1. A replaced
// row that passes may vanish (P24), and moves its one cell no further than when it comes
// or goes, or than from one bound to the other. Every pair of rows is tried; the largest
// move is the declared one, and half of that would be refuted.
func TestFilterPaysOnce(t *testing.T) {
	pass := category("pass", "yes")
	pass.Missing = sdk.MissingDrop
	for _, b := range [][2]float64{{0, 0}, {100, 101}, {-1, 3}, {-2, -1}, {0, 1}} {
		x := sdk.Column{Name: "x", Type: sdk.Number, Lower: b[0], Upper: b[1], Missing: sdk.MissingDrop}
		params, want := `{"by":"pass","sum":"x"}`, math.Max(b[1], 0)-math.Min(b[0], 0)
		if b[0] == b[1] {
			params, want = `{"by":"pass"}`, 1
		}
		w := world{req: request(params, 6, pass, x), columns: []sdk.Column{pass, x}, weight: 1}
		f, err := statistic{}.Form(w.req)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newQuery(w.req)
		if err != nil {
			t.Fatal(err)
		}
		step := l.lattice.Step
		var rows []record
		for _, code := range []float64{0, math.NaN()} {
			for _, v := range []float64{x.Lower, (x.Lower + x.Upper) / 2, x.Upper, math.NaN()} {
				rows = append(rows, record{values: []float64{code, v}, weight: 1})
			}
		}
		largest := 0.0
		for _, a := range rows {
			for _, b := range rows {
				moved := math.Abs(float64(w.cells(t, f, []record{a})[0] - w.cells(t, f, []record{b})[0]))
				largest = math.Max(largest, moved)
			}
		}
		l1, l2, cells := w.declared(f)
		if l1.ReplaceOne != largest || l2.ReplaceOne != largest || cells != 1 || math.Abs(largest*step-want) > 1e-5*want {
			t.Errorf("%s on %v: declared %v and %v in %d cells, the largest move is %v, want %v", params, b, l1, l2, cells, largest*step, want)
		}
	}
}
