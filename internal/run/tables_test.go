package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// These tests walk through every choice of runs on tiny data sets of two tables, persons and visits, from the files to the
// vector that noise is added to (P32). A neighbour differs in the rows of one unit in both tables.

// member is a unit: its group in persons, "" where it has no row there, and the values of its visits.
type member struct {
	group  string
	visits []int
}

// members are all units with at most two visits of two values.
func members() (all []member) {
	for _, group := range []string{"", "a", "b"} {
		for _, visits := range [][]int{{}, {-1}, {2}, {-1, -1}, {-1, 2}, {2, 2}} {
			if group != "" || len(visits) > 0 {
				all = append(all, member{group, visits})
			}
		}
	}
	return all
}

// pair is a job on two tables.
type pair struct {
	world
	visits     string // what is said of the visits, beside their columns
	population bool   // persons defines the population
	size       int
	values     string // of x
	mend       func(*plan.Priced)
	null       bool   // units have no key, and each row is one of its own
	head       string // what is said of the data set, beside its tables
	places     bool   // strata are the groups of persons
	keeps      bool   // no neighbour changes the group of a person
}

// make plans the job for so many units, each job once.
func (w *pair) make() *plan.Priced {
	size, population, missing := "", "", ""
	if w.population {
		population = "\n  population: persons"
	}
	if w.relation == "replace-one" {
		size = fmt.Sprintf("\n  size: %d", w.size)
	}
	if w.null {
		missing = ", missing: own"
	}
	dir, head := filepath.Dir(w.file), w.head
	if w.takes != nil {
		head += fmt.Sprintf("\n  frame: {path: %q, records: n}", w.frame())
	}
	text := fmt.Sprintf(`version: 1
job: tiny
dataset:
  id: tiny
  relation: %s%s%s%s
  unit: {column: u, name: unit}
  tables:
    persons:
      source: {path: "%s/persons.csv"}
      unit: {rows: 1%s}
      columns: {g: {domain: [a, b], %s}}
      derive:
        times: {as: "count(visits)", lower: 0, upper: 2}
        twos: {as: "count(visits where x > 0)", lower: 0, upper: 2}
        total: {as: "sum(visits.x)", lower: -1, upper: 2}
    visits:
      source: {path: "%s/visits.csv"}
      unit: {missing: %s}
      join: {persons: [g]}
      columns: {x: {%s, missing: drop}}
%s
budget: {limit: {epsilon: 100, delta: "0.1"}}
samples: {s: %s}
releases:
%s
output: {dir: out}
`, w.relation, population, size, head, dir, missing, map[bool]string{true: "immutable: true", false: "missing: drop"}[w.keeps], dir,
		map[bool]string{true: "own", false: "refuse"}[w.null], cmp.Or(w.values, "lower: -1, upper: 2"), w.visits,
		cmp.Or(w.sample, "{method: poisson, rate: 0.5}"), w.release)
	if p := w.plans[text]; p != nil && w.mend == nil {
		return p
	}
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := plan.Make(w.t.Context(), j, shelf{&w.calls}, inprocess.NoPast{})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.mend != nil {
		w.mend(p)
		return p
	}
	if w.plans == nil {
		w.plans = map[string]*plan.Priced{}
	}
	w.plans[text] = p
	return p
}

// frame is the public list of how many persons each group has.
func (w *pair) frame() string {
	counts := map[int]int{}
	for _, p := range w.world.places {
		counts[p]++
	}
	path := filepath.Join(filepath.Dir(w.file), "frame.csv")
	if err := os.WriteFile(path, fmt.Appendf(nil, "g,n\na,%d\nb,%d\n", counts[0], counts[1]), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// of is the law of the job on some units.
func (w *pair) of(units []member) law {
	var persons, visits strings.Builder
	persons.WriteString("u,g\n")
	visits.WriteString("u,x\n")
	w.size, w.world.places = 0, nil
	for i, m := range units {
		key := fmt.Sprintf("u%d", i)
		if w.null {
			key = ""
		}
		if m.group != "" {
			w.size++
			if w.places {
				w.world.places = append(w.world.places, int(m.group[0]-'a'))
			}
			fmt.Fprintf(&persons, "%s,%s\n", key, strings.TrimSpace(m.group))
		}
		for _, x := range m.visits {
			fmt.Fprintf(&visits, "%s,%d\n", key, x)
		}
	}
	dir := filepath.Dir(w.file)
	return w.walk(w.make(), nil, map[string]string{filepath.Join(dir, "persons.csv"): persons.String(), filepath.Join(dir, "visits.csv"): visits.String()})
}

func newPair(t *testing.T, w pair) *pair {
	w.t, w.file = t, filepath.Join(t.TempDir(), "tiny.csv")
	return &w
}

const (
	byPersons = `  - {name: r, table: persons, by: [g], mechanism: count, guarantee: {epsilon: 1}`
	byVisits  = `  - {name: r, table: visits, by: [g], mechanism: count, guarantee: {epsilon: 1}`
	sumVisits = `  - {name: r, table: visits, mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}`
	sumTotal  = `  - {name: r, table: persons, mechanism: sum, params: {column: total}, guarantee: {epsilon: 1}`
	twice     = `  - {name: r, table: persons, where: "twos >= 1", by: [g], mechanism: count, guarantee: {epsilon: 1}`
	means     = `  - {name: r, table: visits, where: "x > 0", mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}`
	foldX     = "      fold: {x: sum, g: mode}"
	capX      = "      cap: {groups: 1, rows: 1}"
	capXX     = "      cap: {groups: 2, rows: 2}"
)

// No pair of neighbours is told apart better than was charged: of all tables of up to three units with a person or none and
// up to two visits.
func TestNoNeighboursOfTwoTablesBeatTheCharge(t *testing.T) {
	for _, visits := range []string{foldX, capX, capXX} {
		for _, relation := range []string{"add-remove", "replace-one"} {
			for p, population := range []bool{true, false} {
				for s, sample := range []string{"", "{method: poisson, rate: 0.5}", "{method: srswor, size: 1}"} {
					for i, release := range []string{byVisits, sumVisits, byPersons, sumTotal, twice, means} {
						switch {
						case relation == "replace-one" && !population, s == 2 && relation == "add-remove":
							continue // refused: nobody says whose number is public
						case visits != foldX && i > 1 && i < 5, testing.Short() && (s+i+p)%6 != 2:
							continue
						}
						w := pair{world: world{relation: relation, sample: sample, release: release + "}"}, visits: visits, population: population}
						if sample != "" {
							w.release = release + ", from: s}"
						}
						t.Run(called(fmt.Sprint(visits, population), relation, sample, release), func(t *testing.T) {
							t.Parallel()
							neighbours(t, newPair(t, w))
						})
					}
				}
			}
		}
	}
}

// neighbours compares all neighbours of a pair of tables.
func neighbours(t *testing.T, w *pair) {
	known := map[string]law{}
	of := func(units []member) law {
		units = slices.Clone(units)
		key := fmt.Sprint(units)
		if _, ok := known[key]; !ok {
			known[key] = w.of(units)
		}
		return known[key]
	}
	all := members()
	others := [][]member{{}}
	for i, a := range all {
		if i%3 == 0 {
			others = append(others, []member{a})
		}
		if i%6 == 2 { // with a second one, some of them
			for _, b := range []member{all[(i*7)%len(all)], {"b", []int{2}}} {
				others = append(others, []member{a, b})
			}
		}
	}
	if testing.Short() {
		others = [][]member{others[0], others[3], others[len(others)-1]}
	}
	for _, rest := range others {
		whole := 0
		for _, m := range rest {
			if m.group != "" {
				whole++
			}
		}
		var base, first law
		if w.relation == "add-remove" {
			base = of(rest)
		}
		for _, m := range all {
			if w.relation == "replace-one" && m.group == "" {
				continue // a unit of the population keeps a row there
			}
			if strings.Contains(w.sample, "srswor") && strings.Contains(w.release, "from: s") && whole == 0 {
				continue // a sample of one from one
			}
			with := of(append([]member{m}, rest...))
			against := base
			if w.relation == "replace-one" {
				if first.mass == nil {
					first = with
				}
				against = first
			}
			if d := max(beats(with, against), beats(against, with)); d > 1e-7 {
				t.Fatalf("%v beside %v: the charge is exceeded by δ = %.3g", m, rest, d)
			}
		}
	}
}

// What breaks the rule on purpose is caught.
func TestBrokenJoinsAreCaught(t *testing.T) {
	var others = []member{{"a", []int{2}}}
	with := func(m member) []member { return append([]member{m}, others...) }
	job := func(relation, visits, release string) *pair {
		return newPair(t, pair{world: world{relation: relation, release: release + "}"}, visits: visits, population: true})
	}
	caught := func(what string, charged, honestWith, honestWithout, brokenWith, brokenWithout law, least float64) {
		t.Helper()
		one := func(p, q law) float64 {
			p.event, p.charge = charged.event, charged.charge
			return beats(p, q)
		}
		if d := one(honestWith, honestWithout); d > 1e-7 {
			t.Errorf("%s: the honest run is caught: %g", what, d)
		}
		if d := one(brokenWith, brokenWithout); d < least {
			t.Errorf("%s is not caught: %g", what, d)
		}
	}

	// A neighbour in one table only: two releases from two tables are charged as one.
	counts := strings.Replace(byPersons, "by: [g], ", "", 1)
	one, both := job("add-remove", capX, counts), job("add-remove", capX, counts+"}\n"+strings.Replace(strings.Replace(byVisits, "by: [g], ", "", 1), "name: r", "name: q", 1))
	charged := one.of(others)
	concat := both.walk2(t, with(member{"a", []int{2}}))
	concatWithout := both.walk2(t, others)
	caught("a neighbour in one table", charged, one.of(with(member{"a", []int{2}})), charged, concat, concatWithout, 0.05)

	// Fan-out that is not capped: the sensitivity is that of one visit.
	capped, loose := job("add-remove", capX, byVisits), job("add-remove", capXX, byVisits)
	two := member{"a", []int{2, 2}}
	caught("fan-out that is not capped", capped.of(others), capped.of(with(two)), capped.of(others), loose.of(with(two)), loose.of(others), 0.05)

	// Null matches null: the person without a key gives its group to all visits without one, each a unit of its own.
	null := newPair(t, pair{world: world{relation: "add-remove", release: byVisits + "}"}, visits: capX, null: true})
	strangers := []member{{"", []int{2, 2}}, {"", []int{2}}}
	matched := newPair(t, pair{world: world{relation: "add-remove", release: byVisits + "}"}, visits: capX})
	three := []member{{"a", []int{2}}, {"a", []int{2}}, {"a", []int{2}}}
	caught("null that matches null", null.of(strangers), null.of(append([]member{{"a", nil}}, strangers...)), null.of(strangers), matched.of(three), matched.of(nil), 0.05)

	// A unit that vanishes from the second table, although the plan takes it to be there.
	far := job("replace-one", foldX, sumVisits)
	far.values = "lower: 100, upper: 101"
	lean := job("replace-one", foldX, sumVisits)
	lean.values = far.values
	lean.mend = func(p *plan.Priced) {
		for _, r := range p.Draws[0].Releases {
			for i := range r.Public.Columns {
				r.Public.Columns[i].Missing = sdk.MissingRefuse
			}
			var err error
			if r.Plan, err = r.Mech.Plan(t.Context(), r.Request().PlanRequest); err != nil {
				t.Fatal(err)
			}
		}
	}
	here, gone := with(member{"a", []int{101}}), with(member{"a", nil})
	short := lean.of(gone)
	caught("a unit that vanishes", far.of(gone), far.of(here), far.of(gone), far.of(here), far.of(gone), -1)
	if d := beats(lean.of(here), short); d < 0.05 {
		t.Errorf("a unit that vanishes is not caught: %g", d)
	}

	// A private table as a lookup, which the ledger refuses: one person's row there names the place of everybody in its group.
	public := &world{t: t, file: filepath.Join(t.TempDir(), "tiny.csv"), relation: "add-remove", sample: "{method: poisson, rate: 0.5}",
		release: "by: [place], mechanism: count, guarantee: {epsilon: 1}"}
	public.dataset = fmt.Sprintf("  cap: {groups: 1, rows: 1}\n"+
		"  lookups: {persons: {path: %q, key: g, columns: {place: {domain: [north, south], missing: drop}}}}",
		filepath.Join(filepath.Dir(public.file), "persons.csv"))
	in := func(persons string) law {
		if err := os.WriteFile(filepath.Join(filepath.Dir(public.file), "persons.csv"), []byte("g,place\n"+persons), 0o600); err != nil {
			t.Fatal(err)
		}
		public.plans = nil
		return public.law([][]row{{{1, 0}}, {{1, 0}}, {{1, 0}}})
	}
	same := in("a,north\nb,south\n")
	caught("a private table as a lookup", same, same, same, in("b,south\n"), same, 0.05)
}

// walk2 is the law of a job with two releases.
func (w *pair) walk2(t *testing.T, units []member) law {
	t.Helper()
	l := w.of(units)
	if _, ok := l.event.(privacy.DiscreteLaplace); !ok {
		t.Fatal("another noise than that of counts")
	}
	return l
}
