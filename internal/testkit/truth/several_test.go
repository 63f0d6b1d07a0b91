package truth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/pipeline"
)

// several are the tables of one data set: persons with one row each, and visits and grants with any number. Some keys are
// missing, some persons have no visit, and some visits and grants no person. A text has keys that differ in zeros and case.
var several = map[string]string{
	"persons": `SELECT %s AS person, CASE hash(i, 1) % 3 WHEN 0 THEN 'young' WHEN 1 THEN 'old' END AS age,
		CASE WHEN hash(i, 2) % 7 > 0 THEN ['north', 'south', 'west'][1 + (hash(i, 3) % 3)::INT] END AS region,
		(hash(i, 4) % 5000)::DOUBLE AS income FROM range(600) r(i)`,
	"visits": `SELECT %s AS person, 2020 + (hash(k, 5) % 6)::INT AS year, (hash(k, 6) % 100)::DOUBLE AS cost
		FROM (SELECT k, hash(k, 7) % 700 AS i FROM range(4000) r(k))`,
	"grants": `SELECT %s AS person, (hash(k, 8) % 50)::DOUBLE AS amount FROM (SELECT k, 200 + hash(k, 9) % 700 AS i FROM range(1500) r(k))`,
}

// keysOfSeveral are the keys by kind; one in 40 rows has none.
var keysOfSeveral = map[string]string{
	"text":   "CASE WHEN hash(i, 10) % 40 > 0 THEN ['007', '7', 'a', 'A'][1 + (i % 4)::INT] || '-' || (i // 4) END",
	"number": "CASE WHEN hash(i, 10) % 40 > 0 THEN i::BIGINT END",
}

// Without noise each cell of a release from several tables is what DuckDB computes of the joined tables.
func TestReleasesFromSeveralTablesAreTheTruth(t *testing.T) {
	db := startDuckDB(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options := pipeline.Options{Self: self, Version: "test"}
	for _, m := range builtins {
		options.Builtins = append(options.Builtins, m.Describe())
	}
	dir := t.TempDir()
	for kind, key := range keysOfSeveral {
		for name, query := range several {
			own := kind + "_" + name
			db.ask(t, "CREATE TABLE "+own+" AS "+strings.Replace(query, "%s", key, 1))
			for format, how := range map[string]string{"csv": "HEADER", "parquet": "FORMAT parquet"} {
				db.ask(t, fmt.Sprintf("COPY %s TO %s (%s)", own, quoted(filepath.Join(dir, own+"."+format)), how))
			}
		}
	}
	for seed := range 24 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 28))
			text, releases := fromSeveral(rng, dir)
			path := filepath.Join(t.TempDir(), "job.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			j, err := pipeline.Load(path, os.LookupEnv)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			done, err := pipeline.Run(t.Context(), j, options)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for i, r := range releases {
				if wrong := r.compare(done.Results[fmt.Sprintf("r%d", i)], db.ask(t, r.query)); wrong != "" {
					t.Errorf("%s\n%s\n%s", wrong, text, r.query)
				}
			}
		})
	}
}

// fromSeveral is a random job over two or three tables, and its releases with their queries.
func fromSeveral(rng *rand.Rand, dir string) (string, []asked) {
	kind := pick(rng, []string{"text", "number"})
	names := []string{"persons", "visits", "grants"}[:2+rng.IntN(2)]
	third := len(names) == 3
	population := rng.IntN(2) == 0
	year, cost := 2020+rng.IntN(6), rng.IntN(100)
	var tables, sql strings.Builder
	for i, name := range names {
		format, missing := pick(rng, []string{"csv", "parquet"}), pick(rng, []string{"drop", "own"})
		key := ""
		if kind == "number" && format == "csv" {
			key = "\n        person: {type: number}"
		}
		unit := map[bool]string{true: "rows: 1, ", false: ""}[name == "persons"] + "missing: " + missing
		fmt.Fprintf(&tables, "    %s:\n      source: {path: %s}\n      unit: {%s}\n", name, filepath.Join(dir, kind+"_"+name+"."+format), unit)
		switch name {
		case "persons":
			fmt.Fprintf(&tables, "      columns:%s\n        age: {domain: [young, old], missing: drop}\n        region: {domain: [north, south, west], missing: drop}\n"+
				"        income: {lower: 0, upper: 5000}\n      derive:\n        often: {as: \"count(visits where year == %d)\", lower: 0, upper: 100}\n"+
				"        spent: {as: \"sum(visits.cost where cost > %d)\", lower: 0, upper: 1000}\n", key, year, cost)
			if third {
				tables.WriteString("        given: {as: count(grants), lower: 0, upper: 100}\n")
			}
		case "visits":
			fmt.Fprintf(&tables, "      join: {persons: [age, region]}\n      cap: {groups: 60, rows: 60}\n      columns:%s\n        year: {type: number}\n        cost: {lower: 0, upper: 100}\n", key)
		case "grants":
			fmt.Fprintf(&tables, "      join: {persons: [region, income]}\n      cap: {groups: 60, rows: 60}\n      columns:%s\n        amount: {lower: 0, upper: 50}\n", key)
		}
		// A row without a key is dropped, or a unit that no other row has.
		fmt.Fprintf(&sql, "%s %s AS MATERIALIZED (SELECT * REPLACE (%s AS person) FROM (SELECT *, row_number() OVER () AS n FROM %s_%s) %s)",
			map[bool]string{true: "WITH", false: ",\n"}[i == 0], "k_"+name, "coalesce(person::VARCHAR, '"+name+" ' || n)", kind, name,
			map[string]string{"drop": "WHERE person IS NOT NULL", "own": ""}[missing])
	}
	fmt.Fprintf(&sql, ",\nj_persons AS (SELECT p.*, (SELECT count(*) FROM k_visits v WHERE v.person = p.person AND v.year = %d)::DOUBLE AS often,"+
		" (SELECT coalesce(sum(cost), 0) FROM k_visits v WHERE v.person = p.person AND v.cost > %d) AS spent", year, cost)
	if third {
		sql.WriteString(", (SELECT count(*) FROM k_grants g WHERE g.person = p.person)::DOUBLE AS given")
	}
	sql.WriteString(" FROM k_persons p)")
	inside := ""
	if population {
		inside = " WHERE t.person IN (SELECT person FROM k_persons)"
	}
	for name, taken := range map[string]string{"visits": "p.age, p.region", "grants": "p.region, p.income"} {
		if name == "visits" || third {
			fmt.Fprintf(&sql, ",\nj_%s AS (SELECT t.*, %s FROM k_%s t LEFT JOIN k_persons p USING (person)%s)", name, taken, name, inside)
		}
	}
	var releases []asked
	var said strings.Builder
	for i := range 3 {
		from := names[i%len(names)]
		value := map[string][]string{"persons": {"income", "often", "spent"}, "visits": {"cost"}, "grants": {"amount", "income"}}[from]
		if third && from == "persons" {
			value = append(value, "given")
		}
		x := pick(rng, value)
		most := map[string]string{"income": "5000", "spent": "1000"}[x] // all others lie within their bounds
		if most == "" {
			most = "100"
		}
		a := asked{mechanism: pick(rng, []string{"count", "sum"}), keys: []string{"region"}, names: 1, total: true, span: 5000}
		filter, other := pair{"true", "TRUE"}, rng.IntN(2) == 0
		switch rng.IntN(3) {
		case 0: // an inner join
			filter = pair{"!missing(region)", "region IS NOT NULL"}
		case 1:
			filter = pair{x + " >= 30", x + " >= 30"}
		}
		group, known := "region", "region IS NOT NULL"
		fmt.Fprintf(&said, "  - name: r%d\n    table: %s\n    by: [region]\n    mechanism: %s\n    guarantee: {epsilon: 1000000000}\n", i, from, a.mechanism)
		if filter.job != "true" {
			fmt.Fprintf(&said, "    where: %q\n", filter.job)
		}
		if other && filter.job != "!missing(region)" {
			said.WriteString("    other: elsewhere\n")
			group, known = "coalesce(region, 'elsewhere')", "TRUE"
		}
		what := "count(*)"
		if a.mechanism == "sum" {
			fmt.Fprintf(&said, "    params: {column: %s}\n", x)
			what = fmt.Sprintf("coalesce(sum(least(%s, %s)), 0)", x, most)
		}
		a.query = fmt.Sprintf("%s\nSELECT %s AS k0, %s AS estimate FROM j_%s WHERE %s AND %s GROUP BY ALL", &sql, group, what, from, filter.sql, known)
		releases = append(releases, a)
	}
	of := map[bool]string{true: "  population: persons\n", false: ""}[population]
	return fmt.Sprintf("version: 1\njob: truth\ndataset:\n  id: truth\n  relation: add-remove\n  unit: {column: person, name: person}\n%s  tables:\n%s"+
		"budget: {limit: {epsilon: 100000000000}}\nsandbox: \"off\"\nreleases:\n%soutput: {dir: out, formats: [json]}\n", of, &tables, &said), releases
}
