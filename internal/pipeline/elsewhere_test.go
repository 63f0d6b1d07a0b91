package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

// These tests stand for defects that people found by hand in other tools; docs/sabotage.md lists them.

// visits is a job about persons with many rows.
const visits = `version: 1
job: visits
dataset:
  id: visits
  source: {path: TABLE}
  relation: add-remove
  unit: {column: person, name: person}
  UNIT
  columns:
    place: {type: text}
    x: {lower: 0, upper: 10}
    day: {domain: [a, b, c]}
budget: {limit: {epsilon: "100", delta: "0.01"}}
SAMPLES
releases:
RELEASES
output: {dir: out, formats: [csv]}
`

// visitsOf writes the rows of two persons, each once in a hundred places.
func visitsOf(t *testing.T) string {
	t.Helper()
	text := "person,place,x,day\n"
	for p := range 2 {
		for i := range 100 {
			text += fmt.Sprintf("p%d,g%d,5,a\n", p, i)
		}
	}
	path := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// partsOf reads an event of a report, and the additive noises in it.
func partsOf(t *testing.T, text json.RawMessage) (root privacy.Event, noises []privacy.Event) {
	t.Helper()
	root, problems := expr.Parse(text, "event")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var walk func(e privacy.Event)
	walk = func(e privacy.Event) {
		switch e := e.(type) {
		case privacy.Compose:
			for _, part := range e.Events {
				walk(part)
			}
		case privacy.Repeat:
			for range e.N {
				walk(e.Event)
			}
		case privacy.Poisson:
			walk(e.Event)
		case privacy.WithoutReplacement:
			walk(e.Event)
		default:
			noises = append(noises, e)
		}
	}
	walk(root)
	return root, noises
}

// A cap bounds the groups that a release has, also where they are computed: rows of a hundred places that become one
// group are not a hundred rows of that group.
func TestElsewhereStaleBounds(t *testing.T) {
	one := "cap: {groups: 100, rows: 1}\n  derive: {all: {as: \"place == '' ? 'none' : 'some'\"}}"
	count := "  - {name: n, by: [all], mechanism: count, guarantee: {epsilon: \"40\"}}"
	out, err := run(t, write(t, visits, "TABLE", visitsOf(t), "UNIT", one, "SAMPLES", "", "RELEASES", count))
	if err != nil {
		t.Fatal(err)
	}
	// Two persons with one row each in the group, and a hundred each where the cap held the places: noise reaches
	// neither from the other.
	largest := 0.0
	for _, x := range estimates(t, filepath.Join(out.Dir, "n.csv"), "count") {
		largest = math.Max(largest, math.Abs(x))
	}
	if largest > 100 {
		t.Errorf("the count is %v: a cap on 1 row in each group let a person count a hundred times", largest)
	}
	// Nor may a column be computed under the name of one that bounds were declared for.
	again := strings.ReplaceAll(one, "all:", "x:")
	if _, err := plan(t, write(t, visits, "TABLE", "none.csv", "UNIT", again, "SAMPLES", "", "RELEASES", strings.ReplaceAll(count, "all", "day"))); err == nil || !strings.Contains(err.Error(), "has the name of another column") {
		t.Errorf("a column with bounds is computed anew: %v", err)
	}
}

// Releases from one draw are composed before they are amplified; from two draws each is amplified by itself. The first
// leaves less to each release, also where the table itself is the sample.
func TestElsewhereOneSampleTwice(t *testing.T) {
	two := "  - {name: a, from: s1, mechanism: count, guarantee: {epsilon: \"0.3\"}}\n  - {name: b, from: s2, mechanism: count, guarantee: {epsilon: \"0.3\"}}"
	both := "samples: {s1: {method: poisson, rate: 0.1}, s2: {method: poisson, rate: 0.1}}"
	scale := func(releases, samples string) (privacy.Event, float64, float64) {
		p, err := plan(t, write(t, visits, "TABLE", "none.csv", "UNIT", "cap: {groups: 1, rows: 1}", "SAMPLES", samples, "RELEASES", releases))
		if err != nil {
			t.Fatal(err)
		}
		root, all := partsOf(t, p.Report().Guarantee.Event)
		if len(all) != 2 {
			t.Fatalf("two releases are %d noises", len(all))
		}
		return root, all[0].(privacy.DiscreteLaplace).Scale / all[0].(privacy.DiscreteLaplace).Sensitivity.AddRemove, p.Report().Guarantee.Epsilon
	}
	root, once, cost := scale(strings.ReplaceAll(two, "s2", "s1"), strings.ReplaceAll(both, ", s2: {method: poisson, rate: 0.1}", ""))
	if _, ok := root.(privacy.Poisson); !ok {
		t.Errorf("two releases from one draw are %T, not one sample", root)
	}
	if truth := math.Log1p(0.1 * math.Expm1(2/once)); cost < truth-1e-9 {
		t.Errorf("the price is ε %v, and the truth at least %v", cost, truth)
	}
	_, apart, _ := scale(two, both)
	if once <= apart {
		t.Errorf("noise %v from one draw is not more than %v from two", once, apart)
	}
}

// A threshold looks only at a noisy number that is released and paid for: a sum, which has none, cannot be suppressed,
// and a mean asks nothing more for it. Keys that are selected are a query of their own.
func TestElsewhereThreshold(t *testing.T) {
	of := func(mechanism, more string) ([]privacy.Event, string, float64, error) {
		p, err := plan(t, write(t, visits, "TABLE", "none.csv", "UNIT", "cap: {groups: 1, rows: 1}", "SAMPLES", "", "RELEASES",
			"  - {name: s, mechanism: "+mechanism+", params: {column: x}, "+more+"guarantee: {epsilon: \"0.5\"}}"))
		if err != nil {
			return nil, "", 0, err
		}
		g := p.Report().Guarantee
		_, all := partsOf(t, g.Event)
		return all, string(g.Event), g.Epsilon, nil
	}
	if _, _, _, err := of("sum", "by: [day], suppress: {below: 20}, "); err == nil || !strings.Contains(err.Error(), "needs the column with the noisy number of units") {
		t.Errorf("a sum is suppressed by a number of units that nobody paid for: %v", err)
	}
	_, plain, _, err := of("mean", "by: [day], ")
	_, guarded, cost, err2 := of("mean", "by: [day], suppress: {below: 20}, ")
	if err != nil || err2 != nil || plain != guarded || cost < 0.499999 {
		t.Errorf("a suppressed mean asks %s for ε %v, and a mean %s (%v, %v)", guarded, cost, plain, err, err2)
	}
	keyed, _, cost, err := of("sum", "by: [place], keys: {guarantee: {epsilon: \"0.5\", delta: \"1e-6\"}, at_most: 5}, ")
	if err != nil || len(keyed) < 2 || cost <= 0.51 {
		t.Errorf("selected keys and a sum are %d noises for ε %v: %v", len(keyed), cost, err)
	}
}
