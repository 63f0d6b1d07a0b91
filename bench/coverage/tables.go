package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/noise"
)

// column is a column of a table: numbers with bounds, or a category with a domain.
type column struct {
	name         string
	lower, upper float64
	domain       []string
	numbers      []float64 // clipped
	codes        []int32
}

// population is a table whose values are known, and what is released from its samples.
type population struct {
	name, about string
	rows        int
	columns     []column
	strata      string   // the column of the strata
	take        []int64  // from each stratum
	rates       []string // of each stratum
	size        int64    // of the simple random samples
	rate        string
	epsilon     string
	releases    []release
	noise       *noise.Source // nil for that of a release
}

// release is a statistic: its mechanism and its parameters.
type release struct{ mechanism, params string }

// read fills the columns of a population from a CSV file.
func (p *population) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	head := all[0]
	all = slices.DeleteFunc(all[1:], func(r []string) bool { // rows without a value are no part of the study
		return slices.ContainsFunc(p.columns, func(c column) bool { return r[slices.Index(head, c.name)] == "" })
	})
	p.rows = len(all)
	for i := range p.columns {
		c := &p.columns[i]
		at := slices.Index(head, c.name)
		for _, r := range all {
			if c.domain != nil {
				c.codes = append(c.codes, int32(slices.Index(c.domain, r[at])))
				continue
			}
			x, err := strconv.ParseFloat(r[at], 64)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			c.numbers = append(c.numbers, math.Min(math.Max(x, c.lower), c.upper))
		}
	}
	return nil
}

func populations(folder string) ([]*population, error) {
	schools := &population{
		name: "schools", about: "California's schools with their index: even values, strata that differ little",
		columns: []column{{name: "api00", lower: 200, upper: 1000}, {name: "api99", lower: 200, upper: 1000}, {name: "meals_pct", upper: 100},
			{name: "school_type", domain: []string{"E", "M", "H"}}, {name: "met_target", domain: []string{"0", "1"}}},
		strata: "school_type", take: []int64{350, 150, 150}, rates: []string{"0.08", "0.15", "0.15"}, size: 600, rate: "0.1", epsilon: "1",
		releases: statistics("api00", "api99", "met_target", "1", "0, 25, 50, 75, 100", "meals_pct"),
	}
	income := &population{
		name: "income", about: "incomes of persons in Austria: a long tail, regions of unlike size",
		columns: []column{{name: "eq_income", upper: 60000}, {name: "age", upper: 100}, {name: "household_size", domain: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}},
			{name: "region", domain: []string{"Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol", "Upper Austria", "Vienna", "Vorarlberg"}}},
		strata: "region", take: []int64{60, 120, 250, 110, 200, 120, 250, 250, 90}, size: 1500, rate: "0.1", epsilon: "0.5",
		rates:    []string{"0.2", "0.1", "0.1", "0.15", "0.1", "0.1", "0.1", "0.05", "0.2"},
		releases: statistics("eq_income", "age", "household_size", "5", "0, 18, 40, 65, 100", "age"),
	}
	spending := &population{
		name: "spending", about: "made at random: lognormal spending with many zeros, and strata whose means differ by a factor of ten",
		rows: 20000, columns: []column{{name: "spent", upper: 2000}, {name: "visits", upper: 30}, {name: "class", domain: []string{"low", "middle", "high"}}, {name: "area", domain: []string{"city", "town", "village", "island"}}},
		strata: "class", take: []int64{400, 300, 200}, rates: []string{"0.04", "0.05", "0.1"}, size: 1000, rate: "0.05", epsilon: "1",
		releases: statistics("spent", "visits", "area", "village", "0, 10, 100, 1000, 2000", "spent"),
	}
	spending.generate()
	for p, file := range map[*population]string{schools: "schools.csv", income: "eusilc.csv"} {
		if err := p.read(filepath.Join(folder, file)); err != nil {
			return nil, err
		}
	}
	return []*population{schools, income, spending}, nil
}

// generate makes the values of the third table, always the same.
func (p *population) generate() {
	rng := rand.New(rand.NewPCG(14, 30))
	for range p.rows {
		class := int32(0)
		if u := rng.Float64(); u > 0.9 {
			class = 2
		} else if u > 0.6 {
			class = 1
		}
		visits := math.Min(30, math.Floor(math.Exp(0.8*rng.NormFloat64()+0.5*float64(class))))
		spent := 0.0
		if visits > 0 {
			spent = math.Min(2000, visits*math.Exp(2+0.6*float64(class)+0.7*rng.NormFloat64()))
		}
		p.columns[0].numbers = append(p.columns[0].numbers, spent)
		p.columns[1].numbers = append(p.columns[1].numbers, visits)
		area := int32(3) // one row in a hundred
		if u := rng.Float64(); u < 0.99 {
			area = int32(u * 3)
		}
		p.columns[2].codes = append(p.columns[2].codes, class)
		p.columns[3].codes = append(p.columns[3].codes, area)
	}
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
