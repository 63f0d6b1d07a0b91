package pipeline_test

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

const seriesJob = `version: 1
job: every-month
dataset:
  id: interviews
  source: {path: TABLE}
  relation: add-remove
  slice: {column: month, is: MONTH}
  unit: {column: household, name: household}
  fold: {region: mode, income: max}
  columns:
    month: {type: text}
    region: {domain: [Burgenland, Carinthia, Lower Austria, Salzburg, Styria, Tyrol, Upper Austria, Vienna, Vorarlberg]}
    income: {lower: 0, upper: 60000}
budget: {ledger: "sqlite:LEDGER", limit: {rho: 9}}
series:
  households:
    periods: {from: 2022-01, to: 2024-12}
    publish: [month, quarter, year, year-to-date, running, {rolling: 12}, {change: 12}]
releases:
  - {name: households, series: households, mechanism: count, by: [region], guarantee: {rho: "RHO"}}
  - {name: income, series: households, mechanism: sum, params: {column: income}, by: [region], guarantee: {rho: "0.5"}}
output: {dir: out, formats: [csv]}
`

// seriesRow is one line of a release: period, kind and group, and its numbers.
type seriesRow struct {
	period, kind, group  string
	value, sd, low, high float64
}

func seriesRows(t *testing.T, path string) (out []seriesRow) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || !slices.Equal(lines[0][:7], []string{"period", "kind", "region", "value", "sd", "low", "high"}) {
		t.Fatal(lines[0], err)
	}
	for _, l := range lines[1:] {
		r := seriesRow{period: l[0], kind: l[1], group: l[2]}
		for i, to := range []*float64{&r.value, &r.sd, &r.low, &r.high} {
			if *to, err = strconv.ParseFloat(l[3+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, r)
	}
	return out
}

// householdsOf counts the households of each month and region, and adds up their incomes.
func householdsOf(t *testing.T) (number, income map[[2]string]float64) {
	t.Helper()
	f, err := os.Open(example(t, "interviews.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number, income = map[[2]string]float64{}, map[[2]string]float64{}
	seen := map[string]bool{}
	for _, l := range lines[1:] {
		if seen[l[1]] {
			continue // all persons of a household have its region and income
		}
		seen[l[1]] = true
		x, err := strconv.ParseFloat(l[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		number[[2]string{l[0], l[2]}]++
		income[[2]string{l[0], l[2]}] += max(0, min(60000, x))
	}
	return number, income
}

// 36 months of EU-SILC: every published value is the true one and noise of the standard deviation that it states. Figures
// over time agree with one another, and the file of each month is that of the month before with rows added.
func TestSeriesOf36Months(t *testing.T) {
	number, income := householdsOf(t)
	path := write(t, seriesJob, "MONTH", "2022-01", "TABLE", example(t, "interviews.csv"), "LEDGER", filepath.Join(t.TempDir(), "l.db"), "RHO", "0.5")
	var before string
	for _, month := range []string{"2022-01", "2023-06", "2024-12"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index(string(text), "is: ")
		next := string(text[:i]) + "is: " + month + string(text[i+len("is: 2022-01"):])
		next = next[:strings.Index(next, "dir: ")] + "dir: out-" + month + ", formats: [csv]}\n"
		if err := os.WriteFile(path, []byte(next), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := pipeline.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := options()
		o.CatchUp = true
		if _, err := pipeline.Run(background, j, o); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(filepath.Join(filepath.Dir(path), "out-"+month, "households.csv"))
		if err != nil || !strings.HasPrefix(string(now), before) {
			t.Fatalf("the file of %s does not begin with the one before: %v", month, err)
		}
		before = string(now)
	}
	for name, truth := range map[string]map[[2]string]float64{"households": number, "income": income} {
		rows := seriesRows(t, filepath.Join(filepath.Dir(path), "out-2024-12", name+".csv"))
		at := map[[3]string]seriesRow{}
		for _, r := range rows {
			at[[3]string{r.kind, r.period, r.group}] = r
		}
		months := []string{}
		for m := range 36 {
			months = append(months, strconv.Itoa(2022+m/12)+"-"+[]string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"}[m%12])
		}
		sum := func(r seriesRow, from, to int) (noisy, exact float64) {
			for _, m := range months[from : to+1] {
				noisy += at[[3]string{"month", m, r.group}].value
				exact += truth[[2]string{m, r.group}]
			}
			return noisy, exact
		}
		squares, n := 0.0, 0
		for _, r := range rows {
			m := slices.Index(months, r.period)
			var noisy, exact float64
			switch r.kind {
			case "month":
				noisy, exact = sum(r, m, m)
			case "quarter":
				q := (int(r.period[3])-'2')*12 + (int(r.period[6])-'1')*3
				noisy, exact = sum(r, q, q+2)
			case "year":
				y := (int(r.period[3]) - '2') * 12
				noisy, exact = sum(r, y, y+11)
			case "year-to-date":
				noisy, exact = sum(r, m/12*12, m)
			case "running":
				noisy, exact = sum(r, 0, m)
			case "rolling-12":
				noisy, exact = sum(r, m-11, m)
			case "change-12":
				a, x := sum(r, m, m)
				b, y := sum(r, m-12, m-12)
				noisy, exact = a-b, x-y
			default:
				t.Fatalf("a row of kind %s", r.kind)
			}
			if math.Abs(r.value-noisy) > 1e-6*(1+math.Abs(noisy)) {
				t.Errorf("%s %+v: the months say %v", name, r, noisy)
			}
			// An interval ends in the middle between two values that the noise can have.
			if half := (r.high - r.low) / 2; half < 1.95996*r.sd || half > 1.9601*r.sd+0.6 || math.Abs((r.high+r.low)/2-r.value) > 1e-6*(1+math.Abs(r.value)) {
				t.Errorf("%s %+v: the interval", name, r)
			}
			// Incomes are rounded to the lattice, household by household: that is far below the noise.
			if z := (r.value - exact) / r.sd; math.Abs(z) > 7 { // 2,000 values: 5e-9 for a normal variable
				t.Errorf("%s %+v: the true value is %v", name, r, exact)
			} else if r.kind == "month" {
				squares += z * z
				n++
			}
		}
		// The months' noises are correlated, and no more than 36 × 9 of them are free. With all alike within a region, Σz² has
		// the law of 36·χ²(9) at the worst: below 9·36·0.02 or above 9·36·6 with a probability of less than 1e-6.
		if n != 36*9 || squares < 0.02*float64(n) || squares > 6*float64(n) {
			t.Errorf("%s: %d months with a sum of squares of %v", name, n, squares)
		}
		// The running total after 36 months is less noisy than independent noise would be.
		if one, all := at[[3]string{"month", "2022-01", "Tyrol"}].sd, at[[3]string{"running", "2024-12", "Tyrol"}].sd; all > 3*one {
			t.Errorf("%s: a month has %v, the running total %v", name, one, all)
		}
	}
}

// A step that is killed before its bytes are sealed is not measured again without a word; one that is killed afterwards
// is published from what is sealed. Nothing is paid twice.
func TestKilledStep(t *testing.T) {
	tier.Full(t, "TestSeriesRedraw of ledger")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"step-debited", "step-drawn", "step-sealed", "debited", "sealed"} {
		t.Run(point, func(t *testing.T) {
			path := write(t, seriesJob, "MONTH", "2022-01", "TABLE", example(t, "interviews.csv"), "LEDGER", "dprelease.db", "RHO", "0.5")
			dir := filepath.Dir(path)
			out, err := child(self, path, "PIPELINE_TEST_KILL="+point).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Exited() {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				t.Error("something is visible")
			}
			lost := point == "step-debited" || point == "step-drawn"
			_, err = run(t, path)
			if lost != (err != nil && strings.Contains(err.Error(), "RUN_UNFINISHED")) {
				t.Fatalf("the next run: %v", err)
			}
			if lost {
				j, err := pipeline.Load(path, nil)
				if err != nil {
					t.Fatal(err)
				}
				o := options()
				o.Again = true
				if _, err := pipeline.Run(background, j, o); err != nil {
					t.Fatal(err)
				}
			}
			first, err := os.ReadFile(filepath.Join(dir, "out", "households.csv"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			if _, err := run(t, path); err != nil {
				t.Fatal(err)
			}
			if again, err := os.ReadFile(filepath.Join(dir, "out", "households.csv")); err != nil || string(again) != string(first) {
				t.Errorf("other bytes: %v", err)
			}
			verified(t, dir)
		})
	}
}
