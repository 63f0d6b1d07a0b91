package pipeline_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/plugins/sdk"
)

const changesJob = `version: 1
job: changes
dataset:
  id: shops
  source: {path: TABLE}
  relation: add-remove
  slice: {column: month, is: 2026-06}
  columns:
    month: {type: text}
    size: {domain: [SIZES]}
    sales: {lower: 0, upper: 50}
    hours: {lower: 1, upper: 10}
budget: {ledger: "sqlite:LEDGER", limit: {UNIT: 9}}
series:
  s:
    periods: {from: 2026-01, to: 2026-08}
    publish: [month, quarter, running, year-to-date, {rolling: 3}, {change: 1}, {change: 3}]
releases:
  - {name: mean, series: s, mechanism: mean, params: {column: sales}, by: [size], guarantee: {UNIT: "2"}}
  - {name: share, series: s, mechanism: proportion, params: {column: sales, to: 20}, by: [size], guarantee: {UNIT: "2"}}
  - {name: ratio, series: s, mechanism: ratio, params: {numerator: sales, denominator: hours}, by: [size], guarantee: {UNIT: "2"}}
output: {dir: out, formats: [csv]}
`

// Means, shares and ratios of each kind of row, changes included, are the true ones with noise of the size that they
// state, and changes agree with the months that they compare. Intervals hold as often as they say, over 50 groups.
func TestChangesOfQuotients(t *testing.T) {
	for _, unit := range []string{"rho", "epsilon"} {
		t.Run(unit, func(t *testing.T) { changesOfQuotients(t, unit) })
	}
}

func changesOfQuotients(t *testing.T, unit string) {
	const groups = 50
	var sizes []string
	for g := range groups {
		sizes = append(sizes, fmt.Sprint("s", g))
	}
	r := rand.New(rand.NewPCG(31, 9))
	var text strings.Builder // 18,000 lines
	text.WriteString("month,size,sales,hours\n")
	type sums struct{ n, few, sales, hours float64 }
	truth := map[string][6]sums{}
	for m := range 6 {
		for i := range 60 * groups {
			size := sizes[i%groups]
			sales, hours := float64(r.IntN(40+2*m)), float64(1+r.IntN(9))
			fmt.Fprintf(&text, "2026-%02d,%s,%g,%g\n", m+1, size, sales, hours)
			all := truth[size]
			all[m].n++
			all[m].sales += sales
			all[m].hours += hours
			if sales < 20 {
				all[m].few++
			}
			truth[size] = all
		}
	}
	table := filepath.Join(t.TempDir(), "shops.csv")
	if err := os.WriteFile(table, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	path := write(t, changesJob, "TABLE", table, "LEDGER", filepath.Join(t.TempDir(), "l.db"), "SIZES", strings.Join(sizes, ", "), "UNIT", unit)
	j, err := pipeline.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.CatchUp = true
	if _, err := pipeline.Run(background, j, o); err != nil {
		t.Fatal(err)
	}
	valid(t, schema(t, "report-v1.schema.json"), filepath.Join(filepath.Dir(path), "out", "report.json"))
	valid(t, schema(t, "release-v1.schema.json"), filepath.Join(filepath.Dir(path), "out", "share.meta.json"))
	// Of 3,000 values of a normal law none is so many standard deviations away; one of Laplace's may be 7.
	far := map[string]float64{"rho": 7, "epsilon": 20}[unit]
	for name, of := range map[string]func(s sums) float64{
		"mean":  func(s sums) float64 { return s.sales / s.n },
		"share": func(s sums) float64 { return s.few / s.n },
		"ratio": func(s sums) float64 { return s.sales / s.hours },
	} {
		values := map[string]float64{}
		seen, missed := map[string]int{}, map[string]int{}
		for i, row := range csvRows(t, filepath.Join(filepath.Dir(path), "out", name+".csv")) {
			kind, period, size := row["kind"], row["period"], row["size"]
			var x [4]float64
			for k, c := range []string{"value", "sd", "low", "high"} {
				if x[k], err = strconv.ParseFloat(row[c], 64); err != nil {
					t.Fatalf("%s, row %d: %v", name, i, err)
				}
			}
			values[kind+period+size] = x[0]
			last := 2 // of the first quarter
			if month, ok := strings.CutPrefix(period, "2026-0"); ok {
				last, _ = strconv.Atoi(month)
				last--
			} else if period == "2026-Q2" {
				last = 5
			}
			all := truth[size]
			over := func(from, to int) float64 {
				var s sums
				for _, m := range all[from : to+1] {
					s = sums{s.n + m.n, s.few + m.few, s.sales + m.sales, s.hours + m.hours}
				}
				return of(s)
			}
			want := 0.0
			switch n, change := strings.CutPrefix(kind, "change-"); {
			case change:
				back, _ := strconv.Atoi(n)
				want = over(last, last) - over(last-back, last-back)
				before := values[fmt.Sprintf("month2026-%02d%s", last+1-back, size)]
				if now := values["month"+period+size]; math.Abs(now-before-x[0]) > 1e-9 {
					t.Errorf("%s: the change in %s is %v, and the months say %v", name, period, x[0], now-before)
				}
			case kind == "month":
				want = over(last, last)
			case kind == "quarter", kind == "rolling-3":
				want = over(last-2, last)
			default:
				want = over(0, last)
			}
			if z := (x[0] - want) / x[1]; math.Abs(z) > far || !(x[2] < x[0] && x[0] < x[3]) {
				t.Errorf("%s, %s of %s, %s: %v, and the true one is %v", name, kind, period, size, x, want)
			}
			seen[kind]++
			if last == 5 && !(x[2] <= want && want <= x[3]) {
				missed[kind]++
			}
		}
		for kind, n := range map[string]int{"change-1": 5, "change-3": 3, "month": 6, "quarter": 2, "rolling-3": 4, "running": 6, "year-to-date": 6} {
			// In the last month the groups' noise is independent. More than 16 of 50 miss in fewer than 1e-9 of all runs.
			if seen[kind] != n*groups || missed[kind] > 16 {
				t.Errorf("%s: %d rows of %s, want %d; %d of %d intervals of the last month do not hold", name, seen[kind], kind, n*groups, missed[kind], groups)
			}
		}
		t.Log(name, missed)
	}
}

// csvRows are the rows of a file by the names of its columns.
func csvRows(t *testing.T, path string) (out []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = l[i]
		}
		out = append(out, row)
	}
	return out
}

// A ratio whose denominator may be 0 has one end of an interval, or none, and never a 0 in the place of what is blank.
func TestOneEndInASeries(t *testing.T) {
	text := "month,size,sales,hours\n"
	var sizes []string
	for g := range 40 {
		sizes = append(sizes, fmt.Sprint("s", g))
		for i := range g {
			text += fmt.Sprintf("2026-%02d,s%d,30,%d\n", 1+i%3, g, 5+i%5)
		}
	}
	table := filepath.Join(t.TempDir(), "shops.csv")
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	job := strings.Replace(changesJob, "hours: {lower: 1,", "hours: {lower: 0,", 1)
	job = strings.Replace(job, "is: 2026-06", "is: 2026-03", 1)
	path := write(t, job, "TABLE", table, "LEDGER", filepath.Join(t.TempDir(), "l.db"), "SIZES", strings.Join(sizes, ", "), "UNIT", "rho")
	j, err := pipeline.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.CatchUp = true
	if _, err := pipeline.Run(background, j, o); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, row := range csvRows(t, filepath.Join(filepath.Dir(path), "out", "ratio.csv")) {
		low, high, value := row["low"] != "", row["high"] != "", row["value"] != ""
		seen[row["flag"]]++
		var fits bool
		switch row["flag"] {
		case "":
			fits = low && high && value
		case sdk.AtLeast:
			fits = low && !high
		case sdk.AtMost:
			fits = !low && high
		default:
			fits = !low && !high && !value
		}
		if !fits || strings.HasPrefix(row["kind"], "change") && low != high {
			t.Errorf("%v", row)
		}
	}
	// Groups have 0 to 13 rows in a month, and the noise in a sum of hours is that of about 2.
	if seen[""] == 0 || seen[sdk.AtLeast] == 0 || len(seen) < 3 {
		t.Errorf("flags: %v", seen)
	}
}
