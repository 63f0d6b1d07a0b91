package language

import (
	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
)

func dataTable() kind[job.DataTable] {
	all := datasetKeys()
	same := func(name string, opts ...option) field[job.DataTable] { // a key that means what it means for the only table
		f := held(fieldOf(all, name), func(t *job.DataTable) *job.Dataset { return &t.Dataset })
		f.Doc, f.Example = "As dataset."+name+" for a single table", ""
		declare(&f.Declared, opts)
		return f
	}
	derive := same("derive")
	derive.Doc = "Columns that are computed from others, by name. as may also fold the rows that the same unit has in another table: " +
		"count(visits where year == 2025), sum(visits.cost)"
	return object(
		same("source", required()),
		key("unit", object(
			key("column", text(), func(u *job.Unit) *string { return &u.Column },
				"The column of this table that names the unit of a row, if it is not dataset.unit.column", example("patient")),
			key("member", text(), func(u *job.Unit) *string { return &u.Member },
				"The column of this table that names a member of the unit, where it has none of the unit", example("person")),
			key("rows", oneRow(), func(u *job.Unit) *int64 { return &u.Rows },
				"A unit has at most one row in this table, or the run fails with DATA_UNIT. Other tables may then take columns from it", example("1")),
			key("missing", choice(job.NoUnitRefuse, job.NoUnitDrop, job.NoUnitOwn), func(u *job.Unit) *job.NoUnit { return &u.Missing },
				"As dataset.unit.missing; own makes a unit without a partner in any table", otherwise(string(job.NoUnitRefuse))),
		), func(t *job.DataTable) *job.Unit { return &t.Key }, "The unit of the rows of this table").with(func(t *job.DataTable) any {
			is := canon{"column": t.Key.Column, "missing": t.Key.Missing, "one_row": t.OneRow}
			if m := t.Key.Members; m != nil { // of a member
				is["member_of"], is["member_column"] = m.Table, m.Column
			}
			return is
		}),
		same("columns", required()), same("lookups"),
		key("join", byName(taken(), "TABLE", checkName), func(t *job.DataTable) *[]job.Named[[]string] { return &t.Join },
			"Columns that the rows take from another table, by its name: those of the row that the same unit has there",
			example("{persons: [age_band, region]}")),
		derive, same("fold"), same("cap"),
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
func derivedFacts(d *job.Dataset) (is []job.Column) {
	for _, c := range d.Columns {
		switch {
		case c.Joined != nil && c.Joined.Derived:
			c.Derived = &job.Derived{As: job.Expression{Canon: c.Joined.Canon}, After: "rows"}
			is = append(is, c)
		case c.Derived != nil:
			is = append(is, c)
		}
	}
	return is
}
