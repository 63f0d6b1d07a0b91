package language

import (
	"maps"
	"math/big"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/privacy"
)

func dataset() kind[job.Dataset] {
	return object(append(datasetKeys(),
		key("tables", named(dataTable(), "NAME", checkName, func(t *job.DataTable, n string) { t.Name = n }),
			func(d *job.Dataset) *[]job.DataTable { return &d.Tables },
			"Several private tables that are joined by the unit, by name, in place of source and columns (docs/how-to/several-tables.md)"))...)
}

// datasetKeys are the keys of a data set except tables, of which a table has some.
func datasetKeys() []field[job.Dataset] {
	return []field[job.Dataset]{
		key("id", pattern("1 to 200 of the characters A-Z a-z 0-9 . _ -, the first a letter or digit", `^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`),
			func(d *job.Dataset) *string { return &d.ID },
			"The name of the budget account. The same data must have the same id", required(), example("ca-schools-2000")),
		key("source", source(), func(d *job.Dataset) *job.Source { return &d.Source },
			"Where the table is. A job says this key, or tables"),
		key("relation", relation(), func(d *job.Dataset) *privacy.Relation { return &d.Relation },
			"replace-one if the number of units is public, add-remove if it is secret", required(), example("replace-one")),
		key("size", count(), func(d *job.Dataset) *int64 { return &d.Size },
			"The public number of units. Required under replace-one, where the run compares it with the table", example("6194")),
		key("at_least", count(), func(d *job.Dataset) *int64 { return &d.AtLeast },
			"A public lower bound on the number of units, under add-remove. A sample of fixed size needs it", example("5000")),
		key("unit", unit(), func(d *job.Dataset) *job.Unit { return &d.Key },
			"The unit of privacy. A mapping names the column in which the units stand", otherwise(job.UnitRow),
			example("{column: household_id, name: household, rows: 1}")),
		key("unit_name", unitWords(), func(d *job.Dataset) *job.UnitWords { return &d.Called },
			"What the job calls a row. Nothing checks it, so the report still promises “any one row”", example("school"),
			out("words of the report")),
		key("columns", named(column(), "NAME", checkText, func(c *job.Column, n string) { c.Name = n }),
			func(d *job.Dataset) *[]job.Column { return &d.Columns },
			"The columns that mechanisms and expressions may use: numbers with bounds, categories with a domain, "+
				"others with a type").with(func(d *job.Dataset) any {
			return factsByName(column(), inFile(d))
		}),
		key("lookups", named(lookup(), "NAME", checkName, func(l *job.Lookup, n string) { l.Name = n }),
			func(d *job.Dataset) *[]job.Lookup { return &d.Lookups },
			"Public tables that add columns to the rows, by name").with(func(d *job.Dataset) any { return lookupFacts(d) }),
		key("derive", named(derived(), "NAME", checkText, func(c *job.Column, n string) { c.Name, c.Derived = n, derivedOf(c) }),
			func(d *job.Dataset) *[]job.Column { return &d.Derive },
			"Columns that are computed from others, by name").with(func(d *job.Dataset) any {
			return factsByName(derived(), derivedFacts(d))
		}),
		key("slice", optional(slice()), func(d *job.Dataset) **job.Slice { return &d.Slice },
			"The job reads one part of the table, such as a month. Each slice has an account of its own"),
		key("fold", byName(foldBy(), "COLUMN", checkText), func(d *job.Dataset) *[]job.Named[job.FoldBy] { return &d.Fold },
			"How the rows of a unit become one row, by column. Bounds hold before and after (docs/limits.md)",
			example("{fare: sum, age: max, borough: mode}")).with(func(d *job.Dataset) any {
			if d.OneRow {
				return nil // it follows
			}
			declared := byName(foldBy(), "COLUMN", checkText)
			return declared.fact(&d.Fold)
		}),
		key("cap", optional(capped()), func(d *job.Dataset) **job.Cap { return &d.Cap },
			"How many rows of a unit count in a release. They are picked at random"),
		key("population", name(), func(d *job.Dataset) *string { return &d.Population },
			"With tables: the one in which every unit has a row. Under replace-one dataset.size counts its units. "+
				"Rows of other units are left out of all tables", example("persons")),
		key("frame", optional(frame()), func(d *job.Dataset) **job.Frame { return &d.Frame },
			"The public list of units that multistage and stratified samples draw from; of a table collected by stages, that of the population",
			out("a frame that differs from the table is refused; that of a population counts by its content")),
		key("collected", optional(collected()), func(d *job.Dataset) **job.Collected { return &d.Collected },
			"Somebody else drew the table from a larger population, as in a survey, and that counts. It must be secret who was drawn"),
		key("weights", optional(weights()), func(d *job.Dataset) **job.Weights { return &d.Weights },
			"The weights of a survey: how many units of the population each row stands for. They are private (docs/weights.md)",
			example("{column: design_weight, at_most: 40}"), out("they count for each release that has them")),
	}
}

// unit is the word row, or a mapping that says which rows belong to one unit.
func unit() kind[job.Unit] {
	word := transform(oneWord("row, or a mapping with column, name and rows", job.UnitRow),
		func(string) (job.Unit, error) { return job.Unit{}, nil })
	return orMapping("row, or mapping", word, object(
		key("column", text(), func(u *job.Unit) *string { return &u.Column },
			"The column that names the unit of a row. It needs no entry under columns", required(), example("household_id")),
		key("name", unitWords(), func(u *job.Unit) *job.UnitWords { return &u.UnitWords },
			"What one unit is called, or a list with its plural: [child, children]", required(), example("household"), out("words of the report")),
		key("rows", oneRow(), func(u *job.Unit) *int64 { return &u.Rows },
			"A unit has one row: the run fails with DATA_UNIT where it has two", example("1")),
		key("missing", choice(job.NoUnitRefuse, job.NoUnitDrop, job.NoUnitOwn), func(u *job.Unit) *job.NoUnit { return &u.Missing },
			"What becomes of a row whose unit is null: refuse asserts that there is none, drop leaves it out, own makes it a unit of its own",
			otherwise(string(job.NoUnitRefuse))),
		key("members", optional(members()), func(u *job.Unit) **job.Members { return &u.Members },
			"A smaller unit inside, of which each row is one: a person in a household. Plan and report say what one costs",
			example("{name: person, table: persons}"), out("no release depends on it")),
		key("groups", byName(count(), "NAME", checkText), func(u *job.Unit) *[]job.Named[int64] { return &u.Groups },
			"How many units belong together at most: the persons of a household. Plan and report say what so many cost",
			example("{household: 8}"), out("no release depends on it")),
	))
}

func members() kind[job.Members] {
	return object(
		key("name", unitName(), func(m *job.Members) *string { return &m.Name }, "What one of them is called", required(), example("person")),
		key("table", name(), func(m *job.Members) *string { return &m.Table }, "With tables: the one of which each row is a member",
			example("persons")),
		key("column", text(), func(m *job.Members) *string { return &m.Column },
			"With tables: its column that names the member, each in one row. Tables without a column of the unit are joined by it: unit: "+
				"{member: …} in them", example("person")),
	)
}

func oneRow() kind[int64] {
	return only(1, "where a unit has several rows, say dataset.fold or dataset.cap")
}

// unitName is a word or a few that stand in the middle of a sentence.
func unitName() kind[string] {
	return pattern("1 to 40 letters, digits, spaces, - and ’, a letter first and no space last", `^\p{L}([\p{L}0-9 ’'-]{0,38}[\p{L}0-9])?$`)
}

// unitWords is a word for a unit, or a list of that word and its plural.
func unitWords() kind[job.UnitWords] {
	word := unitName()
	both := list(word, 2)
	pair := maps.Clone(both.schema)
	pair["maxItems"] = 2
	return kind[job.UnitWords]{label: word.label + "; or a list of two such words", schema: schema{"anyOf": []schema{word.schema, pair}},
		read: func(c *cursor, p lang.Place, into *job.UnitWords) bool {
			if p.Node.Kind != yaml.SequenceNode {
				return word.read(c, p, &into.Name)
			}
			if n := len(p.Node.Content); n != 2 {
				return c.Wrong(p, "write [child, children]", "must be a word, or a list of the word and its plural, not a list of %d", n)
			}
			var words []string
			if both.read(c, p, &words) {
				into.Name, into.Plural = words[0], words[1]
			}
			return true
		}}
}

var column = sync.OnceValue(func() kind[job.Column] {
	bound := amount(span{})
	return object(
		key("lower", bound, func(c *job.Column) **big.Rat { return &c.Lower },
			"The public lower bound of a number. Smaller values are raised to it", example("200")),
		key("upper", bound, func(c *job.Column) **big.Rat { return &c.Upper },
			"The public upper bound of a number. Larger values are lowered to it", example("1000")),
		bindsBounds(),
		key("domain", distinct(list(value(), 1)), func(c *job.Column) *[]string { return &c.Domain },
			"The public list of the values of a category", example("[E, H, M]")),
		key("type", choice(job.Number, job.Text, job.Bool, job.Date, job.Timestamp), func(c *job.Column) *job.ColumnType { return &c.Holds },
			"What the column holds, where only expressions read it. Columns with bounds or a domain need no type"),
		key("missing", handling(job.Refuse, job.Drop), func(c *job.Column) *job.Handling { return &c.Missing },
			"What happens to null and NaN. refuse promises that there are none", otherwise(string(job.Refuse)), example("drop")),
		key("outside", handling(job.Refuse, job.Drop), func(c *job.Column) *job.Handling { return &c.Outside },
			"What becomes of a category that is not in the domain", otherwise(string(job.Refuse)), example("{impute: other}")),
		key("immutable", flag(), func(c *job.Column) *bool { return &c.Immutable },
			"The values are public, and a neighbouring table has the same. Groups are charged apart, except in samples of fixed size and "+
				"collected tables", otherwise("false")),
		key("one_per_unit", flag(), func(c *job.Column) *bool { return &c.OnePerUnit },
			"All rows of a unit have the same value, such as a person's region, so it counts in one group of such columns", otherwise("false")),
		key("bounds", optional(privateBounds()), func(c *job.Column) **job.Bounds { return &c.Bounds },
			"Replaces lower and upper (lower: 0 may stay): a release of its own finds a bound in private (docs/mechanisms/bounds.md)"),
		measureOfBounds(),
		key("assume", optional(assume()), func(c *job.Column) **job.Assume { return &c.Assume },
			"Public assumptions about the values, for the planner and the sampling error in the report. They change how budget.spend is "+
				"divided, and which of two estimators a mean, sum or share of a Poisson or multistage sample takes",
			out("it changes forecasts, and shares of budget.spend, which are an answer")),
	)
})

func frame() kind[job.Frame] {
	return object(
		key("path", filePath(), func(f *job.Frame) *string { return &f.Path },
			"A CSV file with a header and one line for each ultimate unit. ${NAME} is replaced", required(), example("frame.csv")),
		key("records", text(), func(f *job.Frame) *string { return &f.Records },
			"The column of the frame with the public number of records in the unit", required(), example("schools")),
	)
}
