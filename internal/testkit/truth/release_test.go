package truth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// release makes a release of the newest table.
func (m *maker) release() asked {
	var a asked
	numbers, categories := m.of("number"), m.of("category", "bool")
	var by []column
	cells := 1
	for range m.IntN(3) {
		if len(categories) == 0 {
			break
		}
		c := pick(m.Rand, categories)
		if cells *= len(c.domain); cells > 60 || len(by) == 1 && by[0].name == c.name {
			break
		}
		by = append(by, c)
		a.keys = append(a.keys, c.name)
	}
	a.names = len(a.keys)
	groups, some, listed := "", "TRUE", ""
	for i, c := range by {
		groups += fmt.Sprintf("%s::VARCHAR AS k%d, ", c.value(), i)
		some += fmt.Sprintf(" AND %s IS NOT NULL", c.value())
		listed += fmt.Sprintf("k%d, ", i)
	}
	var yaml strings.Builder
	if len(by) > 0 {
		fmt.Fprintf(&yaml, "    by: [%s]\n", strings.Join(a.keys, ", "))
		if m.chance(0.3) {
			yaml.WriteString("    other: elsewhere\n")
			groups = ""
			for i, c := range by {
				groups += fmt.Sprintf("CASE WHEN %s THEN %s::VARCHAR ELSE 'elsewhere' END AS k%d, ", some, c.name, i)
			}
			some = "TRUE"
		}
	}
	// from is the table with its group columns and the values of some columns.
	from := func(values ...string) string {
		out := ""
		for i, v := range values {
			out += fmt.Sprintf(", %s AS y%d", v, i)
		}
		return fmt.Sprintf("(SELECT %s%s%s FROM %s WHERE %s)", groups, m.source.unit, out, m.last, some)
	}
	query := func(what, from string) string {
		return fmt.Sprintf("SELECT %s%s FROM %s GROUP BY ALL", listed, what, from)
	}
	known := func(c column) string { return clipped(c.name, c) }
	kinds := []string{"count", "sum", "mean", "means", "proportion", "shares", "ratio", "histogram", "variance", "sd"}
	switch m.mode {
	case "rows", "fold":
		kinds = append(kinds, "distinct")
		if cells <= 12 {
			kinds = append(kinds, "median", "quantiles")
		}
	case "each":
		kinds = []string{"distinct", "count"}
	}
	var x, z column
	if len(numbers) > 0 {
		x, z = pick(m.Rand, numbers), pick(m.Rand, numbers)
		a.span = max(1, x.upper, -x.lower, z.upper, -z.lower)
	} else {
		kinds = []string{"count"}
	}
	params := ""
	a.mechanism = pick(m.Rand, kinds)
	switch a.mechanism {
	case "ratio":
		if z.lower < 0 || z.name == x.name {
			a.mechanism = "sum"
		}
	case "shares":
		if len(categories) == 0 {
			a.mechanism = "mean"
		}
	case "means":
		if x.name == z.name {
			a.mechanism = "mean"
		}
	}
	switch kind := a.mechanism; kind {
	case "count", "distinct":
		a.total = true
		a.query = query("count(*) AS estimate", from())
		if m.mode == "each" {
			a.query = query("count(DISTINCT "+m.source.unit+") AS estimate", from())
		}
	case "sum":
		a.total = true
		params = "column: " + x.name
		a.query = query("coalesce(sum(y0), 0) AS estimate", from(known(x)))
	case "mean":
		params = "column: " + x.name
		a.query = query("avg(y0) AS estimate, count(y0) AS count", from(known(x)))
	case "means":
		a.mechanism, params = "mean", fmt.Sprintf("columns: [%s, %s]", x.name, z.name)
		a.keys = append(a.keys, "column")
		values := from(known(x), known(z))
		a.query = query(quoted(x.name)+" AS k, avg(y0) AS estimate, count(y0) AS count", values) + " UNION ALL " +
			query(quoted(z.name)+" AS k, avg(y1) AS estimate, count(y1) AS count", values)
	case "proportion":
		lower := digits(float64(int(x.lower + (x.upper-x.lower)*m.Float64())))
		params = fmt.Sprintf("column: %s, from: %s", x.name, lower)
		a.query = query(fmt.Sprintf("avg((y0 >= %s)::INT) AS estimate, count(y0) AS count", lower), from(known(x)))
		a.span = 1
	case "shares":
		c := pick(m.Rand, categories)
		v := pick(m.Rand, c.domain)
		a.mechanism, params = "proportion", fmt.Sprintf("column: %s, values: [%q]", c.name, v)
		a.query = query(fmt.Sprintf("avg((y0 = %s)::INT) AS estimate, count(y0) AS count", quoted(v)), from(c.value()+"::VARCHAR"))
		a.span = 1
	case "ratio":
		params = fmt.Sprintf("numerator: %s, denominator: %s", x.name, z.name)
		both := "CASE WHEN %s IS NOT NULL AND %s IS NOT NULL THEN %s END"
		up, down := known(x), known(z)
		a.query = query("sum(y0) / nullif(sum(y1), 0) AS estimate, coalesce(sum(y0), 0) AS numerator, coalesce(sum(y1), 0) AS denominator",
			from(fmt.Sprintf(both, up, down, up), fmt.Sprintf(both, up, down, down)))
	case "histogram":
		edges := slices.Compact(m.edges(x))
		params = fmt.Sprintf("column: %s, edges: [%s]", x.name, joined(edges, digits))
		bin := "CASE"
		for i := range len(edges) - 1 {
			op := map[bool]string{true: "<=", false: "<"}[i == len(edges)-2]
			bin += fmt.Sprintf(" WHEN %[1]s >= %[2]s AND %[1]s %[3]s %[4]s THEN %[2]s::DOUBLE", known(x), digits(edges[i]), op, digits(edges[i+1]))
		}
		a.keys, a.total = append(a.keys, "lower"), true
		a.query = fmt.Sprintf("SELECT * FROM (%s) WHERE lower IS NOT NULL", query("y0 AS lower, count(*) AS estimate", from(bin+" END")))
	case "variance", "sd":
		params = "column: " + x.name
		a.query = query(map[string]string{"variance": "var_pop", "sd": "stddev_pop"}[kind]+"(y0) AS estimate, avg(y0) AS mean, count(y0) AS count", from(known(x)))
		a.span = x.upper - x.lower
		a.span *= a.span
	case "median", "quantiles":
		a.mechanism = "median"
		points := int(x.upper-x.lower) + 1
		ranks := []float64{0.5}
		if kind == "quantiles" {
			ranks = []float64{0.25, 0.9}
		}
		params = fmt.Sprintf("column: %s, points: %d, quantiles: [%s]", x.name, points, joined(ranks, digits))
		a.keys = append(a.keys, "quantile")
		var parts []string
		for _, r := range ranks { // any number between the neighbours of the wanted one is as good
			parts = append(parts, fmt.Sprintf("SELECT %[1]s%[2]s::DOUBLE AS k, s[greatest(1, ceil(%[2]s * len(s))::INT - 1)] - 1 AS least, s[least(len(s), ceil(%[2]s * len(s))::INT + 1)] + 1 AS most FROM (%[3]s) WHERE len(s) > 0",
				listed, digits(r), query("list_sort(list(y0) FILTER (WHERE y0 IS NOT NULL)) AS s", from(known(x)))))
		}
		a.query = strings.Join(parts, " UNION ALL ")
	}
	// What is compared within fixed bounds, such as the numerator of a ratio, then has noise of less than a thousandth of
	// the bound, also where a unit has many rows; estimates are compared within 40 standard deviations of theirs.
	fmt.Fprintf(&yaml, "    mechanism: %s\n    params: {%s}\n    guarantee: {epsilon: 1000000000}\n", a.mechanism, params)
	if m.chance(0.15) {
		yaml.WriteString("    from: whole\n")
	}
	a.yaml, a.query = yaml.String(), m.sql.String()+"\n"+a.query
	return a
}

func (m *maker) edges(c column) []float64 {
	var out []float64
	for i := range 5 {
		out = append(out, c.lower+float64(int((c.upper-c.lower)*float64(i)/4.5)))
	}
	return out
}

// whole is the job with a question, for a table with so many rows and units.
func (q *question) whole(rng *rand.Rand, s *source, id string, rows, units int) string {
	if q.mode != "rows" {
		rows = units
	}
	about := "relation: add-remove"
	if rng.IntN(5) < 2 {
		about = "relation: replace-one\n  size: " + strconv.Itoa(rows)
	}
	switch unit := fmt.Sprintf("\n  unit: {column: %s, name: unit}", s.unit); q.mode {
	case "fold":
		about += unit
	case "cap": // no unit has so many rows
		about += fmt.Sprintf("%s\n  cap: {groups: %d, rows: %d, binds: never}", unit, s.mostRows, s.mostRows)
	case "each": // one row of a unit in each group: which one does not matter to the number of units
		about += fmt.Sprintf("%s\n  cap: {groups: %d, rows: 1}", unit, s.mostRows)
	}
	out := fmt.Sprintf(`version: 1
job: truth
dataset:
  id: %s
  source: {path: %s}
  %s
%sbudget: {limit: {epsilon: 100000000000}}
samples: {whole: {method: poisson, rate: 1}}
sandbox: "off"
releases:
`, id, s.path, about, q.dataset)
	for _, r := range q.releases {
		out += r.yaml
	}
	return out + "output: {dir: out, formats: [json]}\n"
}
