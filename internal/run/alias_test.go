package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
)

// Columns that are computed alike have bounds of their own.
func TestColumnsComputedAlike(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(file, []byte("x\n1\n50\n200\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := language.Parse("job.yaml", []byte(`version: 1
job: alike
dataset:
  id: alike
  source: {path: "`+file+`"}
  relation: add-remove
  columns:
    x: {lower: 0, upper: 1000}
  derive:
    a: {as: "x", lower: 0, upper: 10}
    b: {as: "x", lower: 0, upper: 100}
    c: {as: "x * 2", lower: 0, upper: 10}
    d: {as: "x * 2", lower: 0, upper: 100}
budget: {limit: {epsilon: 1}}
releases:
  - {name: r, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}}
output: {dir: out}
`), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Open(t.Context(), j, []string{"x"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	for _, order := range [][]string{{"a", "b", "c", "d", "x"}, {"x", "d", "c", "b", "a"}} {
		var wants []job.Column
		for _, name := range order {
			c, _ := j.Dataset.Column(name)
			wants = append(wants, c)
		}
		in, err := newReading(j, nil, wants, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		preparers := in.preparers(false)
		want := map[string][3]float64{"a": {1, 10, 10}, "b": {1, 50, 100}, "c": {2, 10, 10}, "d": {2, 100, 100}, "x": {1, 50, 200}}
		err = tab.Scan(t.Context(), table.ScanOptions{Columns: in.sources}, func(b table.Batch) error {
			if err := in.read(b); err != nil {
				return err
			}
			ready, err := in.prepare(preparers, b.Rows)
			for i, v := range ready {
				if [3]float64(v.Float64) != want[order[i]] {
					t.Errorf("%v: %s is %v", order, order[i], v.Float64)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
