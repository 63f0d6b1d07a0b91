package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// population is a table whose values are known, and what is released from its samples.
type population struct {
	name, about string
	columns     []sdk.Column
	table       sdktest.Table
	strata      string   // the column of the strata
	take        []int64  // from each stratum
	rates       []string // of each stratum
	size        int64    // of the simple random samples
	rate        string
	epsilon     string
	releases    []release
	designs     []string      // nil: all
	tail        bool          // one of tails
	tiny        bool          // one of tiny
	clusters    clusters      // of the multistage samples
	noise       *noise.Source // nil for that of a release
	persons     *persons      // whose rows are capped; or nil
}

// clusters are the first-stage units of a multistage sample: of so many of them, so many rows each.
type clusters struct {
	sdk.Column
	codes      []int32
	take, rows int64
	without    []string // the mechanisms that have no interval
}

// list is the frame as a file.
func (c *clusters) list() string {
	rows := make([]int, len(c.Domain))
	for _, code := range c.codes {
		rows[code]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s,rows\n", c.Name)
	for i, key := range c.Domain {
		fmt.Fprintf(&b, "%s,%d\n", key, rows[i])
	}
	return b.String()
}

// set numbers the values of a column of keys.
func (c *clusters) set(keys []string) {
	c.Domain = slices.Compact(slices.Sorted(slices.Values(keys)))
	for _, key := range keys {
		at, _ := slices.BinarySearch(c.Domain, key)
		c.codes = append(c.codes, int32(at))
	}
}

// release is a statistic: its mechanism and its parameters.
type release struct{ mechanism, params string }

func populations(folder string) ([]*population, error) {
	schools := &population{
		name: "schools", about: "California's schools with their index: even values, strata that differ little",
		columns: []sdk.Column{measure.Number("api00", 200, 1000), measure.Number("api99", 200, 1000), measure.Number("meals_pct", 0, 100),
			measure.Category("school_type", "E", "M", "H"), measure.Category("met_target", "0", "1")},
		strata: "school_type", take: []int64{350, 150, 150}, rates: []string{"0.08", "0.15", "0.15"}, size: 600, rate: "0.1", epsilon: "1",
		releases: statistics("api00", "api99", "met_target", "1", "0, 25, 50, 75, 100", "meals_pct"),
	}
	income := &population{
		name: "income", about: "incomes of persons in Austria: a long tail, regions of unlike size",
		columns: []sdk.Column{measure.Number("eq_income", 0, 60000), measure.Number("age", 0, 100),
			measure.Category("household_size", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
			measure.Category("region", "Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol", "Upper Austria", "Vienna",
				"Vorarlberg")},
		strata: "region", take: []int64{60, 120, 250, 110, 200, 120, 250, 250, 90}, size: 1500, rate: "0.1", epsilon: "0.5",
		rates:    []string{"0.2", "0.1", "0.1", "0.15", "0.1", "0.1", "0.1", "0.05", "0.2"},
		releases: statistics("eq_income", "age", "household_size", "5", "0, 18, 40, 65, 100", "age"),
	}
	spending := &population{
		name: "spending", about: "made at random: lognormal spending with many zeros, and strata whose means differ by a factor of ten",
		columns: []sdk.Column{measure.Number("spent", 0, 2000), measure.Number("visits", 0, 30),
			measure.Category("class", "low", "middle", "high"), measure.Category("area", "city", "town", "village", "island")},
		strata: "class", take: []int64{400, 300, 200}, rates: []string{"0.04", "0.05", "0.1"}, size: 1000, rate: "0.05", epsilon: "1",
		releases: statistics("spent", "visits", "area", "village", "0, 10, 100, 1000, 2000", "spent"),
	}
	spending.table = invented(20_000)
	schools.clusters = clusters{Column: sdk.Column{Name: "district"}, take: 250, rows: 4}
	income.clusters = clusters{Column: sdk.Column{Name: "household"}, take: 600, rows: 9}
	spending.clusters = clusters{Column: sdk.Column{Name: "shop"}, take: 60, rows: 30}
	for p, file := range map[*population]string{schools: "schools.csv", income: "eusilc.csv"} {
		key := p.clusters.Name
		var err error
		if p.table, err = measure.ReadCSV(filepath.Join(folder, file), append(slices.Clone(p.columns), measure.Number(key, 0, 1e9))); err != nil {
			return nil, err
		}
		var keys []string
		for _, x := range p.table.Columns[key].Float64 {
			keys = append(keys, fmt.Sprint(int64(x)))
		}
		p.clusters.set(keys)
	}
	// A shop's customers spend alike.
	order := make([]int, spending.table.Rows)
	rng := rand.New(rand.NewPCG(5, 29))
	near := make([]float64, len(order))
	for i, v := range spending.table.Columns["visits"].Float64 {
		order[i], near[i] = i, v+6*rng.NormFloat64()
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(near[a], near[b]) })
	keys := make([]string, len(order))
	for place, i := range order {
		keys[i] = fmt.Sprint(place / 100)
	}
	spending.clusters.set(keys)
	for _, p := range []*population{schools, income, spending} {
		p.clusters.without = []string{"ratio", "variance", "sd", "histogram", "quantiles"}
	}
	out := append([]*population{schools, income, spending, towns()}, tiny()...)
	return append(out, tails()...), nil
}

// towns are 20 clusters of unlike level, of which half are drawn.
func towns() *population {
	rng := rand.New(rand.NewPCG(20, 29))
	p := &population{name: "towns", about: "made at random: twenty towns, whose means differ", epsilon: "2",
		designs: []string{"table", "stages"}, columns: []sdk.Column{measure.Number("x", 0, 100), measure.Category("kind", "a", "b")},
		clusters: clusters{Column: sdk.Column{Name: "town"}, take: 10, rows: 100},
		releases: []release{{"mean", "{column: x}"}, {"mean", "{column: x, by: kind}"}, {"sum", "{column: x}"},
			{"proportion", `{column: kind, values: ["b"]}`}, {"count", "{by: kind}"}},
	}
	var x []float64
	var kind []int32
	var keys []string
	for town := range 20 {
		level, share := 50+15*rng.NormFloat64(), 0.2+0.6*rng.Float64()
		for range 500 {
			k := int32(0)
			if rng.Float64() < share {
				k = 1
			}
			x, kind, keys = append(x, min(max(level+10*float64(k)+10*rng.NormFloat64(), 0), 100)), append(kind, k), append(keys, fmt.Sprint(town))
		}
	}
	p.table = sdktest.Table{Rows: len(x), Columns: map[string]sdk.Values{"x": {Float64: x}, "kind": {Codes: kind}}}
	p.clusters.set(keys)
	return p
}

// tiny are tables with groups that are empty, of 1 to 5 rows, and of 0.2 to 5 % of the rows; with strata of which 2 to 5 rows are
// drawn; and with 5 clusters.
func tiny() (out []*population) {
	sizes := []int{0, 1, 2, 3, 4, 5, 40, 100, 200, 400, 1000, 20_000 - 1755}
	names := []string{"none", "one", "two", "three", "four", "five", "p02", "p05", "p1", "p2", "p5", "rest"}
	rng := rand.New(rand.NewPCG(40, 8))
	var x []float64
	var group []int32
	for g, n := range sizes {
		for range n {
			x, group = append(x, min(max(50+3*float64(g)*rng.Float64()+15*rng.NormFloat64(), 0), 100)), append(group, int32(g))
		}
	}
	var shares []release
	for _, name := range []string{"none", "five", "p02", "p05", "p1", "p2", "p5", "rest"} {
		shares = append(shares, release{"proportion", fmt.Sprintf("{column: group, values: [%s]}", name)})
	}
	for _, epsilon := range []string{"1", "2", "5"} {
		p := &population{
			name: "tiny-" + epsilon, about: "made at random: groups that are empty, of 1 to 5 rows, and of 0.2 to 5 %", epsilon: epsilon, tiny: true,
			designs: []string{"table", "srswor", "poisson", "collected", "gathered"}, size: 200, rate: "0.01",
			columns: []sdk.Column{measure.Number("x", 0, 100), measure.Category("group", names...)},
			table:   sdktest.Table{Rows: len(x), Columns: map[string]sdk.Values{"x": {Float64: x}, "group": {Codes: group}}},
			releases: append([]release{{"count", "{by: group}"}, {"sum", "{column: x, by: group}"}, {"mean", "{column: x, by: group}"},
				{"mean", "{column: x}"},
				{"proportion", "{column: x, from: 90, by: group}"},
				{"histogram", "{column: x, edges: [0, 0.001, 5, 10, 40, 60, 95, 99.999, 100]}"}}, shares...),
		}
		out = append(out, p)
	}
	return append(append(out, fewStrata(), fiveTowns(), stays()), fifteen()...)
}

// fewStrata are 40 strata, of which 2 to 5 rows each are drawn.
func fewStrata() *population {
	rng := rand.New(rand.NewPCG(40, 9))
	p := &population{
		name: "strata", about: "made at random: 2 to 5 rows of each of forty strata", epsilon: "2", tiny: true, designs: []string{"strata"},
		strata: "stratum",
		releases: []release{{"mean", "{column: x}"}, {"sum", "{column: x}"}, {"count", "{by: kind}"}, {"mean", "{column: x, by: kind}"},
			{"proportion", "{column: kind, values: [b]}"}, {"proportion", "{column: kind, values: [c]}"}},
	}
	var x []float64
	var stratum, kind []int32
	var keys []string
	for h := range 40 {
		keys, p.take = append(keys, fmt.Sprintf("s%02d", h)), append(p.take, int64(2+h%4))
		level, share := 50+15*rng.NormFloat64(), 0.1+0.3*rng.Float64()
		for range 60 + 5*h {
			k := int32(0)
			if u := rng.Float64(); u < share {
				k = 1
			} else if u > 0.97 {
				k = 2
			}
			x, stratum, kind = append(x, min(max(level+10*rng.NormFloat64(), 0), 100)), append(stratum, int32(h)), append(kind, k)
		}
	}
	p.columns = []sdk.Column{measure.Number("x", 0, 100), measure.Category("stratum", keys...), measure.Category("kind", "a", "b", "c")}
	p.table = sdktest.Table{Rows: len(x),
		Columns: map[string]sdk.Values{"x": {Float64: x}, "stratum": {Codes: stratum}, "kind": {Codes: kind}}}
	return p
}

// fiveTowns is the table of towns, of which 5 are drawn.
func fiveTowns() *population {
	p := towns()
	p.name, p.about, p.designs, p.tiny, p.clusters.take = "five", p.about+"; five of them are drawn", []string{"stages"}, true, 5
	return p
}

// fifteen are 60 towns of 20 to 200 rows, of which 15 are taken whole.
func fifteen() (out []*population) {
	for _, epsilon := range []string{"2", "10"} {
		rng := rand.New(rand.NewPCG(40, 15))
		p := &population{
			name: "fifteen-" + epsilon, about: "made at random: fifteen of sixty towns of 20 to 200 rows", epsilon: epsilon, tiny: true,
			designs:  []string{"stages"},
			columns:  []sdk.Column{measure.Number("x", 0, 100), measure.Category("kind", "a", "b", "c")},
			clusters: clusters{Column: sdk.Column{Name: "town"}, take: 15, rows: 200},
			releases: []release{{"mean", "{column: x}"}, {"mean", "{column: x, by: kind}"}, {"sum", "{column: x}"}, {"sum", "{column: x, by: kind}"},
				{"proportion", "{column: kind, values: [b]}"}, {"proportion", "{column: x, from: 60, by: kind}"}, {"count", "{by: kind}"}},
		}
		var x []float64
		var kind []int32
		var keys []string
		for town := range 60 {
			level, share := 50+12*rng.NormFloat64(), 0.2+0.4*rng.Float64()
			for range 20 + int(180*rng.Float64()*rng.Float64()) {
				k := int32(0)
				if u := rng.Float64(); u < share {
					k = 1
				} else if u > 0.95 {
					k = 2
				}
				x, kind, keys = append(x, min(max(level+10*float64(k)+10*rng.NormFloat64(), 0), 100)), append(kind, k), append(keys, fmt.Sprint(town))
			}
		}
		p.table = sdktest.Table{Rows: len(x), Columns: map[string]sdk.Values{"x": {Float64: x}, "kind": {Codes: kind}}}
		p.clusters.set(keys)
		out = append(out, p)
	}
	return out
}

var tailRanks = []string{"0.1", "0.25", "0.5", "0.75", "0.9", "0.99"}

// tails are small tables far from one or both bounds, where the noise in the rank of a quantile
// reaches the part of the bounds that holds no value.
func tails() (out []*population) {
	shapes := []struct {
		name, about string
		value       func(*rand.Rand) float64
	}{
		{"even", "even values between the bounds", func(r *rand.Rand) float64 { return 1000 * r.Float64() }},
		{"lognormal", "a long tail, far below the upper bound", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
		{"normal", "values in the middle of the bounds", func(r *rand.Rand) float64 { return 500 + 50*r.NormFloat64() }},
		{"narrow", "values in a tenth of the bounds, far from both", func(r *rand.Rand) float64 { return 300 + 100*r.Float64() }},
		{"humps", "two groups of values, and nothing between them",
			func(r *rand.Rand) float64 { return 50 + 40*r.Float64() + 500*math.Floor(3*r.Float64()/2) }},
	}
	sizes := []struct {
		rows    int
		epsilon string
	}{{100, "0.25"}, {150, "0.5"}, {300, "0.5"}, {400, "1"}, {2000, "0.5"}}
	for i, shape := range shapes {
		for k, size := range sizes {
			for _, design := range []string{"table", "srswor"} {
				p := &population{
					name: fmt.Sprintf("%s-%d", shape.name, size.rows), about: shape.name + ": " + shape.about, epsilon: size.epsilon,
					designs: []string{design}, tail: true,
					columns: []sdk.Column{measure.Number("x", 0, 1000)}, size: int64(size.rows),
				}
				x := make([]float64, size.rows)
				if design == "srswor" {
					x = make([]float64, 4*size.rows)
				}
				rng := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				for j := range x {
					x[j] = shape.value(rng)
				}
				p.table = sdktest.Table{Rows: len(x), Columns: map[string]sdk.Values{"x": {Float64: x}}}
				for _, rank := range tailRanks {
					p.releases = append(p.releases, release{"quantiles", "{column: x, quantiles: [" + rank + "]}"})
				}
				out = append(out, p)
			}
		}
	}
	return out
}

// invented makes the values of the third table, always the same.
func invented(rows int) sdktest.Table {
	rng := rand.New(rand.NewPCG(14, 30))
	var spent, visits []float64
	var class, area []int32
	for range rows {
		c := int32(0)
		if u := rng.Float64(); u > 0.9 {
			c = 2
		} else if u > 0.6 {
			c = 1
		}
		v, s := math.Min(30, math.Floor(math.Exp(0.8*rng.NormFloat64()+0.5*float64(c)))), 0.0
		if v > 0 {
			s = math.Min(2000, v*math.Exp(2+0.6*float64(c)+0.7*rng.NormFloat64()))
		}
		a := int32(3) // one row in a hundred
		if u := rng.Float64(); u < 0.99 {
			a = int32(u * 3)
		}
		spent, visits, class, area = append(spent, s), append(visits, v), append(class, c), append(area, a)
	}
	return sdktest.Table{Rows: rows, Columns: map[string]sdk.Values{"spent": {Float64: spent}, "visits": {Float64: visits},
		"class": {Codes: class}, "area": {Codes: area}}}
}

// statistics are the releases from a table: a number, another one, a category with one of its
// values, and the edges of a histogram of a third number.
func statistics(x, y, by, value, edges, z string) []release {
	f := strings.NewReplacer("X", x, "Y", y, "BY", by, "VALUE", value, "EDGES", edges, "Z", z)
	var out []release
	for _, r := range []release{
		{"mean", "{column: X}"},
		{"mean", "{column: X, by: BY}"},
		{"sum", "{column: X}"},
		{"sum", "{column: X, by: BY}"},
		{"proportion", `{column: BY, values: ["VALUE"]}`},
		{"ratio", "{numerator: X, denominator: Y}"},
		{"variance", "{column: X}"},
		{"sd", "{column: Y}"},
		{"count", "{by: BY}"},
		{"histogram", "{column: Z, edges: [EDGES]}"},
		{"quantiles", "{column: X, quantiles: [0.5, 0.75, 0.9]}"},
		{"quantiles", "{column: X, quantiles: [0.5], by: BY}"},
	} {
		out = append(out, release{r.mechanism, f.Replace(r.params)})
	}
	return out
}
