package linear

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// staged is a request on a multistage sample whose clusters hold up to most rows.
func staged(most float64, x sdk.Column, more ...sdk.Column) (sdk.PlanRequest, *Interval) {
	clusters := sdk.Column{Name: "cluster", Type: sdk.Category, Domain: []string{"1", "2"}, Missing: sdk.MissingRefuse}
	req := sdk.PlanRequest{Params: json.RawMessage(`{}`), Target: privacy.Point{Epsilon: 1}, Public: sdk.Public{
		Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Columns: append([]sdk.Column{x, clusters}, more...),
		Design: sdk.Design{Kind: "multistage", Rate: 0.5, MinWeight: 2, MaxWeight: 2, EqualWeights: true, LargestCount: 8},
	}}
	return req, &Interval{Level: 95, Square: 2, Mean: 1, Rows: 2, Clusters: &Clusters{Column: "cluster", Most: most}}
}

// clusterRow is a row of a table of two groups and two clusters.
type clusterRow struct {
	y              float64
	group, cluster int32
}

// sumsOf adds up a query over a table.
func sumsOf(t *testing.T, q Query, cells Cells, table []clusterRow) []int64 {
	t.Helper()
	f := Form{Cells: cells, Queries: []Query{q}}
	b := sdk.Batch{Rows: len(table)}
	for _, name := range f.Columns() {
		var v sdk.Values
		for _, r := range table {
			switch name {
			case "x":
				v.Float64 = append(v.Float64, r.y)
			case "g":
				v.Codes = append(v.Codes, r.group)
			case "cluster":
				v.Codes = append(v.Codes, r.cluster)
			}
		}
		b.Columns = append(b.Columns, v)
	}
	sums, err := f.Sum(&batches{&b}, 100)
	if err != nil {
		t.Fatal(err)
	}
	return sums[0]
}

// Every table of up to four rows of values at the bounds or in the middle, in two clusters and two
// groups, and every table in which one row is another or comes: sums and squares, or products, move
// by at most what is declared, and by nearly that in some pair. The twin declares the reach of a row
// that is squared by itself.
func TestReachOfClusters(t *testing.T) {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: -2, Upper: 2, Missing: sdk.MissingRefuse}
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingRefuse}
	req, iv := staged(4, x, g)
	whole, err := NewCells(req.Public, nil)
	if err != nil {
		t.Fatal(err)
	}
	byGroup, err := NewCells(req.Public, []string{"g"})
	if err != nil {
		t.Fatal(err)
	}
	total := func(cells Cells) (Query, error) {
		a, err := NewAdditive(NewLattice(0, 1, 1, 1), x.Lower, x.Upper, &x, cells, req, iv, Laplace)
		if err != nil {
			return Query{}, err
		}
		return a.Query, nil
	}
	count := func(cells Cells) (Query, error) {
		a, err := NewAdditive(NewLattice(0, 1, 1, 1), 1, 1, nil, cells, req, iv, Laplace)
		if err != nil {
			return Query{}, err
		}
		return a.Query, nil
	}
	mean := func(cells Cells) (Query, error) {
		a, err := NewAverage(x, 0, false, nil, cells, req, 1, Laplace, iv)
		if err != nil {
			return Query{}, err
		}
		return a.Query, nil
	}
	rng := rand.New(rand.NewPCG(29, 2))
	for _, c := range []struct {
		name  string
		make  func(Cells) (Query, error)
		cells Cells
		twin  sdk.Reach
		near  float64 // the worst pair moves by so much of what is declared
	}{
		{"total", total, whole, Squared(-2, 2, 28), 0.9},
		{"total by group", total, byGroup, Squared(-2, 2, 28), 0.9},
		{"count by group", count, byGroup, Scalar(0, 1), 0.7},
		{"mean", mean, whole, Simplex(2, 2, 1), 0.6},
		{"mean by group", mean, byGroup, Simplex(2, 2, 1), 0.6},
	} {
		q, err := c.make(c.cells)
		if err != nil {
			t.Fatal(c.name, err)
		}
		u := c.cells.Units(req.Public, q.Values...)
		claim := q.Reach.Claim(u)
		l1, l2 := claim.L1, claim.L2
		twin := l1.ReplaceOne
		if c.twin.Arrive.L1.Int64() == 1 { // the sums alone, without products
			twin *= 2. / 3
		} else {
			twin = c.twin.Claim(u).L1.ReplaceOne
		}
		var worst, come float64
		moved := func(a, b []clusterRow) (float64, float64) {
			p, _ := c.make(c.cells) // a query keeps totals of its own
			r, _ := c.make(c.cells)
			left, right := sumsOf(t, p, c.cells, a), sumsOf(t, r, c.cells, b)
			one, two := 0.0, 0.0
			for i := range left {
				d := math.Abs(float64(left[i] - right[i]))
				one, two = one+d, two+d*d
			}
			return one, math.Sqrt(two)
		}
		row := func() clusterRow {
			y := []float64{-2, 2, -2, 2, 0}[rng.IntN(5)]
			return clusterRow{y, rng.Int32N(2), rng.Int32N(2)}
		}
		for range tier.Of(2000, 15_000) {
			var table []clusterRow
			alike := row() // large totals, in which a row matters most
			for range 1 + rng.IntN(4) {
				next := row()
				if rng.IntN(4) > 0 {
					next = alike
				}
				table = append(table, next)
			}
			other := append([]clusterRow{row()}, table[1:]...)
			if rng.IntN(2) == 0 { // the other end of the bounds, or another cluster
				other[0] = clusterRow{-table[0].y, table[0].group ^ rng.Int32N(2), table[0].cluster ^ rng.Int32N(2)}
			}
			one, two := moved(table, other)
			if one > l1.ReplaceOne || two > l2.ReplaceOne {
				t.Fatalf("%s: %v and %v differ by %v and %v, declared are %v and %v", c.name, table, other, one, two, l1.ReplaceOne, l2.ReplaceOne)
			}
			worst = math.Max(worst, one)
			if one, two = moved(table, table[1:]); one > l1.AddRemove || two > l2.AddRemove {
				t.Fatalf("%s: a row of %v moves %v and %v, declared are %v and %v", c.name, table, one, two, l1.AddRemove, l2.AddRemove)
			}
			come = math.Max(come, one)
		}
		if worst < c.near*l1.ReplaceOne || come < c.near*l1.AddRemove {
			t.Errorf("%s: pairs move by up to %v of %v, and by %v of %v", c.name, worst, l1.ReplaceOne, come, l1.AddRemove)
		}
		if worst <= twin {
			t.Errorf("%s: the twin, which declares %v, is not refuted by %v", c.name, twin, worst)
		}
	}
}

// Every table: one row in one of two cells and two clusters, or none, against every other, over
// every total that the other rows can have, within the bound and beyond it. Sums, squares and
// products move by at most what is declared, and in some pair by nearly that.
func TestEveryReachOfClusters(t *testing.T) {
	type numbers [2]int64 // v, or a and b
	for _, c := range []struct {
		name               string
		low, high, most, d int64
		products           bool
		least              float64
	}{
		{"squares", -2, 2, 4, 1, false, 0.9},
		{"squares, one side", 0, 3, 4, 1, false, 0.7},
		{"squares, one value", 1, 1, 3, 1, false, 0.7},
		{"squares, divided", -2, 3, 7, 5, false, 0.7},
		{"products", 0, 1, 3, 1, true, 0.6},
		{"products of 2", 0, 2, 4, 1, true, 0.6},
		{"products, divided", 0, 2, 5, 3, true, 0.5},
	} {
		var rows []numbers
		reach := Squares(c.low, c.high, c.most, c.d)
		if c.products {
			reach = Products(c.high, c.most, c.d)
			for a := range c.high + 1 {
				for b := range c.high + 1 - a {
					rows = append(rows, numbers{a, b})
				}
			}
		} else {
			for v := c.low; v <= c.high; v++ {
				rows = append(rows, numbers{v})
			}
		}
		// added returns the totals of a cluster with one more row.
		added := func(others, r numbers) numbers {
			if c.products {
				return numbers{others[0] + r[0] - r[1], others[1] + r[0] + r[1]}
			}
			return numbers{others[0] + r[0]}
		}
		var totals []numbers
		for x := -c.most - 2; x <= c.most+2; x++ {
			if !c.products {
				totals = append(totals, numbers{x})
				continue
			}
			for n := max(x, -x); n <= c.most+2; n += 2 { // |z| ≤ n, both odd or both even
				totals = append(totals, numbers{x, n})
			}
		}
		// vector returns the numbers that one cell releases of two clusters.
		vector := func(sum numbers, first, second numbers) []int64 {
			k := clusterTotals{cells: [][]int64{{first[0], first[1], second[0], second[1]}}, count: 2, parts: 2, most: c.most, divide: c.d}
			out := []int64{sum[0], k.product(0, 0, 0)}
			if c.products {
				out = []int64{sum[0], sum[1], k.product(0, 0, 0), k.product(0, 0, 1), k.product(0, 1, 1)}
			}
			return out
		}
		distance := func(x, y []int64) (one, two float64) {
			for i := range x {
				d := math.Abs(float64(x[i] - y[i]))
				one, two = one+d, two+d*d
			}
			return one, two
		}
		f := func(b *big.Int) float64 { x, _ := new(big.Float).SetInt(b).Float64(); return x }
		var come, stay float64
		for _, first := range totals {
			for _, second := range totals {
				none := vector(numbers{}, first, second)
				for _, r := range rows {
					with := vector(r, added(first, r), second)
					one, two := distance(none, with)
					if one > f(reach.Arrive.L1) || two > f(reach.Arrive.Square) {
						t.Fatalf("%s: row %v beside totals %v moves by %v and √%v, declared are %v and √%v", c.name, r, first, one, two, reach.Arrive.L1, reach.Arrive.Square)
					}
					come = math.Max(come, one)
					for _, s := range rows {
						for _, other := range [][]int64{vector(s, added(first, s), second), vector(s, first, added(second, s))} {
							one, two := distance(with, other)
							if one > f(reach.Replace.L1) || two > f(reach.Replace.Square) {
								t.Fatalf("%s: rows %v and %v beside totals %v, %v differ by %v and √%v, declared are %v and √%v", c.name, r, s, first, second, one, two, reach.Replace.L1, reach.Replace.Square)
							}
							stay = math.Max(stay, one)
						}
					}
				}
			}
		}
		if come < c.least*f(reach.Arrive.L1) || stay < c.least*f(reach.Replace.L1) {
			t.Errorf("%s: pairs move by up to %v of %v, and %v of %v", c.name, come, reach.Arrive.L1, stay, reach.Replace.L1)
		}
		// The twin squares each row by itself.
		if twin := f(Squared(c.low, c.high, max(c.d, c.high, -c.low)).Arrive.L1); come <= twin && !c.products {
			t.Errorf("%s: rows that are squared by themselves, %v, are not refuted by %v", c.name, twin, come)
		}
	}
}

// Totals beyond the public bound are held to it, so the reach holds for every table; products have
// the sign of their sum.
func TestProductsOfClusters(t *testing.T) {
	k := clusterTotals{cells: [][]int64{{3, -2, -4, 5, 1 << 40, 1}}, count: 3, parts: 2, most: 10, divide: 1}
	for _, c := range []struct {
		x, y int
		want int64
	}{{0, 0, 9 + 16 + 100}, {0, 1, -6 - 20 + 10}, {1, 1, 4 + 25 + 1}} {
		if got := k.product(0, c.x, c.y); got != c.want {
			t.Errorf("%d·%d: %d, want %d", c.x, c.y, got, c.want)
		}
	}
	if k.divide = 3; k.product(0, 0, 1) != -5 {
		t.Errorf("-16/3 is %d", k.product(0, 0, 1))
	}
	k.most, k.divide = 1<<50, 1
	if k.product(0, 0, 0) != math.MaxInt64/4 {
		t.Error("a product out of reach is not held")
	}
}

// Statistics that release no sums between clusters refuse such intervals.
func TestNoClusters(t *testing.T) {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1, Missing: sdk.MissingRefuse}
	req, iv := staged(4, x)
	cells, _ := NewCells(req.Public, nil)
	if err := iv.Check(req.Public, cells, x); err == nil {
		t.Error("clusters are accepted")
	}
	if err := iv.CheckClustered(req.Public, cells, x); err != nil {
		t.Error(err)
	}
	req.Public.Columns = req.Public.Columns[:1]
	if _, err := NewAverage(x, 0, false, nil, cells, req, 1, Laplace, iv); err == nil {
		t.Error("clusters without their column are accepted")
	}
}
