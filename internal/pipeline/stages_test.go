package pipeline_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
)

const sixTowns = `version: 1
job: towns
dataset:
  id: towns
  source: {path: towns.csv}
  relation: replace-one
  size: 60
  unit: row
  columns:
    x: {lower: 0, upper: 100}
    g: {domain: [a, b]}
  frame: {path: frame.csv, records: rows}
budget: {limit: {epsilon: 1000000}}
samples:
  s: {method: multistage, stages: [{unit: town, take: 4}, {take: all}]}
releases:
  - {name: mean, from: s, mechanism: mean, params: {column: x}, interval: 95, guarantee: {epsilon: 100000}}
  - {name: part, from: s, mechanism: mean, params: {column: x}, where: "g == 'a'", interval: 95, guarantee: {epsilon: 100000}}
  - {name: rows, from: s, mechanism: count, where: "g == 'a'", interval: 95, guarantee: {epsilon: 100000}}
output: {dir: out, formats: [csv]}
`

// Six towns, of which four are drawn whole. With next to no noise the estimate says which four, and
// the interval is that of their four totals: a mean, a mean of some of the rows, which is a ratio,
// and a number of rows. The interval of rows that were drawn one by one would be a third as wide.
func TestIntervalOfTowns(t *testing.T) {
	path := write(t, sixTowns)
	dir := filepath.Dir(path)
	level := []float64{20, 30, 45, 55, 80, 70}
	some := []float64{2, 3, 7, 4, 8, 5} // of ten rows are in the group
	table, frame := "x,g,town\n", "town,rows\n"
	for i := range 60 { // the towns in turn
		town, at := i%6, i/6
		table += fmt.Sprintf("%g,%s,t%d\n", level[town]+float64(at)-4.5, map[bool]string{true: "a", false: "b"}[float64(at) < some[town]], town)
	}
	for town := range 6 {
		frame += fmt.Sprintf("t%d,10\n", town)
	}
	for name, text := range map[string]string{"towns.csv": table, "frame.csv": frame} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	const students = 2.776 // the quantile of Student's distribution with 4 degrees of freedom
	left := (1 - 4./6) * 4 / 3
	// Of each four towns the sum of d, and of its square between them.
	for name, of := range map[string]func(town []int) (value, half float64){
		"mean": func(town []int) (float64, float64) {
			sum, square := 0.0, 0.0
			for _, i := range town {
				sum += level[i] / 4
			}
			for _, i := range town {
				square += math.Pow((level[i]-sum)/4, 2)
			}
			return sum, students * math.Sqrt(left*square)
		},
		"part": func(town []int) (float64, float64) {
			sum, rows, square := 0.0, 0.0, 0.0
			total := func(i int) float64 { return some[i] * (level[i] - 4.5 + (some[i]-1)/2) }
			for _, i := range town {
				sum, rows = sum+total(i), rows+some[i]
			}
			inside := 0.0
			for r := 0.0; r < 100; r += 0.01 { // Fieller's interval
				u := sum - r*rows
				square = -u * u / 4
				for _, i := range town {
					square += math.Pow(total(i)-r*some[i], 2)
				}
				if math.Abs(u) <= students*math.Sqrt(left*square) {
					inside += 0.01
				}
			}
			return sum / rows, inside / 2
		},
		"rows": func(town []int) (float64, float64) {
			sum, square := 0.0, 0.0
			for _, i := range town {
				sum += some[i]
			}
			for _, i := range town {
				square += math.Pow(some[i]-sum/4, 2)
			}
			return 1.5 * sum, 1.5 * students * math.Sqrt(left*square)
		},
	} {
		file := filepath.Join(o.Dir, name+".csv")
		value, low, high := estimates(t, file, "estimate")[0], estimates(t, file, "interval_low")[0], estimates(t, file, "interval_high")[0]
		var tried []string
		found := false
		for _, town := range combin.Combinations(6, 4) {
			v, half := of(town)
			if math.Abs(v-value) > 0.05 {
				continue
			}
			tried = append(tried, fmt.Sprintf("%v: %.3g ± %.3g", town, v, half))
			found = found || math.Abs(high-low-2*half) < 0.03*2*half
		}
		if !found {
			t.Errorf("%s: %.4g (%.4g to %.4g) is not that of %s", name, value, low, high, strings.Join(tried, ", or "))
		}
	}
}
