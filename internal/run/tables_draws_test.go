package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// A draw by the strata of the population reaches capped tables (P23, P32): rates by stratum, and fixed numbers of each, where
// no neighbour leaves its stratum.
func TestStrataReachCappedTables(t *testing.T) {
	rates := pair{world: world{relation: "add-remove", sample: "{method: stratified, strata: g, rates: {a: 0.5, b: 0.25}}"}, visits: capX, population: true, places: true}
	w := rates
	w.release = byVisits + ", from: s}"
	neighbours(t, newPair(t, w))
	takes := pair{world: world{relation: "replace-one", sample: "{method: stratified, strata: g, take: {a: 1, b: 1}}", takes: [][]int{{0, 2}, {1, 2}}},
		visits: capX, population: true, places: true}
	fixed := func(visits []int) []member {
		return []member{{"a", visits}, {"a", []int{2}}, {"b", []int{-1, 2}}}
	}
	for i, release := range []string{byVisits, sumVisits} {
		w := takes
		w.release = release + ", from: s}"
		if i == 1 {
			w.visits = capXX
		}
		p := newPair(t, w)
		var laws []law
		for _, m := range members() {
			if m.group == "a" {
				laws = append(laws, p.of(fixed(m.visits)))
			}
		}
		for i, a := range laws {
			for k, b := range laws {
				if d := beats(a, b); d > 1e-7 {
					t.Fatalf("%s: %v and %v are told apart by %g more than was charged", w.release, members()[i], members()[k], d)
				}
			}
		}
	}

	// Visits of persons who are not drawn, and a cap that is not kept.
	caught := func(what string, honest, broken *pair, with, without []member) {
		t.Helper()
		with1, without1 := honest.of(with), honest.of(without)
		if d := max(beats(with1, without1), beats(without1, with1)); d > 1e-7 {
			t.Errorf("%s: the honest run is caught: %g", what, d)
		}
		p, q := broken.of(with), broken.of(without)
		p.event, p.charge, q.event, q.charge = with1.event, with1.charge, with1.event, with1.charge
		if d := max(beats(p, q), beats(q, p)); d < 0.01 {
			t.Errorf("%s is not caught: %g", what, d)
		}
	}
	honest, other, loose := rates, rates, rates
	honest.release = byVisits + ", from: s}"
	other.release, loose.release = honest.release, honest.release
	other.drawn, loose.visits = []int{0, 1}, capXX
	loose.mend = func(p *plan.Priced) {
		for _, r := range p.Draws[0].Releases {
			r.Public.Cap = &sdk.Cap{Groups: 1, Rows: 1}
			var err error
			if r.Plan, err = r.Mech.Plan(t.Context(), r.Request().PlanRequest); err != nil {
				t.Fatal(err)
			}
		}
	}
	others := []member{{"a", []int{2}}}
	caught("a draw that does not reach the visits", newPair(t, honest), newPair(t, other), append([]member{{"b", []int{2}}}, others...), append([]member{{"b", nil}}, others...))
	caught("a cap that is not kept", newPair(t, honest), newPair(t, loose), append([]member{{"b", []int{2, 2}}}, others...), others)
}

// The measure of a cap counts the units of one of several tables by their rows there, and no unit that has none: one that comes
// or goes moves it by 1, one that changes by 2. A condition on a column of the other table holds too.
func TestRowsOfTablesAreMeasured(t *testing.T) {
	measured := "      cap: {groups: 1, rows: 1, measure: {epsilon: 1, at_most: 2}}"
	for _, relation := range []string{"add-remove", "replace-one"} {
		for _, where := range []string{"", `, where: "g == 'a'"`} {
			w := newPair(t, pair{world: world{relation: relation, release: sumVisits + where + "}"}, visits: measured, population: true})
			bins := func(units []member) (out []float64) {
				for _, v := range w.of(units).vector {
					out = v[1:]
				}
				return out
			}
			rest := []member{{"a", []int{2}}, {"b", nil}}
			none := bins(rest)
			for _, m := range members() {
				if m.group == "" && relation == "replace-one" {
					continue
				}
				want := slices.Clone(none)
				if n := len(m.visits); n > 0 && (m.group == "a" || m.group == "b" && where == "") {
					want[n-1]++
				}
				if got := bins(append([]member{m}, rest...)); !slices.Equal(got, want) {
					t.Errorf("%s%s: with %v the measure is %v and not %v", relation, where, m, got, want)
				}
			}
		}
	}
}

// Weights of a survey in a column of the table, or in one that is taken from another table, are charged (P29).
func TestWeightsOfTablesAreCharged(t *testing.T) {
	weigh := func(column string) string { return "\n  weights: {column: " + column + ", at_most: 1.5}" }
	for _, relation := range []string{"add-remove", "replace-one"} {
		for _, w := range []pair{
			{visits: capXX, head: weigh("x"), world: world{release: byVisits + "}"}},
			{visits: foldX, head: weigh("total"), world: world{release: byPersons + "}"}},
		} {
			w.relation, w.population = relation, true
			neighbours(t, newPair(t, w))
		}
	}
	// The noise of rows that weigh 1.
	w := newPair(t, pair{visits: "      cap: {groups: 1, rows: 2}", head: weigh("x"), population: true, world: world{relation: "add-remove", release: byVisits + "}"}})
	p, q := w.of([]member{{"a", []int{2, 2}}, {"a", []int{2}}}), w.of([]member{{"a", []int{2}}})
	if d := max(beats(p, q), beats(q, p)); d > 1e-7 {
		t.Errorf("the honest run is caught: %g", d)
	}
	e := p.event.(privacy.DiscreteLaplace)
	e.Scale /= 1.5
	p.event, q.event = e, e
	if d := max(beats(p, q), beats(q, p)); d < 0.01 {
		t.Errorf("rows that weigh more than was charged are not caught: %g", d)
	}
}

// Where no neighbour changes the group of a person, a release by that group is charged once (P11, P27), and the same column
// taken by visits is charged as any other. A neighbour that changes it is told apart.
func TestKeptColumnsOfTablesAreCharged(t *testing.T) {
	byTotal := strings.Replace(sumTotal, "mechanism", "by: [g], mechanism", 1)
	for _, release := range []string{byTotal, byVisits} {
		w := newPair(t, pair{world: world{relation: "replace-one", release: release + "}"}, visits: capX, population: true, keeps: true})
		rest := []member{{"b", []int{2}}}
		laws := map[string][]law{}
		for _, m := range members() {
			if m.group != "" {
				laws[m.group] = append(laws[m.group], w.of(append([]member{m}, rest...)))
			}
		}
		told := 0.0
		for group, same := range laws {
			for i, a := range same {
				for k, b := range same[:i] {
					if d := max(beats(a, b), beats(b, a)); d > 1e-7 {
						t.Errorf("%s: two of group %s (%d, %d) are told apart by %g more than was charged", release, group, i, k, d)
					}
				}
				for _, b := range laws["b"] {
					told = max(told, beats(a, b)) // of group b none is
				}
			}
		}
		if release == byTotal && told < 0.01 {
			t.Errorf("%s: a person that changes its group is not told apart: %g", release, told)
		}
	}
}
