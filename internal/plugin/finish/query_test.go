package finish

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// world is a request for declared queries, and all rows that a table may hold.
type world struct {
	name    string
	queries []sdk.Query
	public  sdk.Public
	by      string
	rows    []sdk.Batch // of one row each
}

var both = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}

func publicOf(columns ...sdk.Column) sdk.Public {
	return sdk.Public{Relation: privacy.AddRemove, SampleRelations: both, Columns: columns,
		Design: sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true}}
}

// plan puts queries into a plan that takes all of their sums.
func planOf(queries ...sdk.Query) sdk.Plan {
	p := sdk.Plan{Queries: queries, Finish: &sdk.Finish{}}
	for k, q := range queries {
		p.Rows = 1
		for _, s := range q.Cells {
			p.Rows *= max(s.Count, int64(len(s.Texts)))
		}
		n := sdk.NoiseColumns{}
		for j := range q.Coordinates {
			name := fmt.Sprintf("s%d_%d", k, j)
			n.Columns = append(n.Columns, name)
			p.Output = append(p.Output, sdk.Field{Name: name, Type: sdk.Float64, Value: name})
		}
		p.Finish.Noise = append(p.Finish.Noise, n)
	}
	return p
}

// vectorOf is the sums of some rows.
func (w world) vectorOf(t *testing.T, rows ...sdk.Batch) []int64 {
	t.Helper()
	q, err := NewQueries(planOf(w.queries...), w.public, w.by, 1)
	if err != nil {
		t.Fatal(w.name, err)
	}
	for _, b := range rows {
		order := make([]sdk.Values, len(q.Columns))
		for i, name := range q.Columns {
			order[i] = b.Columns[slices.IndexFunc(w.public.Columns, func(c sdk.Column) bool { return c.Name == name })]
		}
		b.Columns = order
		if err := b.Check(q.Declared()); err != nil {
			t.Fatal(w.name, err)
		}
		if err := q.Write(b); err != nil {
			t.Fatal(w.name, err)
		}
	}
	return slices.Concat(q.Sums()...)
}

// moves are the largest distances between the vectors of neighbours, by relation, in L1 and L2 norm. Units are all sets
// of rows that the cap of the world allows.
func (w world) moves(t *testing.T) map[privacy.Relation][2]float64 {
	t.Helper()
	units := w.units(t)
	out := map[privacy.Relation][2]float64{}
	far := func(rel privacy.Relation, a, b []int64) {
		one, square := 0.0, 0.0
		for i := range a {
			d := math.Abs(float64(a[i] - b[i]))
			one, square = one+d, square+d*d
		}
		out[rel] = [2]float64{math.Max(out[rel][0], one), math.Max(out[rel][1], math.Sqrt(square))}
	}
	nobody := make([]int64, len(units[0]))
	for _, a := range units {
		far(privacy.AddRemove, a, nobody)
		for _, b := range units {
			far(privacy.ReplaceOne, a, b)
		}
	}
	return out
}

// units are the vectors of all units.
func (w world) units(t *testing.T) (out [][]int64) {
	t.Helper()
	limit := sdk.Cap{Groups: 1, Rows: 1}
	if w.public.Cap != nil {
		limit = *w.public.Cap
	}
	by := slices.IndexFunc(w.public.Columns, func(c sdk.Column) bool { return c.Name == w.by })
	var grow func(from int, unit []sdk.Batch)
	grow = func(from int, unit []sdk.Batch) {
		in := map[int32]int64{}
		for _, b := range unit {
			if code := int32(0); by >= 0 {
				code = b.Columns[by].Codes[0]
				if in[code]++; code < 0 {
					delete(in, code)
				}
			} else {
				in[code]++
			}
		}
		for _, n := range in {
			if n > limit.Rows {
				return
			}
		}
		if int64(len(in)) > limit.Groups || len(unit) > int(limit.Groups*limit.Rows) {
			return
		}
		v := w.vectorOf(t, unit...)
		if !slices.ContainsFunc(out, func(o []int64) bool { return slices.Equal(o, v) }) {
			out = append(out, v)
		}
		for i := from; i < len(w.rows); i++ {
			grow(i, append(slices.Clone(unit), w.rows[i]))
		}
	}
	grow(0, nil)
	return out
}

func number(values ...float64) sdk.Values {
	v := sdk.Values{Float64: values}
	for i, x := range values {
		if math.IsNaN(x) {
			v.Float64 = slices.Clone(values)
			v.Float64[i] = 0
			v.Valid = []byte{0}
		}
	}
	return v
}

// rowsOf are all combinations of numbers in one column and codes in another.
func rowsOf(numbers []float64, codes []int32, weights ...float64) (out []sdk.Batch) {
	for _, x := range numbers {
		for _, c := range codes {
			b := sdk.Batch{Rows: 1, Columns: []sdk.Values{number(x), {Codes: []int32{c}}}}
			if len(weights) == 0 {
				out = append(out, b)
			}
			for _, w := range weights {
				b.Weights = []float64{w}
				out = append(out, b)
			}
		}
	}
	return out
}

func x(low, high float64) sdk.Column {
	return sdk.Column{Name: "x", Type: sdk.Number, Lower: low, Upper: high, Missing: sdk.MissingDrop}
}

func group(domain ...string) sdk.Column {
	return sdk.Column{Name: "g", Type: sdk.Category, Domain: domain, Missing: sdk.MissingDrop}
}

func sumOf(low, high, lattice float64) sdk.Query {
	return sdk.Query{Coordinates: []sdk.Coordinate{{Value: "x", Low: low, High: high, Lattice: lattice}}}
}

// worlds are queries over tiny populations: each kind of a query, under caps, groups and weights.
func worlds() []world {
	nan := math.NaN()
	plain := publicOf(x(-1, 3), group("a", "b", "c"))
	values := []float64{-1, -0.3, 0, 0.5, 3, nan}
	codes := []int32{-1, 0, 1, 2}
	bins := sdk.Query{Cells: []sdk.Split{{Value: "x + 1", Count: 4}}, Coordinates: []sdk.Coordinate{{Value: "1", Low: 1, High: 1, Lattice: 1}}}
	pair := sdk.Query{Cells: []sdk.Split{{Value: "g", Texts: []string{"c", "a"}}},
		Coordinates: []sdk.Coordinate{{Value: "x", Low: -1, High: 3, Lattice: 0.5}, {Value: "1", Low: 0, High: 1, Lattice: 0.5}}}
	short := sdk.Query{Norm: 1, Coordinates: []sdk.Coordinate{{Value: "x", Low: -1, High: 3, Lattice: 0.125},
		{Value: "x * x", Low: 0, High: 9, Lattice: 0.125}, {Value: "-1", Low: -1, High: 0, Lattice: 0.125}}}
	mean := sdk.Query{Coordinates: []sdk.Coordinate{{Value: "x + 1.0", High: 4, Lattice: 0x1p-6}, {Value: "3.0 - x", High: 4, Lattice: 0x1p-6}}}
	square := sdk.Query{Coordinates: []sdk.Coordinate{{Value: "x + 1.0", High: 4, Lattice: 0x1p-6},
		{Value: "(x + 1.0) * (x + 1.0) / 4.0", High: 4, Lattice: 0x1p-6}, {Value: "1", High: 1, Lattice: 0x1p-6}}}
	weighted := plain
	weighted.Design.EqualWeights, weighted.Design.MaxWeight = false, 2.5
	capped := func(groups, rows, times int64) sdk.Public {
		p := plain
		p.Cap = &sdk.Cap{Groups: groups, Rows: rows, Times: times}
		return p
	}
	few := rowsOf([]float64{-1, 0.5, 3}, []int32{0, 1, 2})
	all := []world{
		{"a half on 1", []sdk.Query{sumOf(0, 0.5, 1)}, plain, "", rowsOf(values, codes)},
		{"0.3 on a half", []sdk.Query{sumOf(-0.3, 0.3, 0.5)}, plain, "", rowsOf(values, codes)},
		{"far from 0", []sdk.Query{sumOf(100, 101, 0.25)}, publicOf(x(99, 102), group("a")), "", rowsOf([]float64{99, 100, 100.4, 101, 102, nan}, []int32{0})},
		{"sum", []sdk.Query{sumOf(-1, 3, 0.25)}, plain, "", rowsOf(values, codes)},
		{"sum by group", []sdk.Query{sumOf(-1, 3, 0.25)}, plain, "g", rowsOf(values, codes)},
		{"histogram", []sdk.Query{bins}, plain, "", rowsOf(values, codes)},
		{"histogram by group", []sdk.Query{bins}, plain, "g", rowsOf(values, codes)},
		{"pair by text", []sdk.Query{pair}, plain, "", rowsOf(values, codes)},
		{"norm", []sdk.Query{short}, plain, "", rowsOf(values, []int32{0})},
		{"norm by group", []sdk.Query{short}, plain, "g", rowsOf(values, codes)},
		{"weights", []sdk.Query{sumOf(-1, 2, 0.5)}, weighted, "", rowsOf(values, []int32{0}, 0.5, 1, 2, 2.5, 7, nan)},
		{"weights and a norm", []sdk.Query{short}, weighted, "", rowsOf(values, []int32{0}, 1, 2.5, nan)},
		{"mean", []sdk.Query{mean}, plain, "", rowsOf(values, []int32{0})},
		{"mean by group", []sdk.Query{mean}, plain, "g", rowsOf(values, codes)},
		{"mean and weights", []sdk.Query{mean}, weighted, "", rowsOf(values, []int32{0}, 0.5, 1, 2.5, nan)},
		{"mean of two rows in two groups", []sdk.Query{mean}, capped(2, 2, 0), "g", rowsOf([]float64{-1, 3}, []int32{0, 1, 2})},
		{"square by group", []sdk.Query{square}, plain, "g", rowsOf(values, codes)},
		{"two rows", []sdk.Query{sumOf(-1, 3, 0.5)}, capped(1, 2, 0), "", few},
		{"two rows by group", []sdk.Query{sumOf(-1, 3, 0.5)}, capped(1, 2, 0), "g", few},
		{"two groups", []sdk.Query{sumOf(-1, 3, 0.5)}, capped(2, 1, 0), "g", few},
		{"two rows in two groups", []sdk.Query{sumOf(0, 3, 1)}, capped(2, 2, 0), "g", rowsOf([]float64{0, 3}, []int32{0, 1, 2})},
		{"each row three times", []sdk.Query{sumOf(-1, 3, 0.5)}, capped(1, 1, 3), "", few},
		{"bins of two rows", []sdk.Query{bins}, capped(1, 2, 0), "g", few},
		{"norm of two rows", []sdk.Query{short}, capped(1, 2, 0), "", few},
	}
	return all
}

// P39: no two neighbours, out of all units of all rows, move the sums by more than is claimed, under either relation and in
// either norm; and the claim is reached or nearly so where no norm rounds.
func TestClaimsOfAllUnits(t *testing.T) {
	for _, w := range worlds() {
		q, err := NewQueries(planOf(w.queries...), w.public, w.by, 1)
		if err != nil {
			t.Fatal(w.name, err)
		}
		moved := w.moves(t)
		for _, rel := range both {
			one, two := q.Claims[0].L1.Under(rel), q.Claims[0].L2.Under(rel)
			if m := moved[rel]; m[0] > one || m[1] > two {
				t.Errorf("%s under %s: moves by %v, claimed %v and %v", w.name, rel, m, one, two)
			} else if m[0] < 0.7*one && !strings.Contains(w.name, "norm") {
				t.Errorf("%s under %s: moves by %v only, claimed %v and %v", w.name, rel, m, one, two)
			}
		}
	}
}

// P39, the numbers in brackets.
func TestNumbersOfTheRule(t *testing.T) {
	for _, c := range []struct {
		query       sdk.Query
		add, change float64 // L1, in the units of the expression
	}{
		{sumOf(0, 0.5, 1), 1, 1},
		{sumOf(-0.3, 0.3, 0.5), 0.5, 1},
		{sumOf(100, 101, 0.25), 101, 101},
	} {
		q, err := NewQueries(planOf(c.query), publicOf(x(-1e3, 1e3)), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		lattice := c.query.Coordinates[0].Lattice
		if s := q.Claims[0].L1; s.AddRemove*lattice != c.add || s.ReplaceOne*lattice != c.change {
			t.Errorf("%+v: %v times %v", c.query.Coordinates, s, lattice)
		}
	}
	cells := sdk.Query{Cells: []sdk.Split{{Value: "x", Count: 1000}}, Coordinates: []sdk.Coordinate{{Value: "1", Low: 0, High: 1, Lattice: 1}}}
	q, err := NewQueries(planOf(cells), publicOf(x(0, 1e3)), "", 1)
	if err != nil || q.Claims[0].L2.AddRemove != 1 || q.Claims[0].L1.AddRemove != 1 || q.Claims[0].L1.ReplaceOne != 2 ||
		q.Claims[0].L2.ReplaceOne != math.Sqrt2 {
		t.Errorf("a thousand cells: %+v (%v)", q, err)
	}
}

// oneEighths are a hundred coordinates of 0.1 on ⅛: their norm is 1, and 1.25 where they are rounded to nearest.
func oneEighths() (sdk.Query, []float64) {
	q := sdk.Query{Norm: 1}
	row := make([]float64, 100)
	for i := range row {
		row[i] = 0.1
		q.Coordinates = append(q.Coordinates, sdk.Coordinate{Value: "x", Low: 0, High: 1, Lattice: 0.125})
	}
	return q, row
}

// P39: a norm is rounded toward zero.
func TestNormIsRoundedTowardZero(t *testing.T) {
	declared, row := oneEighths()
	q, err := NewQueries(planOf(declared), publicOf(x(0, 1)), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	own := q.all[0]
	if own.norm.whole != 8 || q.Claims[0].L2.AddRemove > 8 {
		t.Fatalf("whole %d, claimed %v", own.norm.whole, q.Claims[0].L2)
	}
	square := func(v []int64) (s int64) {
		for _, x := range v {
			s += x * x
		}
		return s
	}
	if s := square(own.norm.hold(row)); s > 64 {
		t.Errorf("the squares add up to %d", s)
	}
	nearest := make([]int64, len(row)) // the twin
	for i, x := range row {
		nearest[i] = own.coordinates[i].whole(x)
	}
	if s := square(nearest); math.Sqrt(float64(s))/8 != 1.25 {
		t.Errorf("to nearest the norm is %v", math.Sqrt(float64(s))/8)
	}
	for _, extreme := range []float64{1e-200, 1e200, math.MaxFloat64, math.Inf(1)} {
		n := norm{limit: 1e-205, inverse: 0x1p20 / 1e-205, whole: 1 << 20, out: make([]int64, 2)}
		if s := square(n.hold([]float64{extreme, -extreme})); s > 1<<40 || s < 0 {
			t.Errorf("%v: the squares add up to %d", extreme, s)
		}
	}
}

// Twins: each leaves a step of the rule out, and is refuted by enumeration.
func TestBrokenQueries(t *testing.T) {
	all := worlds()
	var moved []map[privacy.Relation][2]float64
	for _, w := range all {
		moved = append(moved, w.moves(t))
	}
	type claim = func(w world, q *Queries) sdk.Claim
	with := func(change func(q *Queries, r *sdk.Reach)) claim {
		return func(_ world, q *Queries) sdk.Claim {
			r, _ := q.all[0].reach()
			change(q, &r)
			return r.Claim(q.units.counted())
		}
	}
	side := func(least, most int64) (l sdk.Norms) {
		l.Side(big.NewInt(max(most, 0) - min(least, 0)))
		return l
	}
	for name, broken := range map[string]claim{
		"clamp, not rounded": func(w world, q *Queries) sdk.Claim { // the range of the numbers, in whole steps rounded down
			c := q.all[0].coordinates[0]
			width := c.high - c.low
			return sdk.Claim{L1: privacy.Sensitivity{AddRemove: math.Max(-c.low, c.high) * c.inverse, ReplaceOne: width * c.inverse},
				L2: q.Claims[0].L2}
		},
		"high less low": with(func(q *Queries, r *sdk.Reach) {
			c := q.all[0].coordinates[0]
			r.Replace = sdk.Norms{}
			r.Replace.Side(big.NewInt(c.most - c.least))
		}),
		"without weights": with(func(q *Queries, r *sdk.Reach) {
			c := q.all[0].coordinates[0]
			r.Replace = side(c.whole(c.Low), c.whole(c.High))
			r.Arrive = sdk.Norms{}
			r.Arrive.Side(big.NewInt(max(-c.whole(c.Low), c.whole(c.High))))
		}),
		"rows in one cell": with(func(q *Queries, r *sdk.Reach) { r.Replace = r.Arrive }),
		"one group":        with(func(q *Queries, _ *sdk.Reach) { q.units.Groups = 1 }),
		"one row":          with(func(q *Queries, _ *sdk.Reach) { q.units.Rows = 1 }),
		"each row once":    with(func(q *Queries, _ *sdk.Reach) { q.units.times = 1 }),
		"nobody switches":  with(func(q *Queries, _ *sdk.Reach) { q.units.Switches = false }),
		"half the norm": with(func(q *Queries, r *sdk.Reach) {
			if q.all[0].norm != nil {
				quarter := func(x *big.Int) *big.Int { return new(big.Int).Rsh(x, 2) }
				r.Arrive.Square, r.Replace.Square = quarter(r.Arrive.Square), quarter(r.Replace.Square)
			}
		}),
	} {
		caught := false
		for i, w := range all {
			q, err := NewQueries(planOf(w.queries...), w.public, w.by, 1)
			if err != nil {
				t.Fatal(err)
			}
			c := broken(w, q)
			for rel, m := range moved[i] {
				caught = caught || m[0] > c.L1.Under(rel) || m[1] > c.L2.Under(rel)
			}
		}
		if !caught {
			t.Errorf("%s: not refuted", name)
		}
	}
}

// Twins of the order: a row is weighed before its value is clamped, and not after; what is missing is not clamped.
func TestOrderOfTheRule(t *testing.T) {
	c := coordinate{Coordinate: sdk.Coordinate{Low: 1, High: 2, Lattice: 1}, low: 1, high: 5, inverse: 1, least: 1, most: 5}
	for _, w := range []struct{ x, weight, want float64 }{{2, 2.5, 5}, {9, 2.5, 5}, {0, 1, 1}, {1.4, 0, 1}, {2, math.NaN(), 0}} {
		if got := c.number(w.x, []float64{w.weight}, 0); got != w.want {
			t.Errorf("%v with weight %v: %v, want %v", w.x, w.weight, got, w.want)
		}
	}
	// A value that is missing adds 0, which lies outside of [100, 101].
	w := world{name: "missing", queries: []sdk.Query{sumOf(100, 101, 1)}, public: publicOf(x(100, 101), group("a"))}
	if v := w.vectorOf(t, sdk.Batch{Rows: 1, Columns: []sdk.Values{number(math.NaN()), {Codes: []int32{0}}}}); v[0] != 0 {
		t.Errorf("a missing value adds %d", v[0])
	}
	for _, text := range []string{"x / 0", "1e308 * x * 1e308", "sqrt(0 - x)", "x % 0"} {
		w.queries[0].Coordinates[0].Value = text
		if v := w.vectorOf(t, sdk.Batch{Rows: 1, Columns: []sdk.Values{number(100), {Codes: []int32{0}}}}); v[0] != 0 {
			t.Errorf("%s adds %d", text, v[0])
		}
	}
}

// The sums of a table do not depend on its batches.
func TestBatchesAddUp(t *testing.T) {
	for _, w := range worlds() {
		var all sdk.Batch
		for _, b := range w.rows {
			if all.Columns == nil {
				all.Columns = make([]sdk.Values, len(b.Columns))
				for i := range b.Columns {
					if b.Columns[i].Codes == nil {
						all.Columns[i].Valid = make([]byte, 64)
					}
				}
			}
			for i, v := range b.Columns {
				all.Columns[i].Float64 = append(all.Columns[i].Float64, v.Float64...)
				all.Columns[i].Codes = append(all.Columns[i].Codes, v.Codes...)
				if v.Codes == nil && v.Valid == nil {
					all.Columns[i].Valid[all.Rows/8] |= 1 << (all.Rows % 8)
				}
			}
			all.Weights = append(all.Weights, b.Weights...)
			all.Rows++
		}
		if one, each := w.vectorOf(t, all), w.vectorOf(t, w.rows...); !slices.Equal(one, each) {
			t.Errorf("%s: %v and %v", w.name, one, each)
		}
	}
}

// Sums have room for as many rows as are publicly known to come, and no more are added.
func TestRoom(t *testing.T) {
	public := publicOf(x(0, 1))
	public.Design.LargestCount = 3
	q, err := NewQueries(planOf(sumOf(0, 1, 0)), public, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	three := sdk.Batch{Rows: 3, Columns: []sdk.Values{number(1, 1, 1)}}
	if err := q.Write(three); err != nil {
		t.Error(err)
	}
	if err := q.Write(three); !errors.Is(err, errRoom) {
		t.Errorf("a fourth row: %v", err)
	}
	public.Design.LargestCount = 1 << 50
	for _, lattice := range []float64{0, 0x1p-10} {
		q, err = NewQueries(planOf(sumOf(0, 1, lattice)), public, "", 1e9)
		if err != nil {
			t.Fatal(err)
		}
		if most := float64(q.all[0].most()) * 0x1p50; most > 0x1p62 {
			t.Errorf("lattice %v: the sums may be %v", lattice, most)
		}
	}
	if _, err := NewQueries(planOf(sumOf(0, 1, 0x1p-20)), public, "", 1); err == nil || !strings.Contains(err.Error(), "too fine") {
		t.Errorf("a lattice that is too fine: %v", err)
	}
}

// P22: the claims depend on the rows of a unit and on how often each counts by their product alone, and so do lattices.
func TestCountsByTheirProduct(t *testing.T) {
	pair := sdk.Query{Cells: []sdk.Split{{Value: "x", Count: 9}}, Coordinates: []sdk.Coordinate{{Value: "1", High: 1}, {Value: "x", High: 9}}}
	var first *Queries
	for _, limit := range []sdk.Cap{{Groups: 2, Rows: 6}, {Groups: 2, Rows: 2, Times: 3}, {Groups: 2, Rows: 1, Times: 6}} {
		public := publicOf(x(0, 9), group("a", "b", "c"))
		public.Cap = &limit
		q, err := NewQueries(planOf(pair), public, "g", 30)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = q
		}
		if q.Claims[0] != first.Claims[0] || q.all[0].coordinates[1].Lattice != first.all[0].coordinates[1].Lattice {
			t.Errorf("%+v: %+v, and %+v", limit, q.Claims, first.Claims)
		}
	}
}

// A value that is no number adds nothing, wherever it stands and whatever the batch says of it.
func TestWhatIsNoNumberAddsNothing(t *testing.T) {
	for _, text := range []string{"x", "x + 0", "x * 1", "abs(x)", "x > -5.0 ? x : 0.0"} {
		for _, wrong := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, rows := range []int{1, 3, 4096, 5000} {
				xs := make([]float64, rows)
				for i := range xs {
					xs[i] = 1
				}
				xs[rows/2] = wrong
				query := sdk.Query{Coordinates: []sdk.Coordinate{{Value: text, Low: -1, High: 3, Lattice: 1}}}
				q, err := NewQueries(planOf(query), publicOf(x(-1, 3)), "", 1)
				if err != nil {
					t.Fatal(text, err)
				}
				if err := q.Write(sdk.Batch{Rows: rows, Columns: []sdk.Values{{Float64: xs}}}); err != nil {
					t.Fatal(err)
				}
				if got := q.Sums()[0][0]; got != int64(rows-1) {
					t.Errorf("%s, %v in %d rows: %d", text, wrong, rows, got)
				}
			}
		}
	}
}
