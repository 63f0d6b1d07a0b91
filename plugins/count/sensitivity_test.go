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
	columns []sdk.Column // groups
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
// either norm: groups that may and may not change, one or two of them, weights, missing values, both relations.
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

// A column with one group is a filter: rows that do not pass have the code -1. A replaced
// row that passes may vanish (P24), and moves its one cell no further than when it comes
// or goes. Every pair of rows is tried; the largest move is the declared one.
func TestFilterPaysOnce(t *testing.T) {
	pass := category("pass", "yes")
	pass.Missing = sdk.MissingDrop
	w := world{req: request(`{"by":"pass"}`, 6, pass), columns: []sdk.Column{pass}, weight: 1}
	f, err := statistic{}.Form(w.req)
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for _, a := range []float64{0, math.NaN()} {
		for _, b := range []float64{0, math.NaN()} {
			moved := w.cells(t, f, []record{{[]float64{a}, 1}})[0] - w.cells(t, f, []record{{[]float64{b}, 1}})[0]
			largest = math.Max(largest, math.Abs(float64(moved)))
		}
	}
	if l1, l2, cells := w.declared(f); l1.ReplaceOne != largest || l2.ReplaceOne != largest || cells != 1 || largest != 1 {
		t.Errorf("declared %v and %v in %d cells, the largest move is %v", l1, l2, cells, largest)
	}
}
