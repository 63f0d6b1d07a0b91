package truth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// column is a column as a job declares it.
type column struct {
	name         string
	kind         string   // number, category, bool, text, date, timestamp
	lower, upper float64  // of a number
	domain       []string // of a category
	partial      bool     // the column may hold other values, which expressions see
	impute       string   // what takes the place of a missing value, "" for nothing
}

// pair is an expression in the language of jobs, and the same in SQL.
type pair struct{ job, sql string }

// writer writes random expressions over columns.
type writer struct {
	*rand.Rand
	columns []column
}

func (w *writer) of(kinds ...string) []column {
	return slices.DeleteFunc(slices.Clone(w.columns), func(c column) bool { return !slices.Contains(kinds, c.kind) })
}

func pick[T any](w *rand.Rand, of []T) T { return of[w.IntN(len(of))] }

func (w *writer) chance(p float64) bool { return w.Float64() < p }

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func digits(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (w *writer) literal(c column) pair {
	x := digits(float64(int(c.lower + w.Float64()*(c.upper-c.lower))))
	return pair{x, "(" + x + "::DOUBLE)"}
}

// number is an expression of a number. What is not finite is missing.
func (w *writer) number(depth int) pair {
	columns := w.of("number")
	if depth == 0 || w.chance(0.3) {
		c := pick(w.Rand, columns)
		return pair{c.name, c.name}
	}
	finite := func(job, sql string) pair {
		return pair{"(" + job + ")", "fin(" + sql + ")"}
	}
	a := w.number(depth - 1)
	switch w.IntN(12) {
	case 0, 1, 2, 3:
		op, b := pick(w.Rand, []string{"+", "-", "*", "/", "%"}), w.number(depth-1)
		if w.chance(0.5) {
			b = w.literal(pick(w.Rand, columns))
		}
		return finite(a.job+" "+op+" "+b.job, a.sql+" "+op+" "+b.sql)
	case 4:
		f, b := pick(w.Rand, []string{"min", "max"}), w.number(depth-1)
		sql := map[string]string{"min": "least", "max": "greatest"}[f]
		return pair{f + "(" + a.job + ", " + b.job + ")", fmt.Sprintf("(CASE WHEN (%s) IS NOT NULL AND (%s) IS NOT NULL THEN %s(%s, %s) END)", a.sql, b.sql, sql, a.sql, b.sql)}
	case 5, 6:
		f := pick(w.Rand, []string{"abs", "floor", "ceil", "round", "sqrt"})
		if f == "sqrt" {
			return pair{"sqrt(" + a.job + ")", "(CASE WHEN (" + a.sql + ") >= 0 THEN sqrt(" + a.sql + ") END)"}
		}
		return pair{f + "(" + a.job + ")", f + "(" + a.sql + ")"}
	case 7, 8:
		c, b := w.condition(depth-1), w.number(depth-1)
		return pair{"(" + c.job + " ? " + a.job + " : " + b.job + ")", fmt.Sprintf("(CASE WHEN %s THEN %s WHEN NOT %s THEN %s END)", c.sql, a.sql, c.sql, b.sql)}
	case 9:
		if texts := w.of("text", "category"); len(texts) > 0 {
			c := pick(w.Rand, texts)
			switch w.IntN(3) {
			case 0: // a text that is no number, or no day, is missing
				return pair{"number(" + c.name + ")", "fin(try_cast(" + c.name + " AS DOUBLE))"}
			case 1:
				return pair{"month(date(" + c.name + "))", "month(try_cast(" + c.name + " AS DATE))::DOUBLE"}
			}
			return pair{"size(" + c.name + ")", "length(" + c.name + ")::DOUBLE"}
		}
	case 10:
		if bools := w.of("bool"); len(bools) > 0 {
			c := pick(w.Rand, bools)
			return pair{"number(" + c.name + ")", c.name + "::INT::DOUBLE"}
		}
	case 11:
		if days := w.of("date", "timestamp"); len(days) > 0 {
			c := pick(w.Rand, days)
			f := pick(w.Rand, []string{"year", "month", "day", "weekday", "days"})
			if c.kind == "timestamp" && w.chance(0.3) {
				return pair{"hour(" + c.name + ")", "hour(" + c.name + ")::DOUBLE"}
			}
			if f == "days" {
				return pair{"days_between(date('2001-02-10'), " + c.name + ")", "date_diff('day', DATE '2001-02-10', " + c.name + "::DATE)::DOUBLE"}
			}
			return pair{f + "(" + c.name + ")", strings.Replace(f, "weekday", "isodow", 1) + "(" + c.name + ")::DOUBLE"}
		}
	}
	return a
}

// condition is an expression that is true, false or missing.
func (w *writer) condition(depth int) pair {
	if depth > 0 && w.chance(0.5) {
		a, b := w.condition(depth-1), w.condition(depth-1)
		switch w.IntN(3) {
		case 0:
			return pair{"(" + a.job + " && " + b.job + ")", "(" + a.sql + " AND " + b.sql + ")"}
		case 1:
			return pair{"(" + a.job + " || " + b.job + ")", "(" + a.sql + " OR " + b.sql + ")"}
		}
		return pair{"!" + a.job, "(NOT " + a.sql + ")"}
	}
	switch c := pick(w.Rand, w.columns); {
	case w.chance(0.1):
		return pair{"missing(" + c.name + ")", "(" + c.name + " IS NULL)"}
	case c.kind == "bool":
		return pair{c.name, c.name}
	case c.kind == "category" && w.chance(0.5):
		some := slices.Clone(c.domain)
		w.Shuffle(len(some), func(i, k int) { some[i], some[k] = some[k], some[i] })
		some = some[:1+w.IntN(len(some))]
		var job, sql []string
		for _, s := range some {
			job, sql = append(job, strconv.Quote(s)), append(sql, quoted(s))
		}
		return pair{"(" + c.name + " in [" + strings.Join(job, ", ") + "])", "(" + c.name + " IN (" + strings.Join(sql, ", ") + "))"}
	case c.kind == "category":
		op, v := pick(w.Rand, []string{"==", "!="}), pick(w.Rand, c.domain)
		return pair{"(" + c.name + " " + op + " " + strconv.Quote(v) + ")", "(" + c.name + " " + op + " " + quoted(v) + ")"}
	case c.kind == "text":
		if letter := string(rune('A' + w.IntN(26))); w.chance(0.5) {
			f := pick(w.Rand, []string{"startsWith", "endsWith", "contains"})
			sql := map[string]string{"startsWith": "starts_with", "endsWith": "ends_with", "contains": "contains"}[f]
			return pair{fmt.Sprintf("%s.%s('%s')", c.name, f, letter), fmt.Sprintf("%s(%s, '%s')", sql, c.name, letter)}
		} else {
			op := pick(w.Rand, []string{"<", "<=", ">", ">="})
			return pair{fmt.Sprintf("(%s %s '%s')", c.name, op, letter), fmt.Sprintf("(%s %s '%s')", c.name, op, letter)}
		}
	case c.kind == "date" || c.kind == "timestamp":
		day := fmt.Sprintf("2001-%02d-%02d", 1+w.IntN(6), 1+w.IntN(28))
		return pair{fmt.Sprintf("(%s < %s('%s'))", c.name, c.kind, day), fmt.Sprintf("(%s < %s '%s')", c.name, c.kind, day)}
	}
	c, op := pick(w.Rand, w.of("number")), pick(w.Rand, []string{"<", "<=", ">", ">=", "==", "!="})
	a, b := pair{c.name, c.name}, w.literal(c)
	switch {
	case w.chance(0.3):
		a = w.number(depth)
	case w.chance(0.3):
		b = w.number(depth)
	}
	return pair{"(" + a.job + " " + op + " " + b.job + ")", "(" + a.sql + " " + op + " " + b.sql + ")"}
}

// text is an expression whose values are all known.
func (w *writer) text() (pair, []string) {
	a, b := w.condition(1), w.condition(0)
	return pair{fmt.Sprintf("%s ? 'few' : %s ? 'some' : 'many'", a.job, b.job),
		fmt.Sprintf("CASE WHEN %[1]s THEN 'few' WHEN NOT %[1]s THEN CASE WHEN %[2]s THEN 'some' WHEN NOT %[2]s THEN 'many' END END", a.sql, b.sql)}, []string{"few", "some", "many"}
}

// value is the column as mechanisms and groups see it.
func (c *column) value() string {
	if c.partial {
		return fmt.Sprintf("(CASE WHEN %s IN (%s) THEN %s END)", c.name, joined(c.domain, quoted), c.name)
	}
	return c.name
}
