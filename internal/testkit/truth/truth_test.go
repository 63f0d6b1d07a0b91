package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/distinct"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
)

var builtins = []sdk.Mechanism{count.Mechanism{}, distinct.Mechanism{}, histogram.Mechanism{}, mean.Mechanism{}, median.Mechanism{},
	proportion.Mechanism{}, ratio.Mechanism{}, sum.Mechanism{}, variance.Mechanism{}, variance.SD()}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == pipeline.ServeArgument {
		serve.Mechanisms(builtins...)
		return
	}
	goleak.VerifyTestMain(m)
}

// sources are the tables. A flight has no person, so an aircraft is made up for each.
func sources(t *testing.T, db *duckdb) []*source {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	persons, err := filepath.Abs("../../../examples/data/eusilc.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE MACRO fin(v) AS CASE WHEN isfinite(v) THEN v END",
		fmt.Sprintf(`COPY (SELECT date AS departure, CASE WHEN delay < 400 THEN delay END AS delay, distance, origin, destination,
			strftime(date, '%%Y-%%m') AS month, CASE WHEN delay < 60 THEN date::DATE END AS day,
			CASE WHEN distance %% 9 = 0 THEN destination WHEN distance %% 5 = 0 THEN strftime(date, '%%Y-%%m-%%d') ELSE delay::VARCHAR END AS note,
			'N' || hash(file_row_number) %% 12000 AS aircraft
			FROM read_parquet('node_modules/vega-datasets/data/flights-3m.parquet', file_row_number = true)
			WHERE hash(file_row_number) %% 50 = 0) TO %s (FORMAT parquet, ROW_GROUP_SIZE 20000)`, quoted(at("flights.parquet"))),
		"CREATE TABLE flights AS FROM " + quoted(at("flights.parquet")),
		"CREATE TABLE persons AS FROM " + quoted(persons),
		fmt.Sprintf(`COPY (SELECT iata AS key, state, latitude FROM read_csv('node_modules/vega-datasets/data/airports.csv')
			WHERE state IN ('TX', 'CA', 'IL')) TO %s (HEADER)`, quoted(at("airports.csv"))),
		fmt.Sprintf(`COPY (FROM (VALUES ('Vienna', 'east', 400), ('Burgenland', 'east', 4000), ('Tyrol', 'west', 12600), ('Styria', 'south', 16400)) v(key, part, area))
			TO %s (HEADER)`, quoted(at("regions.csv"))),
	} {
		db.ask(t, q)
	}
	most := func(table, unit string) int {
		return size(t, db, fmt.Sprintf("SELECT max(n) AS n FROM (SELECT count(*) AS n FROM %s GROUP BY %s)", table, unit))
	}
	return []*source{
		{
			name: "flights", path: at("flights.parquet"), unit: "aircraft", mostRows: most("flights", "aircraft"),
			columns: []column{
				{name: "delay", kind: "number", lower: -60, upper: 300}, {name: "distance", kind: "number", lower: 0, upper: 3000},
				{name: "origin", kind: "category", domain: []string{"ORD", "DFW", "ATL", "LAX", "PHX", "STL", "IAH", "XXX"}},
				{name: "destination", kind: "text"}, {name: "departure", kind: "timestamp"}, {name: "day", kind: "date"}, {name: "note", kind: "text"},
			},
			lookupPath: at("airports.csv"), lookupKey: "origin",
			looked: []column{{name: "state", kind: "category", domain: []string{"TX", "CA", "IL"}}, {name: "latitude", kind: "number", lower: 20, upper: 60}},
			slice:  column{name: "month", domain: []string{"2001-02", "2001-05"}},
		},
		{
			name: "persons", path: persons, unit: "household", mostRows: most("persons", "household"),
			columns: []column{
				{name: "age", kind: "number", lower: 0, upper: 120}, {name: "household_size", kind: "number", lower: 1, upper: 12},
				{name: "employee_cash", kind: "number", lower: 0, upper: 60000}, {name: "eq_income", kind: "number", lower: 0, upper: 60000},
				{name: "sex", kind: "category", domain: []string{"female", "male"}},
				{name: "region", kind: "category", domain: []string{"Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol", "Upper Austria", "Vienna", "Vorarlberg"}},
			},
			lookupPath: at("regions.csv"), lookupKey: "region",
			looked: []column{{name: "part", kind: "category", domain: []string{"east", "south", "west"}}, {name: "area", kind: "number", lower: 0, upper: 20000}},
			slice:  column{name: "region", domain: []string{"Tyrol", "Vienna"}},
		},
	}
}

func size(t *testing.T, db *duckdb, query string) int {
	n, _ := number(db.ask(t, query)[0]["n"])
	return int(n)
}

// Without noise each released cell is what DuckDB computes.
func TestReleasesAreTheTruth(t *testing.T) {
	db := startDuckDB(t)
	jobs := 100 // for each table
	if testing.Short() {
		jobs = 10
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options := pipeline.Options{Mechanisms: self, Version: "test"}
	tables := sources(t, db)
	t.Run("jobs", func(t *testing.T) {
		for _, s := range tables {
			for i := range jobs {
				t.Run(fmt.Sprintf("%s-%d", s.name, i), func(t *testing.T) {
					t.Parallel()
					compared(t, db, s, uint64(i), options)
				})
			}
		}
	})
}

// compared runs one random job.
func compared(t *testing.T, db *duckdb, s *source, seed uint64, options pipeline.Options) {
	rng := rand.New(rand.NewPCG(seed, uint64(s.mostRows)))
	path := filepath.Join(t.TempDir(), "job.yaml")
	for {
		own := *s // with its own order of the domains
		own.columns = slices.Clone(s.columns)
		for i := range own.columns {
			own.columns[i].domain = slices.Clone(own.columns[i].domain)
		}
		m := &maker{writer: writer{Rand: rng}, source: &own}
		q := m.newQuestion()
		text := q.whole(rng, s, "truth", size(t, db, q.rows), size(t, db, q.units))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := pipeline.Load(path, os.LookupEnv)
		var done *pipeline.Outcome
		if err == nil {
			done, err = pipeline.Run(t.Context(), j, options)
		}
		if unwanted(err) {
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for i, r := range q.releases {
			if wrong := r.compare(done.Results[fmt.Sprintf("r%d", i)], db.ask(t, r.query)); wrong != "" {
				t.Errorf("%s\n%s\n%s", wrong, text, r.query)
			}
		}
		return
	}
}

// unwanted are the refusals of what chance made pointless.
func unwanted(err error) bool {
	return err != nil && slices.ContainsFunc([]string{"is never true", "is the same for every row", "the number of units is public"}, func(why string) bool { return strings.Contains(err.Error(), why) })
}

// compare describes a difference between a result and the answer, or returns "".
func (a *asked) compare(got sdk.Result, want []map[string]any) string {
	answers := map[string]map[string]any{}
	for _, w := range want {
		var key []string
		for i := range a.keys {
			name := "k" + strconv.Itoa(i)
			if i >= a.names {
				name = map[string]string{"lower": "lower", "column": "k", "quantile": "k"}[a.keys[i]]
			}
			key = append(key, fmt.Sprint(w[name]))
		}
		answers[strings.Join(key, "|")] = w
	}
	columns := map[string]sdk.ResultColumn{}
	n := 0
	for _, c := range got.Columns {
		columns[c.Name] = c
		n = len(c.Texts) + len(c.Float64) + len(c.Int64)
	}
	seen := 0
	for row := range n {
		var key []string
		for _, k := range a.keys {
			if c := columns[k]; c.Texts != nil {
				key = append(key, c.Texts[row])
			} else {
				key = append(key, fmt.Sprint(value(c, row)))
			}
		}
		want, ok := answers[strings.Join(key, "|")]
		if ok {
			seen++
		}
		if wrong := a.differs(columns, row, want); wrong != "" {
			return fmt.Sprintf("%s: %q: %s", a.mechanism, key, wrong)
		}
	}
	if seen != len(answers) {
		return fmt.Sprintf("%s: %d cells of the answer are in no row of the %d that were released", a.mechanism, len(answers)-seen, n)
	}
	return ""
}

func value(c sdk.ResultColumn, row int) float64 {
	if c.Int64 != nil {
		return float64(c.Int64[row])
	}
	return c.Float64[row]
}

// differs compares a released row with the answer, nil where no row of the table is in the cell.
func (a *asked) differs(columns map[string]sdk.ResultColumn, row int, want map[string]any) string {
	got, sd := value(columns["estimate"], row), 0.0
	if c, ok := columns["noise_sd"]; ok {
		sd = value(c, row)
	}
	if want == nil {
		if a.total && math.Abs(got) > 40*sd+1e-9*a.span {
			return fmt.Sprintf("%v for an empty cell", got)
		}
		return ""
	}
	if least, ok := number(want["least"]); ok {
		if most, _ := number(want["most"]); got < least || got > most {
			return fmt.Sprintf("%v does not lie between %v and %v", got, least, most)
		}
		return ""
	}
	for _, name := range []string{"estimate", "count", "mean", "numerator", "denominator"} {
		c, released := columns[name]
		x, known := number(want[name])
		if !released || !known { // the mean of no value can be anything
			continue
		}
		y, tolerance := value(c, row), 0.05
		switch {
		case name == "estimate":
			tolerance = 40*sd + 1e-8*a.span + 1e-9*math.Abs(x)
			if a.mechanism == "sd" { // a small one has lost digits
				tolerance += 1e-2
			}
		case name != "count":
			tolerance = 1e-3*a.span + 1e-9*math.Abs(x)
		}
		if !(math.Abs(x-y) <= tolerance) {
			return fmt.Sprintf("%s is %v, not %v (within %v)", name, y, x, tolerance)
		}
	}
	return ""
}

// What is not the truth is seen.
func TestComparisonSeesWhatIsWrong(t *testing.T) {
	a := asked{mechanism: "count", keys: []string{"g"}, names: 1, total: true, span: 1}
	result := func(groups []string, counts ...float64) sdk.Result {
		return sdk.Result{Columns: []sdk.ResultColumn{{Name: "g", Texts: groups}, {Name: "estimate", Float64: counts}}}
	}
	answer := []map[string]any{{"k0": "a", "estimate": "3"}, {"k0": "b", "estimate": 4.0}}
	if wrong := a.compare(result([]string{"a", "b", "c"}, 3, 4, 0), answer); wrong != "" {
		t.Error(wrong)
	}
	for name, r := range map[string]sdk.Result{
		"a cell is wrong": result([]string{"a", "b", "c"}, 3, 5, 0), "a cell is lost": result([]string{"a", "c"}, 3, 0),
		"an empty cell has rows": result([]string{"a", "b", "c"}, 3, 4, 1),
	} {
		if a.compare(r, answer) == "" {
			t.Errorf("%s, and nobody sees it", name)
		}
	}
}
