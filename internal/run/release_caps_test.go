package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// onePerUnit says of the group column that a unit has one group. The tables of the tests break this promise.
const onePerUnit = "domain: [a, b], one_per_unit: true"

// No pair of neighbours is told apart better than was charged where a release has a cap of its own, or groups of which the job
// promises that a unit has one: also where the promise does not hold.
func TestNoNeighboursBeatTheCapOfARelease(t *testing.T) {
	for i, c := range []struct{ dataset, groups, cap string }{
		{capTwo, onePerUnit, ""},
		{"  cap: {groups: 2, rows: 1}", onePerUnit, ", cap: {rows: 2}"},
		{capTwo, "", ", cap: {groups: 1}"},
		{capOne, "", ", cap: {groups: 2, rows: 2}"},
		{capTwo, "", ", cap: {rows: 1}"},
	} {
		for k, relation := range []string{"add-remove", "replace-one"} {
			for d, from := range []string{"", ", from: s"} {
				for n, release := range tinyReleases[:4] {
					if testing.Short() && (i+k+d+n)%5 != 0 {
						continue
					}
					w := world{dataset: c.dataset, groups: c.groups, relation: relation, sample: "{method: poisson, rate: 0.5}", release: release + c.cap + from}
					t.Run(called(fmt.Sprint(i), relation, from, release), func(t *testing.T) {
						t.Parallel()
						attacked(t, w, 3)
					})
				}
			}
		}
	}
}

// What breaks the rule on purpose is caught: a promise that is charged and not enforced, and a release that counts the rows of
// another one with a larger cap.
func TestBrokenCapsOfReleasesAreCaught(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.csv")
	others, four := [][]row{{{0, 0}}}, []row{{0, 0}, {0, 0}, {0, 1}, {0, 1}}
	for _, relation := range []string{"add-remove", "replace-one"} {
		for what, c := range map[string][2]world{
			"a promise that is not enforced": {{dataset: capTwo, groups: onePerUnit}, {dataset: capTwo}},
			"the cap of another release":     {{dataset: capTwo, release: ", cap: {groups: 1}"}, {dataset: capTwo}},
			"the rows of another release":    {{dataset: capTwo, release: ", cap: {rows: 1}"}, {dataset: capTwo}},
		} {
			if relation == "replace-one" && what != "the rows of another release" {
				continue // of two groups, one that is left and one that is entered cost as much
			}
			of := func(w world, last []row) law {
				w.t, w.file, w.relation, w.sample = t, file, relation, "{method: poisson, rate: 0.5}"
				w.release = `mechanism: count, by: [g], guarantee: {epsilon: 1}` + w.release
				units := slices.Clone(others)
				if last != nil {
					units = append(units, last)
				}
				return w.law(units)
			}
			var less []row // the neighbour of four
			if relation == "replace-one" {
				less = []row{{0, 0}}
			}
			charged := of(c[0], less)
			if d := beats(charged, of(c[0], four)); d > 1e-9 {
				t.Errorf("%s, %s: the honest run is caught: %g", relation, what, d)
			}
			if d := beats(charged, of(c[1], four)); d < 0.01 {
				t.Errorf("%s, %s is not caught: %g", relation, what, d)
			}
		}
	}
}

// Two releases of one job keep what their own caps say, and a selection of keys counts a unit in as many as its release does.
func TestReleasesAreCappedApart(t *testing.T) {
	w := &world{t: t, file: filepath.Join(t.TempDir(), "tiny.csv"), dataset: capTwo, groups: onePerUnit, relation: "add-remove", sample: "{method: poisson, rate: 0.5}",
		release: `mechanism: count, by: [g], guarantee: {epsilon: 1}}
  - {name: q, mechanism: count, guarantee: {epsilon: 1}}
  - {name: p, mechanism: count, guarantee: {epsilon: 1}, cap: {rows: 3}`}
	got := w.law([][]row{{{0, 0}, {0, 0}, {0, 1}, {0, 1}}})
	for key := range got.mass { // the releases are made in any order
		v := slices.Sorted(slices.Values(got.vector[key]))
		if !slices.Equal(v, []float64{0, 2, 2, 3}) {
			t.Errorf("a unit with two rows in each of two groups adds %v", v)
		}
	}
	keyed := &world{t: t, file: w.file, dataset: capTwo, relation: "add-remove", sample: w.sample,
		release: `mechanism: count, by: [g], keys: {guarantee: {epsilon: 1, delta: "0.01"}}, guarantee: {epsilon: 1}`}
	for groups, one := range map[string]bool{"type: text": false, "type: text, one_per_unit: true": true} {
		keyed.groups, keyed.plans = groups, nil
		rule := keyed.plan(0).Draws[0].Keys[0].Rule
		// The best rule for units with one key each shows a key of one unit nearly at δ.
		if shows := rule.Chance(1); (shows > 0.0099) != one {
			t.Errorf("%s: a key of one unit shows at %g", groups, shows)
		}
	}
}
