package truth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// source is a table, and what jobs may say of it.
type source struct {
	name, path, unit string
	columns          []column
	lookupPath       string // a public table with the values of a category
	lookupKey        string
	looked           []column
	slice            column
	mostRows         int // of a unit
}

// question is a random job, and a query with the same answer for each of its releases.
type question struct {
	mode     string
	dataset  string
	releases []asked
	// The queries for the number of rows and of units.
	rows, units string
}

// asked is a release and its query: the columns of keys tell its rows apart. The other ones hold what the release must
// hold under the same names; where there are "least" and "most", its estimate must lie between them.
type asked struct {
	yaml, query, mechanism string
	keys                   []string
	total                  bool    // an empty cell has 0, not just any value
	span                   float64 // how far a value reaches
	names                  int     // how many of the keys are group columns
}

// maker makes the parts of a question.
type maker struct {
	writer
	source *source
	derive strings.Builder
	sql    strings.Builder // the tables that the queries start with
	last   string          // the newest of these tables
	tables int
	mode   string
}

// table adds a table to those that the queries start with.
func (m *maker) table(query string, args ...any) {
	m.tables++
	next := "t" + strconv.Itoa(m.tables)
	fmt.Fprintf(&m.sql, map[bool]string{true: "WITH %s AS MATERIALIZED (%s)", false: ",\n%s AS MATERIALIZED (%s)"}[m.tables == 1], next, fmt.Sprintf(query, args...))
	m.last = next
}

func (m *maker) newQuestion() question {
	s := m.source
	m.mode = pick(m.Rand, []string{"rows", "rows", "fold", "fold", "fold", "cap", "each"})
	q := question{mode: m.mode}
	var said strings.Builder
	where := ""
	if m.chance(0.2) {
		v := pick(m.Rand, s.slice.domain)
		fmt.Fprintf(&said, "  slice: {column: %s, is: %s}\n", s.slice.name, v)
		where = " WHERE " + s.slice.name + " = " + quoted(v)
	}
	said.WriteString("  columns:\n" + m.declare(where))
	if m.chance(0.5) && slices.ContainsFunc(m.columns, func(c column) bool { return c.name == s.lookupKey }) {
		said.WriteString(m.lookup())
	}
	for i := range m.IntN(4) {
		m.derived(fmt.Sprintf("d%d", i), false)
	}
	q.rows, q.units = m.sql.String()+" SELECT count(*) AS n FROM "+m.last, m.sql.String()+" SELECT count(DISTINCT "+s.unit+") AS n FROM "+m.last
	before, rows, last, tables := m.sql.String(), slices.Clone(m.columns), m.last, m.tables
	var folds []fold
	if m.mode == "fold" {
		folds = m.folds()
		fmt.Fprintf(&said, "  fold: {%s}\n", joined(folds, func(f fold) string { return f.name + ": " + f.by }))
	}
	// Columns that are computed from the folded values: what they are, and how each query computes them.
	var later []string
	if m.mode == "fold" {
		m.columns = nil
		for _, f := range folds {
			f.partial = false
			m.columns = append(m.columns, f.column)
		}
		for i := range m.IntN(3) {
			if len(m.of("number")) > 0 {
				later = append(later, m.derived(fmt.Sprintf("e%d", i), true))
			}
		}
	}
	for i := range 2 {
		m.sql, m.last, m.tables = strings.Builder{}, last, tables
		m.sql.WriteString(before)
		head := ""
		if m.chance(0.6) {
			w := writer{m.Rand, rows}
			c := w.condition(2)
			head += "    where: " + strconv.Quote(c.job) + "\n"
			m.table("SELECT * FROM %s WHERE %s", m.last, c.sql)
		}
		if m.mode == "fold" {
			m.table("SELECT %s, %s FROM %s GROUP BY ALL", s.unit, joined(folds, func(f fold) string { return f.sql() + " AS " + f.name }), m.last)
			for _, l := range later {
				m.table("SELECT *, %s FROM %s", l, m.last)
			}
			if m.chance(0.3) {
				c := m.condition(1)
				head += "    having: " + strconv.Quote(c.job) + "\n"
				m.table("SELECT * FROM %s WHERE %s", m.last, c.sql)
			}
		}
		a := m.release()
		a.yaml = fmt.Sprintf("  - name: r%d\n%s%s", i, head, a.yaml)
		q.releases = append(q.releases, a)
	}
	if m.derive.Len() > 0 {
		said.WriteString("  derive:\n" + m.derive.String())
	}
	q.dataset = said.String()
	return q
}

func joined[T any](of []T, text func(T) string) string {
	var out []string
	for _, x := range of {
		out = append(out, text(x))
	}
	return strings.Join(out, ", ")
}

// declare declares some columns of the table, and adds the table in which they are as the job says.
func (m *maker) declare(where string) string {
	var yaml, sql strings.Builder
	m.columns = nil
	for _, c := range m.source.columns {
		if len(c.domain) > 1 && m.chance(0.3) { // the values that are left out count as missing
			m.Shuffle(len(c.domain), func(i, k int) { c.domain[i], c.domain[k] = c.domain[k], c.domain[i] })
			c.domain = slices.Clone(c.domain[:1+m.IntN(len(c.domain))])
		}
		said := "type: " + c.kind
		switch c.kind {
		case "number":
			if m.chance(0.5) {
				c.upper = c.lower + float64(int((c.upper-c.lower)/3))
			}
			said = fmt.Sprintf("lower: %s, upper: %s, missing: drop", digits(c.lower), digits(c.upper))
			if m.mode != "fold" && m.chance(0.2) {
				c.impute = digits(c.lower + 1)
				said = strings.Replace(said, "drop", "{impute: "+c.impute+"}", 1)
			}
			fmt.Fprintf(&sql, ", %s::DOUBLE AS %s", c.name, c.name)
		case "category":
			said = fmt.Sprintf("domain: [%s], missing: drop, outside: drop", joined(c.domain, strconv.Quote))
			other := "NULL"
			if m.chance(0.2) {
				v := pick(m.Rand, c.domain)
				said, other = strings.Replace(said, "outside: drop", fmt.Sprintf("outside: {impute: %q}", v), 1), quoted(v)
			}
			fmt.Fprintf(&sql, ", CASE WHEN %s IN (%s) THEN %s WHEN %s IS NOT NULL THEN %s END AS %s", c.name, joined(c.domain, quoted), c.name, c.name, other, c.name)
		default:
			fmt.Fprintf(&sql, ", %s", c.name)
		}
		fmt.Fprintf(&yaml, "    %s: {%s}\n", c.name, said)
		m.columns = append(m.columns, c)
	}
	unit := m.source.unit
	m.table("SELECT %s%s FROM %s%s", unit, sql.String(), m.source.name, where)
	return yaml.String()
}

// lookup adds the columns of a public table.
func (m *maker) lookup() string {
	s := m.source
	var said []string
	for _, c := range s.looked {
		if c.kind == "number" {
			said = append(said, fmt.Sprintf("%s: {lower: %s, upper: %s}", c.name, digits(c.lower), digits(c.upper)))
		} else {
			said = append(said, fmt.Sprintf("%s: {domain: [%s]}", c.name, joined(c.domain, strconv.Quote)))
		}
	}
	names := joined(s.looked, func(c column) string { return "p." + c.name })
	m.table("SELECT t.*, %s FROM %s AS t LEFT JOIN read_csv(%s) AS p ON p.key = t.%s", names, m.last, quoted(s.lookupPath), s.lookupKey)
	m.columns = append(m.columns, s.looked...)
	return fmt.Sprintf("  lookups:\n    public: {path: %s, key: key, match: %s, columns: {%s}}\n", s.lookupPath, s.lookupKey, strings.Join(said, ", "))
}

// derived declares a column and computes it, from rows in a table and from folded values in a text.
func (m *maker) derived(name string, after bool) string {
	c, said, sql := column{name: name}, "", ""
	switch m.IntN(5) {
	case 0:
		p := m.condition(2)
		c.kind, c.domain, said, sql = "bool", []string{"false", "true"}, "as: "+strconv.Quote(p.job), p.sql
	case 1:
		p, domain := m.text()
		c.kind, c.domain, said, sql = "category", domain, "as: "+strconv.Quote(p.job), p.sql
		if m.chance(0.5) {
			c.domain = []string{"many", "few"}
			c.partial, said = true, said+", domain: [many, few]"
		}
	case 2:
		from := pick(m.Rand, m.of("number"))
		c.kind = "category"
		said, sql, c.domain = m.bins(from)
	default:
		p := m.number(2)
		lower := m.IntN(50) - 25
		c.kind, c.lower, c.upper = "number", float64(lower), float64(lower+1+m.IntN(1000))
		said, sql = fmt.Sprintf("as: %q, lower: %s, upper: %s", p.job, digits(c.lower), digits(c.upper)), p.sql
	}
	if after {
		said += ", after: fold"
	} else {
		m.table("SELECT *, %s AS %s FROM %s", sql, name, m.last)
	}
	fmt.Fprintf(&m.derive, "    %s: {%s}\n", name, said)
	m.columns = append(m.columns, c)
	return sql + " AS " + name
}

// bins cuts a number.
func (m *maker) bins(c column) (said, sql string, domain []string) {
	n := 2 + m.IntN(3)
	var edges []float64
	for i := range n + 1 {
		edges = append(edges, float64(int(c.lower+(c.upper-c.lower)*float64(i)/float64(n)/1.3)))
	}
	edges = slices.Compact(edges)
	last := len(edges) - 1
	said = joined(edges, digits)
	sql = "CASE"
	if m.chance(0.4) {
		said = "-inf, " + said
		domain = append(domain, "< "+digits(edges[0]))
		sql += fmt.Sprintf(" WHEN %s < %s THEN %s", c.name, digits(edges[0]), quoted(domain[0]))
	}
	for i := range last {
		end, op := ")", "<"
		if i == last-1 {
			end, op = "]", "<="
		}
		v := "[" + digits(edges[i]) + ", " + digits(edges[i+1]) + end
		domain = append(domain, v)
		sql += fmt.Sprintf(" WHEN %s >= %s AND %s %s %s THEN %s", c.name, digits(edges[i]), c.name, op, digits(edges[i+1]), quoted(v))
	}
	if m.chance(0.4) {
		said += ", inf"
		v := "> " + digits(edges[last])
		domain = append(domain, v)
		sql += fmt.Sprintf(" WHEN %s > %s THEN %s", c.name, digits(edges[last]), quoted(v))
	}
	return fmt.Sprintf("bins: %s, edges: [%s]", c.name, said), sql + " END", domain
}

// fold is a rule that makes one value of a unit out of a column.
type fold struct {
	column
	by string
}

// folds folds all columns that can be.
func (m *maker) folds() []fold {
	var out []fold
	for _, c := range m.of("number", "category", "bool") {
		by := map[string][]string{"number": {"sum", "mean", "min", "max", "count"}, "category": {"mode", "min", "max"}, "bool": {"any", "all", "mode"}}
		out = append(out, fold{c, pick(m.Rand, by[c.kind])})
	}
	return out
}

func (f fold) sql() string {
	domain := "[" + joined(f.domain, quoted) + "]"
	if f.kind == "bool" {
		domain = "[false, true]"
	}
	at := fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN list_position(%s, %s) END", f.value(), domain, f.name)
	switch {
	case f.kind == "number":
		// The bounds hold for rows too, but for a count; of a sum no row is raised to what is the least of all.
		held := f.column
		switch held.impute = ""; f.by {
		case "count":
			return fmt.Sprintf("count(%s)::DOUBLE", f.name)
		case "sum":
			held.lower, held.upper = min(held.lower, 0), max(held.upper, 0)
		}
		return fmt.Sprintf("%s(%s)::DOUBLE", strings.Replace(f.by, "mean", "avg", 1), clipped(f.name, held))
	case f.by == "any":
		return "bool_or(" + f.name + ")"
	case f.by == "all":
		return "bool_and(" + f.name + ")"
	case f.by == "mode":
		return fmt.Sprintf("%s[list_sort(list_transform(map_entries(histogram(%s)), lambda e: {'n': -e.value::BIGINT, 'p': e.key}))[1].p]", domain, at)
	}
	return fmt.Sprintf("%s[%s(%s)]", domain, f.by, at)
}

// clipped is a value within the bounds of its column.
func clipped(value string, c column) string {
	v := fmt.Sprintf("CASE WHEN (%s) IS NOT NULL THEN least(greatest((%s), %s), %s) END", value, value, digits(c.lower), digits(c.upper))
	if c.impute != "" {
		return "coalesce(" + v + ", " + c.impute + ")"
	}
	return "(" + v + ")"
}
