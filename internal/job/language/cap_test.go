package language_test

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
)

// A unit is in one group of columns that say something of it: such as the job names, those of its rows in other tables, and what is
// looked up or derived from these alone. A release may say a cap of its own, and never counts a unit in more groups than there are.
func TestCapOfRelease(t *testing.T) {
	const tables = `
version: 1
job: d
dataset:
  id: p
  relation: add-remove
  unit: {column: id, name: person}
  tables:
    persons: {source: {path: p.csv}, unit: {rows: 1}, columns: {region: {domain: [n, s]}, age: {lower: 0, upper: 120}}}
    visits:
      source: {path: v.csv}
      cap: {groups: 5, rows: 3}
      join: {persons: [region, age]}
      columns: {sex: {domain: [f, m], one_per_unit: true}, ward: {domain: [a, b, c, d, e, f]}, paid: {domain: [x, y, z]}, code: {type: text}}
      derive:
        band: {bins: age, edges: [0, 40, 120]}
        home: {as: "region == 'n' && sex == 'f'"}
        mixed: {as: "region == 'n' && ward == 'a'"}
budget: {limit: {epsilon: "3", delta: "1e-6"}}
releases:
  - {name: r, table: visits, mechanism: count, guarantee: {epsilon: 1}BY}
output: {dir: out}
`
	for by, want := range map[string][2]int64{
		"":                                        {1, 3},
		", by: [region]":                          {1, 3},
		", by: [region, sex, band, home]":         {1, 3},
		", by: [ward]":                            {5, 3},
		", by: [region, ward]":                    {5, 3},
		", by: [region, paid]":                    {3, 3},
		", by: [mixed, sex]":                      {2, 3},
		", by: [mixed], other: rest":              {3, 3},
		", by: [region], other: rest":             {1, 3},
		", by: [ward], cap: {groups: 2}":          {2, 3},
		", by: [ward], cap: {rows: 7}":            {5, 7},
		", by: [paid], cap: {groups: 9, rows: 1}": {3, 1},
		", by: [region], cap: {groups: 9}":        {1, 3},
		", by: [code], keys: {guarantee: {epsilon: 1, delta: 1e-6}}": {5, 3},
	} {
		j, err := language.Parse("job.yaml", []byte(strings.Replace(tables, "BY", by, 1)), language.Options{})
		if err != nil {
			t.Errorf("%s: %v", by, err)
			continue
		}
		r := &j.Releases[0]
		if c := j.Of(r.Table).Dataset.CapOf(r); c.Groups != want[0] || c.Rows != want[1] {
			t.Errorf("%s: a unit counts in %d groups with %d rows, want %v", by, c.Groups, c.Rows, want)
		}
	}
	// A member has one row in the table of members: what that says of the member is not one value of the unit.
	j, err := language.Parse("job.yaml", []byte(strings.NewReplacer("unit: {column: id, name: person}\n  tables", "unit: {column: h, name: household, members: {name: person, table: persons, column: id}}\n  tables",
		"unit: {rows: 1}", "cap: {rows: 8, groups: 4}", "join: {persons: [region, age]}", "unit: {member: id}",
		"cap: {groups: 5, rows: 3}", "cap: {groups: 5, rows: 3}", "band: {bins: age, edges: [0, 40, 120]}", "", "region == 'n' && sex", "sex == 'f' && sex", "region == 'n' && ward", "ward == 'a' && ward",
		"BY", ", by: [id], keys: {guarantee: {epsilon: 1, delta: 1e-6}}", "code: {type: text}", "id: {type: text}").Replace(tables)), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := j.Of("visits").Dataset; d.OfUnit("id") {
		t.Error("the column of members is taken for one value of the unit")
	}
}

// A measure gives the share that is left out for each number of rows that counts in some release: a person with 8 visits and one
// region loses 5 of them under a cap of 5 groups with 3 rows in each, and not none.
func TestMeasureOfEachCap(t *testing.T) {
	const text = `
version: 1
job: d
dataset:
  id: p
  source: {path: p.csv}
  relation: add-remove
  unit: {column: id, name: person}
  cap: {groups: 5, rows: 3, measure: {epsilon: 0.1, at_most: 40}}
  columns: {region: {domain: [n, s], one_per_unit: true}, ward: {domain: [a, b, c, d, e, f]}}
budget: {limit: {epsilon: "3"}}
releases:
  - {name: r, by: [region], mechanism: count, guarantee: {epsilon: 1}}MORE
output: {dir: out}
`
	for more, keep := range map[string]string{
		"": "[3]",
		"\n  - {name: w, by: [ward], mechanism: count, guarantee: {epsilon: 1}}":                            "[3,15]",
		"\n  - {name: w, by: [ward], cap: {groups: 2, rows: 1}, mechanism: count, guarantee: {epsilon: 1}}": "[1,2,3]",
	} {
		j, err := language.Parse("job.yaml", []byte(strings.Replace(text, "MORE", more, 1)), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		last := j.Releases[len(j.Releases)-1]
		if !last.CountsUnits() || !strings.Contains(string(last.Params), `"keep":`+keep) {
			t.Errorf("%s: the measure is %s, want keep %s", more, last.Params, keep)
		}
	}
}
