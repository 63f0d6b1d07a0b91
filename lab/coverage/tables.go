package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
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
	noise       *noise.Source // nil for that of a release
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
		columns: []sdk.Column{measure.Number("eq_income", 0, 60000), measure.Number("age", 0, 100), measure.Category("household_size", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
			measure.Category("region", "Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol", "Upper Austria", "Vienna", "Vorarlberg")},
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
	for p, file := range map[*population]string{schools: "schools.csv", income: "eusilc.csv"} {
		var err error
		if p.table, err = measure.ReadCSV(filepath.Join(folder, file), p.columns); err != nil {
			return nil, err
		}
	}
	return append([]*population{schools, income, spending}, tails()...), nil
}

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
		{"humps", "two groups of values, and nothing between them", func(r *rand.Rand) float64 { return 50 + 40*r.Float64() + 500*math.Floor(3*r.Float64()/2) }},
	}
	sizes := []struct {
		rows    int
		epsilon string
	}{{100, "0.25"}, {150, "0.5"}, {300, "0.5"}, {400, "1"}, {2000, "0.5"}}
	for i, shape := range shapes {
		for k, size := range sizes {
			for _, design := range []string{"table", "srswor"} {
				p := &population{
					name: fmt.Sprintf("%s-%d", shape.name, size.rows), about: shape.about, epsilon: size.epsilon, designs: []string{design},
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
				for _, rank := range []string{"0.1", "0.25", "0.5", "0.75", "0.9", "0.99"} {
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
	return sdktest.Table{Rows: rows, Columns: map[string]sdk.Values{"spent": {Float64: spent}, "visits": {Float64: visits}, "class": {Codes: class}, "area": {Codes: area}}}
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
