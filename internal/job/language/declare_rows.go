package language

import (
	"fmt"
	"math/big"
	"sync"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy/rational"
)

var lookup = sync.OnceValue(func() kind[job.Lookup] {
	return object(
		key("path", filePath(), func(l *job.Lookup) *string { return &l.Path },
			"A public CSV file with a header, relative to the job file, not made from the data. ${NAME} is replaced", required(),
			example("zones.csv"), out("the content of the file counts")),
		key("key", text(), func(l *job.Lookup) *string { return &l.Key },
			"The column of the CSV file that is looked up, each value in one line", required(), example("zone")),
		key("match", text(), func(l *job.Lookup) *string { return &l.Match },
			"The column of the data that holds the key, if it has another name", example("pickup_zone")),
		key("public", flag(), func(l *job.Lookup) *bool { return &l.Public },
			"Everybody may know who is in the file, and all that it says of them. Needed for a key that is the column of the unit",
			otherwise("false"), out("it promises, and asks for nothing else")),
		key("columns", named(lookupColumn(), "NAME", checkText, func(c *job.Column, n string) { c.Name = n }),
			func(l *job.Lookup) *[]job.Column { return &l.Columns },
			"The columns of the CSV file that the rows get: numbers with bounds, categories with a domain", required()),
	)
})

func lookupColumn() kind[job.Column] {
	bound := amount(span{})
	return object(
		key("heading", text(), func(c *job.Column) *string { return &c.Heading },
			"The heading of the column in the file, if it has another name", example("Borough name")),
		key("lower", bound, func(c *job.Column) **big.Rat { return &c.Lower },
			"The lower bound of a number", example("0")),
		key("upper", bound, func(c *job.Column) **big.Rat { return &c.Upper },
			"The upper bound of a number", example("100")),
		key("domain", distinct(list(value(), 1)), func(c *job.Column) *[]string { return &c.Domain },
			"The list of the values of a category", example("[Bronx, Queens]")),
		key("missing", handling(job.Drop), func(c *job.Column) *job.Handling { return &c.Missing },
			"What becomes of a row whose key is not in the file", otherwise(string(job.Drop))),
	)
}

// derivedOf returns the column's derivation, made if there is none.
func derivedOf(c *job.Column) *job.Derived {
	if c.Derived == nil {
		c.Derived = &job.Derived{}
	}
	return c.Derived
}

var derived = sync.OnceValue(func() kind[job.Column] {
	bound := amount(span{})
	return object(
		key("as", expression(), func(c *job.Column) *job.Expression { return &derivedOf(c).As },
			"An expression over the other columns (docs/expressions.md)", example(`"miles / hours"`)),
		key("bins", text(), func(c *job.Column) *string { return &derivedOf(c).Bins.Column },
			"A column of numbers, dates or timestamps that is cut at the edges", example("age")),
		key("edges", list(edge(), 1), func(c *job.Column) *[]job.Edge { return &derivedOf(c).Edges },
			"Ascending numbers or dates. A bin holds its lower edge, the last one its upper edge too (docs/expressions.md)",
			example("[0, 18, 35, 65, inf]")),
		key("lower", bound, func(c *job.Column) **big.Rat { return &c.Lower },
			"The public lower bound of a number. Smaller values are raised to it", example("0")),
		key("upper", bound, func(c *job.Column) **big.Rat { return &c.Upper },
			"The public upper bound of a number. Larger values are lowered to it", example("100")),
		bindsBounds(),
		key("bounds", optional(privateBounds()), func(c *job.Column) **job.Bounds { return &c.Bounds },
			"Replaces lower and upper"),
		measureOfBounds(),
		key("domain", distinct(list(value(), 1)), func(c *job.Column) *[]string { return &c.Domain },
			"The public list of the values of a text. Other values are missing", example("[low, high]")),
		key("missing", handling(job.Drop), func(c *job.Column) *job.Handling { return &c.Missing },
			"What becomes of a missing value, such as the result of a division by zero", otherwise(string(job.Drop))),
		key("after", choice("rows", "fold"), func(c *job.Column) *string { return &derivedOf(c).After },
			"Whether the column is computed from each row, or from the folded values of each unit", otherwise("rows")),
	)
})

// edge is a number, as near as a float64 is, or a date, or the end of an open bin.
func edge() kind[job.Edge] {
	forms := schema{"anyOf": []schema{span{}.schema("number"), {"type": "string", "pattern": rational.Pattern},
		{"type": "string", "format": "date"}, {"enum": []string{"-inf", "inf"}}}}
	return scalar("number or date", forms, func(text string) (job.Edge, error) {
		if text == "-inf" || text == "inf" {
			return job.Edge{Open: text}, nil
		}
		if days, ok := formula.ParseDate(text); ok {
			return job.Edge{At: float64(days), Day: true}, nil
		}
		r, err := ParseAmount(text)
		if err != nil {
			return job.Edge{}, fmt.Errorf("must be a number, a date such as 2026-01-31, -inf or inf, not %s", problem.Shown(text))
		}
		x, _ := r.Float64()
		return job.Edge{At: x}, nil
	})
}

func slice() kind[job.Slice] {
	return object(
		key("column", text(), func(s *job.Slice) *string { return &s.Column },
			"The public column that says to which slice a row belongs", required(), example("month")),
		key("is", value(), func(s *job.Slice) *string { return &s.Is },
			"The value of that column in the rows of this job, by which the ledger knows the slice, however it is written",
			required(), example(`"2026-10"`)),
		key("future", flag(), func(s *job.Slice) *bool { return &s.Future },
			"The slice may be a day, month or quarter that has not begun, such as a month of bookings", otherwise("false"),
			out("it lets a run begin, and asks for nothing else")),
	)
}

func foldBy() kind[job.FoldBy] {
	return choice(job.FoldSum, job.FoldMean, job.FoldMin, job.FoldMax, job.FoldCount, job.FoldAny, job.FoldAll, job.FoldMode)
}

func ownCap() kind[job.Cap] {
	return object(
		key("groups", count(), func(c *job.Cap) *int64 { return &c.Groups },
			"As in dataset.cap", example("5")),
		key("rows", count(), func(c *job.Cap) *int64 { return &c.Rows },
			"As in dataset.cap", example("4")),
	)
}

func capped() kind[job.Cap] {
	return object(
		key("groups", count(), func(c *job.Cap) *int64 { return &c.Groups },
			"The largest number of groups of a release in which a unit counts", otherwise("1"), example("3")),
		key("rows", capRows(), func(c *job.Cap) *job.CapRows { return &c.CapRows },
			"The largest number of rows of a unit that count in each group, or in all if a release has no groups; or a private choice of it",
			required(), example("4")),
		key("measure", optional(measuredCap()), func(c *job.Cap) **job.Measure { return &c.Measure },
			"Pays for a release that says how much the cap leaves out (docs/mechanisms/unit_rows.md)", example(`{epsilon: "0.05", at_most: 50}`)),
		binds(func(c *job.Cap) *job.Binds { return &c.Binds }, "the cap"),
	)
}

// binds declares the key of a limit that says what it is to the values.
func binds[T any](at func(*T) *job.Binds, what string) field[T] {
	return key("binds", choice(job.BindsNever, job.BindsDefinition), at,
		"never promises that "+what+" leaves nothing out; definition says that it is part of what is published (docs/limits.md)",
		example("definition"))
}

// bindsBounds is binds for the bounds of a column.
func bindsBounds() field[job.Column] {
	return key("binds", choice(job.BindsNever, job.BindsUpper, job.BindsDefinition), func(c *job.Column) *job.Binds { return &c.Binds },
		"never promises that no value lies beyond the bounds, upper that none lies below lower; definition makes them part of what is "+
			"published (docs/limits.md)", example("upper"))
}
