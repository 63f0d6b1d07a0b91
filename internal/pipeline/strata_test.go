package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/columns"
)

// What becomes of a row in no stratum is what the job says of the column, and is not
// decided silently: refused after the debit, left out, or counted to another stratum.
func TestRowsInNoStratum(t *testing.T) {
	data := tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, 9, 9, 9}},
		columns.Column{Name: "g", Texts: []string{"a", "b", "a", "c", "d", "c"}})
	job := func(rule string) string {
		return write(t, tinyJob, "TABLE", data, "replace-one\n  size: 4", "add-remove",
			"g: {domain: [a, b]}", "g: {domain: [a, b]"+rule+"}",
			"budget: {limit: {epsilon: 1}}", "budget: {limit: {epsilon: 1e9}}\nsamples:\n  s: {method: stratified, strata: g, rates: {a: 1, b: 1}}",
			"{name: r, ", "{name: r, from: s, ", "guarantee: {epsilon: 1}", "guarantee: {epsilon: 1e6}")
	}
	path := job("")
	_, err := run(t, path)
	if exit, code := exitOf(err); exit != failure.ExitSource || code != "DATA_OUTSIDE" {
		t.Errorf("refuse: %v", err)
	}
	if len(spends(t, filepath.Dir(path))) != 1 {
		t.Error("a private fact was told before the debit")
	}
	for rule, want := range map[string]float64{", outside: drop": 2, ", outside: {impute: b}": 5.5} {
		o, err := run(t, job(rule))
		if err != nil {
			t.Fatal(err)
		}
		near(t, rule, estimates(t, filepath.Join(o.Dir, "r.csv"), "estimate")[0], want, 0.01)
	}
}
