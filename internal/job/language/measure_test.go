package language

import (
	"fmt"
	"testing"
)

// The measure of a column's bounds adds a share at each of them, of the values that count in the first release that reads the column: of a
// column of the table, of a derived one, and of one that is derived from the folded values of a unit.
func TestMeasureOfBounds(t *testing.T) {
	const text = `version: 1
job: demo
dataset:
  id: people
  source: {path: people.csv}
  relation: add-remove
  unit: {column: person, name: person}
  fold: {income: sum}
  columns: {income: {lower: 0, upper: 100%s}}
  derive:
    spent: {as: "income / 2", lower: 0, upper: 40, after: fold%s}
budget: {limit: {epsilon: 5}}
releases:
  - {name: r, mechanism: mean, params: {column: %s}, guarantee: {epsilon: 1}}
output: {dir: out}
`
	const measure = `, measure: {epsilon: "0.1"}`
	for _, c := range []struct{ column, table, derived string }{{"income", measure, ""}, {"spent", "", measure}} {
		j, err := Parse("job.yaml", fmt.Appendf(nil, text, c.table, c.derived, c.column), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range j.Releases[1:] {
			got = append(got, fmt.Sprintf("%s %s %s %s", r.Name, r.Mechanism, r.Params, r.Guarantee.Epsilon.RatString()))
		}
		low, high := `{"column":"income","to":5e-324}`, `{"column":"income","from":100}`
		if c.column == "spent" {
			low, high = `{"column":"spent","to":5e-324}`, `{"column":"spent","from":40}`
		}
		want := []string{c.column + "_at_lower proportion " + low + " 1/20", c.column + "_at_upper proportion " + high + " 1/20"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", c.column, got, want)
		}
	}
	if _, err := Parse("job.yaml", fmt.Appendf(nil, text, "", measure, "income"), Options{}); err == nil {
		t.Error("a measure of a column that no release reads is paid for")
	}
}
