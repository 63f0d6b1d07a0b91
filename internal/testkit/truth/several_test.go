package truth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
)

// several are the tables of one data set: persons with one row each, and visits and grants with any number. Some keys are
// missing, some persons have no visit, and some visits and grants no person; numbers and categories are missing, too. A text
// has keys that differ in zeros and case. Hashes are divided by 977, because those of one row are alike in their last bits.
var several = map[string]string{
	"persons": `SELECT %s AS person, CASE hash(i, 1) // 977 % 3 WHEN 0 THEN 'young' WHEN 1 THEN 'old' END AS age,
		CASE WHEN hash(i, 2) // 977 % 7 > 0 THEN ['north', 'south', 'west'][1 + (hash(i, 3) // 977 % 3)::INT] END AS region,
		CASE WHEN hash(i, 11) // 977 % 9 > 0 THEN (hash(i, 4) // 977 % 5000)::DOUBLE END AS income FROM range(600) r(i)`,
	"visits": `SELECT %s AS person, 2020 + (hash(k, 5) // 977 % 6)::INT AS year, CASE WHEN hash(k, 12) // 977 % 5 > 0 THEN (hash(k, 6) // 977 % 100)::DOUBLE END AS cost,
		['gp', 'clinic', 'home', NULL][1 + (hash(k, 13) // 977 % 4)::INT] AS kind FROM (SELECT k, hash(k, 7) % 700 AS i FROM range(4000) r(k))`,
	"grants": `SELECT %s AS person, (hash(k, 8) // 977 % 50)::DOUBLE AS amount FROM (SELECT k, 200 + hash(k, 9) % 700 AS i FROM range(1500) r(k))`,
}

// keysOfSeveral are the keys by kind; one in 40 rows has none.
var keysOfSeveral = map[string]string{
	"text":   "CASE WHEN hash(i, 10) % 40 > 0 THEN ['007', '7', 'a', 'A'][1 + (i % 4)::INT] || '-' || (i // 4) END",
	"number": "CASE WHEN hash(i, 10) % 40 > 0 THEN i::BIGINT END",
}

// wrongJoins are mistakes in the queries, by what they take for equal, or lose. If the releases made one, the comparison
// would have to see it.
var wrongJoins = map[string][2]string{
	"A is a":                        {"k.person", "lower(k.person::VARCHAR)"},
	"007 is 7":                      {"k.person", "ltrim(k.person::VARCHAR, '0')"},
	"null matches null":             {"'%T ' || n", "'nobody'"},
	"a row without a partner":       {"LEFT JOIN k_persons", "JOIN k_persons"},
	"a person for each visit":       {"FROM k_persons p)", "FROM k_persons p JOIN k_visits w USING (person))"},
	"a condition that is forgotten": {"AND v.year =", "AND v.year >="},
	"a mode that is a maximum":      {"ORDER BY count(*) DESC, ", "ORDER BY count(*) * 0, -"},
}

// Without noise each cell of a release from several tables is what DuckDB computes of the joined tables. Queries that join
// them in a wrong way are seen to differ.
func TestReleasesFromSeveralTablesAreTheTruth(t *testing.T) {
	db := startDuckDB(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options := pipeline.Options{Mechanisms: self, Version: "test"}
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
	seen, tried := map[string]int{}, map[string]int{}
	for seed := range 24 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newSeveral(rand.New(rand.NewPCG(uint64(seed), 28)), dir)
			text := m.whole(func(query string) int { return size(t, db, query) })
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
			for i, r := range m.releases {
				result := done.Results[fmt.Sprintf("r%d", i)]
				if wrong := r.compare(result, db.ask(t, r.query)); wrong != "" {
					t.Errorf("%s\n%s\n%s", wrong, text, r.query)
				}
				for what, change := range wrongJoins {
					if seen[what] > 2 {
						continue
					}
					twin := strings.ReplaceAll(r.query, change[0], change[1])
					for _, name := range m.names {
						twin = strings.ReplaceAll(twin, strings.Replace(change[0], "%T", name, 1), change[1])
					}
					if twin == r.query {
						continue
					}
					if tried[what]++; r.compare(result, db.ask(t, twin)) != "" {
						seen[what]++
					}
				}
			}
		})
	}
	for what := range wrongJoins {
		if seen[what] == 0 {
			t.Errorf("%s: nobody sees it in %d releases", what, tried[what])
		}
	}
}

// tableColumn is a column that a table takes from visits, or has: what the job says, and how a query computes it.
type tableColumn struct{ name, yaml, sql string }

// severalMaker makes a random job over two or three tables, and its releases with their queries.
type severalMaker struct {
	*rand.Rand
	dir, kind  string
	names      []string
	population bool
	replace    bool   // the relation is replace-one
	visits     string // fold or cap
	folded     []tableColumn
	sql        strings.Builder
	releases   []asked
}

func newSeveral(rng *rand.Rand, dir string) *severalMaker {
	m := &severalMaker{Rand: rng, dir: dir, kind: pick(rng, []string{"text", "number"}), names: []string{"persons", "visits", "grants"}[:2+rng.IntN(2)]}
	m.replace = rng.IntN(3) == 0
	m.population = m.replace || rng.IntN(2) == 0
	m.visits = pick(rng, []string{"fold", "cap"})
	m.folded = m.folds()
	return m
}

// folds are columns that persons take from visits.
func (m *severalMaker) folds() []tableColumn {
	year, cost := 2020+m.IntN(6), m.IntN(60)
	of := func(what, where string) string {
		return fmt.Sprintf("(SELECT %s FROM k_visits v WHERE v.person = p.person%s)", what, where)
	}
	inYear := fmt.Sprintf(" AND v.year = %d", year)
	most := pick(m.Rand, []string{"mean", "min", "max"})
	flag := pick(m.Rand, []string{"any", "all"})
	return []tableColumn{
		{"often", fmt.Sprintf(`{as: "count(visits where year == %d)", lower: 0, upper: 100}`, year), of("count(*)", inYear) + "::DOUBLE"},
		{"spent", fmt.Sprintf(`{as: "sum(visits.cost where cost > %d)", lower: 0, upper: 1000}`, cost), "least(1000, coalesce(" + of("sum(cost)", fmt.Sprintf(" AND v.cost > %d", cost)) + ", 0))"},
		{"most", fmt.Sprintf(`{as: "%s(visits.cost where year == %d)", lower: 0, upper: 100, missing: drop}`, most, year), of(map[string]string{"mean": "avg"}[most]+strings.ReplaceAll(most, "mean", "")+"(cost)", inYear)},
		{"seen", fmt.Sprintf(`{as: "%s(visits.dear where year == %d)", missing: drop}`, flag, year), of(map[string]string{"any": "bool_or", "all": "bool_and"}[flag]+"(cost > 50)", inYear) + "::VARCHAR"},
		{"usual", `{as: "mode(visits.kind)", missing: drop}`, "(SELECT kind FROM k_visits v WHERE v.person = p.person AND kind IS NOT NULL GROUP BY kind ORDER BY count(*) DESC, list_position(['gp', 'clinic', 'home'], kind) LIMIT 1)"},
		{"index", `{as: "often * 2 + spent / 10", lower: 0, upper: 400}`, "(2 * often + spent / 10)"},
	}
}

// table says one table, and adds its query to those that the releases start with.
func (m *severalMaker) table(i int, name string) string {
	format, missing := pick(m.Rand, []string{"csv", "parquet"}), pick(m.Rand, []string{"drop", "own"})
	key := ""
	if m.kind == "number" && format == "csv" {
		key = "\n        person: {type: number}"
	}
	unit := map[bool]string{true: "rows: 1, ", false: ""}[name == "persons"] + "missing: " + missing
	var said strings.Builder
	fmt.Fprintf(&said, "    %s:\n      source: {path: %s}\n      unit: {%s}\n", name, filepath.Join(m.dir, m.kind+"_"+name+"."+format), unit)
	switch name {
	case "persons":
		fmt.Fprintf(&said, "      columns:%s\n        age: {domain: [young, old], missing: drop}\n        region: {domain: [north, south, west], missing: %s}\n"+
			"        income: {lower: 0, upper: 5000, missing: drop}\n      derive:\n", key, "drop")
		for _, c := range m.folded {
			fmt.Fprintf(&said, "        %s: %s\n", c.name, c.yaml)
		}
		if len(m.names) == 3 {
			said.WriteString("        given: {as: count(grants), lower: 0, upper: 100}\n")
		}
	case "visits":
		rows := "cap: {groups: 60, rows: 60, binds: never}"
		if m.visits == "fold" {
			rows = "fold: {cost: sum, kind: mode, region: mode, dear: any}"
		}
		fmt.Fprintf(&said, "      join: {persons: [age, region]}\n      %s\n      columns:%s\n        year: {type: number}\n        cost: {lower: 0, upper: 6000, missing: drop}\n"+
			"        kind: {domain: [gp, clinic, home], missing: drop}\n      derive: {dear: {as: \"cost > 50\", missing: drop}}\n", rows, key)
	case "grants":
		fmt.Fprintf(&said, "      join: {persons: [region, income]}\n      cap: {groups: 60, rows: 60, binds: never}\n      columns:%s\n        amount: {lower: 0, upper: 50}\n", key)
	}
	// A row without a key is dropped, or a unit that no other row has.
	fmt.Fprintf(&m.sql, "%s k_%s AS MATERIALIZED (SELECT * REPLACE (coalesce(k.person::VARCHAR, '%s ' || n) AS person) FROM (SELECT *, row_number() OVER () AS n FROM %s_%s) k %s)",
		map[bool]string{true: "WITH", false: ",\n"}[i == 0], name, name, m.kind, name, map[string]string{"drop": "WHERE k.person IS NOT NULL", "own": ""}[missing])
	return said.String()
}

// whole is the job. Size answers a query for a number n.
func (m *severalMaker) whole(size func(query string) int) string {
	var tables strings.Builder
	for i, name := range m.names {
		tables.WriteString(m.table(i, name))
	}
	relation := "add-remove"
	if m.replace {
		relation = fmt.Sprintf("replace-one\n  size: %d", size(m.sql.String()+" SELECT count(*) AS n FROM k_persons"))
	}
	columns := ""
	for _, c := range m.folded[:len(m.folded)-1] {
		columns += ", " + c.sql + " AS " + c.name
	}
	if len(m.names) == 3 {
		columns += ", (SELECT count(*) FROM k_grants g WHERE g.person = p.person)::DOUBLE AS given"
	}
	last := m.folded[len(m.folded)-1] // needs the others
	fmt.Fprintf(&m.sql, ",\nj_persons AS (SELECT *, %s AS %s FROM (SELECT p.*%s FROM k_persons p))", last.sql, last.name, columns)
	inside := ""
	if m.population {
		inside = " WHERE t.person IN (SELECT person FROM k_persons)"
	}
	for name, taken := range map[string]string{"visits": "p.age, p.region", "grants": "p.region, p.income"} {
		if name == "visits" || len(m.names) == 3 {
			fmt.Fprintf(&m.sql, ",\nl_%s AS (SELECT t.*, %s FROM k_%s t LEFT JOIN k_persons p USING (person)%s)", name, taken, name, inside)
			if name == "visits" && m.visits == "fold" {
				fmt.Fprintf(&m.sql, ",\nj_visits AS (SELECT person, any_value(region) AS region, sum(cost) AS cost, bool_or(cost > 50)::VARCHAR AS dear FROM l_visits GROUP BY person)")
			} else {
				fmt.Fprintf(&m.sql, ",\nj_%s AS (FROM l_%s)", name, name)
			}
		}
	}
	said := ""
	for i := range 3 {
		said += m.release(i)
	}
	of := map[bool]string{true: "  population: persons\n", false: ""}[m.population]
	strata := map[bool]string{true: "\n  strata: {method: stratified, strata: region, rates: {north: 1, south: 1, west: 1}}", false: ""}[m.stratified()]
	return fmt.Sprintf("version: 1\njob: truth\ndataset:\n  id: truth\n  relation: %s\n  unit: {column: person, name: person}\n%s  tables:\n%s"+
		"budget: {limit: {epsilon: 100000000000}}\nsamples:\n  whole: {method: poisson, rate: 1}%s\nsandbox: \"off\"\nreleases:\n%soutput: {dir: out, formats: [json]}\n", relation, of, &tables, strata, said)
}

// release makes one release and its query.
func (m *severalMaker) release(i int) string {
	from := m.names[i%len(m.names)]
	value := map[string][]string{"persons": {"income", "often", "spent", "most", "index"}, "visits": {"cost"}, "grants": {"amount", "income"}}[from]
	groups := map[string][]string{"persons": {"region", "usual", "seen"}, "visits": {"region"}, "grants": {"region"}}[from]
	if from == "visits" && m.visits == "fold" {
		groups = append(groups, "dear")
	}
	if len(m.names) == 3 && from == "persons" {
		value = append(value, "given")
	}
	x, by := pick(m.Rand, value), pick(m.Rand, groups)
	a := asked{mechanism: pick(m.Rand, []string{"count", "sum", "mean"}), keys: []string{by}, names: 1, span: 6000}
	a.total = a.mechanism != "mean"
	filter, other := pair{"true", "TRUE"}, m.IntN(2) == 0
	whole := from != "visits" || m.visits != "fold" // a condition is on rows before the fold
	switch m.IntN(3) {
	case 0: // an inner join
		if whole {
			filter = pair{"!missing(" + by + ")", by + " IS NOT NULL"}
			other = false
		}
	case 1:
		if whole {
			filter = pair{x + " >= 30", x + " >= 30"}
		}
	}
	group, known := by, by+" IS NOT NULL"
	text := fmt.Sprintf("  - name: r%d\n    table: %s\n    by: [%s]\n    mechanism: %s\n    guarantee: {epsilon: 1000000000}\n", i, from, by, a.mechanism)
	if filter.job != "true" {
		text += fmt.Sprintf("    where: %q\n", filter.job)
	}
	if other && whole { // a unit without visits is in the group of the others, too
		text += "    other: elsewhere\n"
		group, known = fmt.Sprintf("coalesce(%s, 'elsewhere')", by), "TRUE"
	}
	drawn := "TRUE"
	switch {
	case m.stratified() && m.chance(2): // whoever lies in no stratum is not drawn
		text += "    from: strata\n"
		drawn = "person IN (SELECT person FROM k_persons WHERE region IS NOT NULL)"
	case m.chance(4):
		text += "    from: whole\n"
	}
	what := "count(*) AS estimate"
	switch a.mechanism {
	case "sum":
		text += fmt.Sprintf("    params: {column: %s}\n", x)
		what = fmt.Sprintf("coalesce(sum(%s), 0) AS estimate", x)
	case "mean":
		text += fmt.Sprintf("    params: {column: %s}\n", x)
		what = fmt.Sprintf("avg(%s) AS estimate, count(%s) AS count", x, x)
	}
	a.query = fmt.Sprintf("%s\nSELECT %s AS k0, %s FROM j_%s WHERE %s AND %s AND %s GROUP BY ALL", &m.sql, group, what, from, filter.sql, known, drawn)
	m.releases = append(m.releases, a)
	return text
}

// stratified reports whether the job may draw by stratum: of a population, with no cap, under add-remove.
func (m *severalMaker) stratified() bool {
	return m.population && !m.replace && m.visits == "fold" && len(m.names) == 2
}

// chance is true in one of so many cases.
func (m *severalMaker) chance(of int) bool { return m.IntN(of) == 0 }
