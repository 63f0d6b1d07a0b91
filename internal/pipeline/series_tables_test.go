package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
)

const tablesJob = `version: 1
job: tables
dataset:
  id: people
  source: {path: TABLE}
  relation: add-remove
  slice: {column: month, is: 2026-06}
  columns:
    month: {type: text}
    district: {domain: [n1, n2, s1, s2, s3]}
    sex: {domain: [f, m]}
budget: {ledger: "sqlite:LEDGER", limit: {rho: 9}}
series:
  s:
    periods: {from: 2026-01, to: 2026-12}
    publish: [month, quarter, running, {change: 1}]
releases:
  - name: tables
    series: s
    mechanism: marginals
    params: {columns: [district, sex], hierarchies: [{column: district, levels: [{name: area, prefix: 1}]}]FINISH}
    guarantee: {rho: "0.5"}
output: {dir: out, formats: [csv]}
`

// Tables of districts and areas, by sex, agree with one another over places and over time, and are the true ones with
// noise of the size that they state.
func TestTablesOfASeriesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 10))
	text, counts := "month,district,sex\n", map[string]float64{}
	for m := range 6 {
		for range 300 {
			d, s := []string{"n1", "n2", "s1", "s2", "s3"}[r.IntN(5)], []string{"f", "m"}[r.IntN(2)]
			text += fmt.Sprintf("2026-%02d,%s,%s\n", m+1, d, s)
			counts[fmt.Sprint(m, d, s)]++
		}
	}
	table := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path := write(t, tablesJob, "TABLE", table, "LEDGER", filepath.Join(t.TempDir(), "l.db"), "FINISH", "")
	j, err := pipeline.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.CatchUp = true
	if _, err := pipeline.Run(background, j, o); err != nil {
		t.Fatal(err)
	}
	type cell struct{ value, sd, low, high float64 }
	cells := map[[5]string]cell{} // by kind, period, table and values
	for _, row := range csvRows(t, filepath.Join(filepath.Dir(path), "out", "tables.csv")) {
		var c cell
		for name, to := range map[string]*float64{"value": &c.value, "sd": &c.sd, "low": &c.low, "high": &c.high} {
			if *to, err = strconv.ParseFloat(row[name], 64); err != nil {
				t.Fatal(err)
			}
		}
		cells[[5]string{row["kind"], row["period"], row["table"], row["value1"], row["value2"]}] = c
	}
	if want := (6*2 + 2 + 5) * (1 + 2 + 4 + 5 + 10 + 2); len(cells) != want {
		t.Errorf("%d cells, want %d", len(cells), want)
	}
	same := func(k [5]string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%v: %v, and its parts say %v", k, got, want)
		}
	}
	held, months := 0, 0
	for k, c := range cells {
		at := func(kind, period string) float64 { return cells[[5]string{kind, period, k[2], k[3], k[4]}].value }
		within := func(table string, in func(district, sex string) bool) (sum float64) {
			for part, x := range cells {
				if part[0] == k[0] && part[1] == k[1] && part[2] == table && in(part[3], part[4]) {
					sum += x.value
				}
			}
			return sum
		}
		switch k[2] {
		case "total":
			same(k, c.value, within("district,sex", func(string, string) bool { return true }))
		case "area":
			same(k, c.value, within("district", func(d, _ string) bool { return strings.HasPrefix(d, k[3]) }))
		case "area,sex":
			same(k, c.value, within("district,sex", func(d, s string) bool { return strings.HasPrefix(d, k[3]) && s == k[4] }))
		case "sex":
			same(k, c.value, within("district,sex", func(_, s string) bool { return s == k[3] }))
		}
		last := int(k[1][len(k[1])-1] - '0')
		month := func(m int) float64 { return at("month", fmt.Sprintf("2026-%02d", m)) }
		switch k[0] {
		case "quarter":
			same(k, c.value, month(3*last-2)+month(3*last-1)+month(3*last))
		case "running":
			if last > 1 {
				same(k, c.value, at("running", fmt.Sprintf("2026-%02d", last-1))+month(last))
			}
		case "change-1":
			same(k, c.value, month(last)-month(last-1))
		case "month":
			if k[2] == "district,sex" {
				months++
				want := counts[fmt.Sprint(last-1, k[3], k[4])]
				if z := (c.value - want) / c.sd; math.Abs(z) > 7 {
					t.Errorf("%v: %+v, and the true value is %v", k, c, want)
				}
				if c.low <= want && want <= c.high {
					held++
				}
			}
		}
	}
	// 60 cells, each of which misses with a chance of 0.05. If only the 6 months were free, more than 5 would miss together
	// in fewer than 2e-8 of all runs.
	if held < months/6 {
		t.Errorf("%d of %d intervals hold", held, months)
	}
	if _, err := run(t, write(t, tablesJob, "TABLE", table, "LEDGER", filepath.Join(t.TempDir(), "l.db"), "FINISH", ", finish: whole")); err == nil || !strings.Contains(err.Error(), "leave finish out") {
		t.Errorf("whole numbers of each period: %v", err)
	}
}
