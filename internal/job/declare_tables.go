package job

import (
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
)

// tableKeys returns the keys of a table. A run asks for them for each column of each release, and describing a table anew
// takes some hundred microseconds.
var tableKeys = sync.OnceValue(func() (names []string) {
	for _, d := range dataTable().nested {
		names = append(names, d.Name)
	}
	return names
})

// same describes a key of a table: it means what it means for the only table.
func same(key string) string { return "As dataset." + key + " for a single table" }

func dataTable() kind[DataTable] {
	return object(
		key("source", source(), func(t *DataTable) *Source { return &t.Source }, same("source"), required()),
		key("unit", object(
			key("column", text(), func(u *Unit) *string { return &u.Column },
				"The column of this table that names the unit of a row, if it is not dataset.unit.column", example("patient")),
			key("member", text(), func(u *Unit) *string { return &u.Member },
				"The column of this table that names a member of the unit, where it has none of the unit", example("person")),
			key("rows", oneRow(), func(u *Unit) *int64 { return &u.Rows },
				"A unit has at most one row in this table, or the run fails with DATA_UNIT. Other tables may then take columns from it", example("1")),
			key("missing", choice(NoUnitRefuse, NoUnitDrop, NoUnitOwn), func(u *Unit) *NoUnit { return &u.Missing },
				"As dataset.unit.missing; own makes a unit without a partner in any table", otherwise(string(NoUnitRefuse))),
		), func(t *DataTable) *Unit { return &t.Key }, "The unit of the rows of this table").with(func(t *DataTable) any {
			is := canon{"column": t.Key.Column, "missing": t.Key.Missing, "one_row": t.OneRow}
			if m := t.Key.Members; m != nil { // of a member
				is["member_of"], is["member_column"] = m.Table, m.Column
			}
			return is
		}),
		key("columns", named(column(), "NAME", checkText, func(c *Column, n string) { c.Name = n }),
			func(t *DataTable) *[]Column { return &t.Columns }, same("columns"), required()).with(func(t *DataTable) any {
			return factsByName(column(), t.columnsOf(func(c *Column) bool { return c.Lookup == nil && c.Derived == nil && c.Joined == nil }))
		}),
		key("lookups", named(lookup(), "NAME", checkName, func(l *Lookup, n string) { l.Name = n }),
			func(t *DataTable) *[]Lookup { return &t.Lookups }, same("lookups")).with(func(t *DataTable) any { return t.lookupFacts() }),
		key("join", byName(taken(), "TABLE", checkName), func(t *DataTable) *[]Named[[]string] { return &t.Join },
			"Columns that the rows take from another table, by its name: those of the row that the same unit has there",
			example("{persons: [age_band, region]}")),
		key("derive", named(derived(), "NAME", checkText, func(c *Column, n string) { c.Name, c.Derived = n, derivedOf(c) }),
			func(t *DataTable) *[]Column { return &t.derive },
			"Columns that are computed from others, by name. as may also fold the rows that the same unit has in another table: "+
				"count(visits where year == 2025), sum(visits.cost)").with(func(t *DataTable) any {
			return factsByName(derived(), t.derivedFacts())
		}),
		key("fold", byName(foldBy(), "COLUMN", checkText), func(t *DataTable) *[]Named[FoldBy] { return &t.Fold },
			same("fold")).with(func(t *DataTable) any {
			if t.OneRow {
				return nil // it follows
			}
			declared := byName(foldBy(), "COLUMN", checkText)
			return declared.fact(&t.Fold)
		}),
		key("cap", optional(capped()), func(t *DataTable) **Cap { return &t.Cap }, same("cap")),
	)
}

// taken is a list of columns. A mapping, as a join by another column would need, is refused with the reason.
func taken() kind[[]string] {
	k := distinct(list(text(), 1))
	read := k.read
	k.read = func(c *cursor, p lang.Place, into *[]string) bool {
		if p.Node.Kind == yaml.MappingNode { // P32
			return c.Wrong(p, "write the columns as a list, [age_band, region], which joins by the unit; or fold the other table by the unit, "+
				"under derive; or make a public lookup of what everybody may know",
				"must be a list of columns, not a mapping: private tables are joined by the unit alone, because by another column one row would "+
					"change the rows of many units")
		}
		return read(c, p, into)
	}
	return k
}

// derivedFacts are the columns under derive, those that fold another table with their text.
func (d *Dataset) derivedFacts() (is []Column) {
	for _, c := range d.Columns {
		switch {
		case c.Joined != nil && c.Joined.derived:
			c.Derived = &Derived{As: Expression{canon: c.Joined.text}, After: "rows"}
			is = append(is, c)
		case c.Derived != nil:
			is = append(is, c)
		}
	}
	return is
}
