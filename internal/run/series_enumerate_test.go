package run

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
)

// These tests take tiny tables with three periods from the file to the vectors that a series adds noise to, for all
// neighbours, and look for two that are told apart better than was charged (P31).

var threePeriods = []string{"2026-01", "2026-02", "2026-03"}

// yearly is a series of three periods.
type yearly struct {
	t    *testing.T
	file string
	plan *planned.Plan
}

// newYearly plans a series for units in up to so many periods, whom nothing holds to them.
func newYearly(t *testing.T, atMost int, unit string) *yearly {
	return newSeries(t, fmt.Sprintf("periods_of_unit: {at_most: %d}\n    revised: accept", atMost), unit)
}

// newSeries plans a series that says something of its units, in ρ or in ε.
func newSeries(t *testing.T, of, unit string) *yearly {
	return planSeries(t, of, unit, inprocess.Mechanisms(builtin.Mechanisms()))
}

// planSeries plans it with some mechanisms, and after changes of the job: texts in turn with what stands in their place.
func planSeries(t *testing.T, of, unit string, mechanisms plan.Mechanisms, changes ...string) *yearly {
	y := &yearly{t: t, file: filepath.Join(t.TempDir(), "tiny.csv")}
	text := fmt.Sprintf(`version: 1
job: tiny
dataset:
  id: tiny
  source: {path: %q}
  relation: add-remove
  slice: {column: m, is: 2026-03}
  unit: {column: u, name: unit}
  fold: {x: sum, g: mode}
  columns:
    m: {type: text}
    x: {lower: -1, upper: 2, missing: drop}
    g: {domain: [a, b, c]}
budget: {limit: {UNIT: "1"}}
series:
  s:
    periods: {from: 2026-01, to: 2026-03}
    publish: [month, running]
    %s
releases:
  - {name: n, series: s, mechanism: count, guarantee: {UNIT: "0.1"}}
  - {name: x, series: s, mechanism: sum, params: {column: x}, guarantee: {UNIT: "0.1"}}
  - {name: g, series: s, mechanism: count, by: [g], guarantee: {UNIT: "0.1"}}
  - {name: m, series: s, mechanism: mean, params: {column: x}, guarantee: {UNIT: "0.1"}}
  - {name: t, series: s, mechanism: marginals, params: {columns: [g], hierarchies: [{column: g, levels: [{name: half, map: {a: low, b: low, c: high}}]}]}, guarantee: {UNIT: "0.1"}}
output: {dir: out}
`, y.file, of)
	if unit == "epsilon" { // what adds Gaussian noise alone is in no such series
		text = regexp.MustCompile("(?m)^.*mechanism: marginals.*\n").ReplaceAllString(text, "")
	}
	j, err := language.Parse("job.yaml", []byte(strings.NewReplacer(append(changes, "UNIT", unit)...).Replace(text)), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(t.Context(), j, mechanisms, inprocess.NoPast{})
	if err != nil {
		t.Fatal(err)
	}
	y.plan = p.Plan
	return y
}

// life holds the rows of a unit in each period, nil where it has none.
type life [3][]row

// within says in how many periods the unit is.
func (l life) within() (out []int) {
	for s, rows := range l {
		if len(rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// measured are the vectors of a run by release, and call.
type measured map[string][][]*big.Int

// steps makes all steps of a series on a table, without noise.
func (y *yearly) steps(units []life, broken func(*Slices)) (out []measured) {
	y.t.Helper()
	text := "u,x,g,m,w\n"
	for u, l := range units {
		for s, rows := range l {
			for _, r := range rows {
				text += fmt.Sprintf("u%d,%d,%c,%s,%d\n", u, r.x, 'a'+r.g, threePeriods[s], r.x+2)
			}
		}
	}
	if err := os.WriteFile(y.file, []byte(text), 0o600); err != nil {
		y.t.Fatal(err)
	}
	opened, err := OpenTable(y.t.Context(), y.plan, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	defer opened.Close()
	of, err := opened.Slices(y.t.Context(), y.plan, threePeriods)
	if err != nil {
		y.t.Fatal(err)
	}
	if broken != nil {
		broken(of)
	}
	sums := map[int]*SliceSums{}
	for s := range threePeriods {
		vectors, err := sliceSums(y.t.Context(), y.plan, of.counting(s), inprocess.Mechanisms(builtin.Mechanisms()).Sums)
		if err != nil {
			y.t.Fatal(err)
		}
		sums[s] = &SliceSums{vectors: vectors}
	}
	for step := range threePeriods {
		m, _, err := weighed(y.plan, step, sums)
		if err != nil {
			y.t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// apart is Σ‖δ‖²/2σ² of some runs on two tables, over the noise calls of a release; for Laplace noise Σ‖δ‖₁/b.
func (y *yearly) apart(rel *planned.Release, a, b []measured) float64 {
	price := 0.0
	for t := range a {
		for k, v := range a[t][rel.Job.Name] {
			for i, x := range v {
				d, _ := new(big.Float).SetInt(new(big.Int).Sub(x, b[t][rel.Job.Name][k][i])).Float64()
				switch c := rel.Series.Calls[k].(type) {
				case privacy.DiscreteGaussian:
					price += d * d / (2 * c.Sigma * c.Sigma)
				case privacy.DiscreteLaplace:
					price += math.Abs(d) / c.Scale
				}
			}
		}
	}
	return price
}

// lives are all units of some kinds, in every set of periods.
func lives() (out []life) {
	some := [][]row{nil, {{-1, 0}}, {{2, 0}}, {{2, 1}}, {{2, 1}, {2, 1}}}
	for _, a := range some {
		for _, b := range some {
			for _, c := range some {
				if l := (life{a, b, c}); len(l.within()) > 0 {
					out = append(out, l)
				}
			}
		}
	}
	return out
}

// others are units that are in each table, so that no period is empty.
var others = []life{{{{0, 0}}, {{1, 1}}, {{0, 0}}}, {{{2, 1}}, {{0, 0}}, {{-1, 1}}}}

func float(r *big.Rat) float64 { f, _ := r.Float64(); return f }

// price returns the charge of a unit of some periods: the least of the prices that hold for it.
func price(s *planned.Series, in []int, atMost int) float64 {
	switch {
	case len(in) == 1:
		return float(s.Slices[in[0]])
	case len(in) <= atMost:
		return float(s.Most)
	}
	return float(s.Life)
}

const slack = 1 + 1e-9

// No unit is told apart better than was charged for the periods in which it is, and some are nearly as well.
func TestNoNeighboursBeatTheSeries(t *testing.T) {
	for _, c := range []struct {
		atMost int
		unit   string
	}{{1, "rho"}, {2, "rho"}, {1, "epsilon"}, {2, "epsilon"}} {
		atMost := c.atMost
		y := newYearly(t, atMost, c.unit)
		base := y.steps(others, nil)
		nearest := map[string]float64{}
		for _, l := range lives() {
			with := y.steps(append(slices.Clone(others), l), nil)
			for _, rel := range y.plan.Releases() {
				in := l.within()
				got, most := y.apart(rel, base, with), price(rel.Series, in, atMost)
				if got > most*slack {
					t.Errorf("%d periods, %s in %s: %v costs %g and was charged %g", atMost, rel.Job.Name, c.unit, l, got, most)
				}
				if len(in) <= atMost || len(in) == len(threePeriods) { // else it is charged a whole life
					key := fmt.Sprint(rel.Job.Name, " ", len(in))
					nearest[key] = math.Max(nearest[key], got/most)
				}
			}
		}
		for key, share := range nearest {
			if share < 0.85 && key[0] != 'm' || share < 0.5 {
				t.Errorf("%d periods, %s: no unit costs more than %g of what it was charged", atMost, key, share)
			}
		}
	}
}

// What breaks the rule on purpose is caught, for each mechanism and for units in one period or two: else the test above
// would show nothing.
func TestBrokenSeriesAreCaught(t *testing.T) {
	var found series.Matrix
	for _, c := range []struct {
		atMost int
		unit   string
	}{{1, "rho"}, {2, "rho"}, {1, "epsilon"}} {
		y := newYearly(t, c.atMost, c.unit)
		for _, rel := range y.plan.Releases() {
			if c.atMost == 1 && c.unit == "rho" {
				found = rel.Series.Matrix
			}
			y.reprice(rel, found) // elsewhere the plan takes independent noise, which forgives much
			t.Run(fmt.Sprint(rel.Job.Name, " ", c.atMost, " ", c.unit), func(t *testing.T) { broken(t, y, rel) })
		}
	}
}

func broken(t *testing.T, y *yearly, rel *planned.Release) {
	base := y.steps(others, nil)
	run := func(l life, broken func(*Slices)) []measured {
		return y.steps(append(slices.Clone(others), l), broken)
	}
	caught := func(what string, got, charged, honest float64) {
		t.Helper()
		if got <= charged*slack {
			t.Errorf("%s is not caught: %g of %g", what, got, charged)
		}
		if got > honest*slack {
			t.Errorf("%s: the honest price %g is below %g", what, honest, got)
		}
	}
	two := []row{{2, 0}}
	first, always := life{two}, life{two, two, two}
	s := rel.Series

	// Each slice is charged the mean of the columns.
	mean, whole, least := 0.0, 0.0, 0
	for p := range threePeriods {
		whole += float(s.Slices[p])
		if s.Slices[p].Cmp(s.Slices[least]) < 0 {
			least = p
		}
	}
	mean = whole / 3
	dear := 0.0
	for p := range threePeriods {
		var l life
		l[p] = two
		dear = math.Max(dear, y.apart(rel, base, run(l, nil)))
	}
	caught("the mean of the columns", dear, mean, float(s.Most))

	// A life is charged the sum of its slices.
	lived := run(always, nil)
	if _, laplace := s.Calls[0].(privacy.DiscreteLaplace); !laplace { // in ε the slices add up
		caught("the sum of the slices for a life", y.apart(rel, base, lived), whole, float(s.Life))
	}

	// The first step is drawn twice, and the redraw is not debited.
	twice := func(m []measured) []measured { return append(slices.Clone(m), m[0]) }
	again, err := periods.PriceRun([]periods.Series{s.Bill()}, y.plan.Job.Dataset.Relation, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	one, all := again.Slices, again.Life
	alone := run(first, nil)
	caught("a step that is drawn twice", y.apart(rel, twice(base), twice(alone)), float(s.Slices[0]), float(new(big.Rat).Add(s.Slices[0], one[0])))
	caught("a step that is drawn twice, for a life", y.apart(rel, twice(base), twice(lived)), float(s.Life), float(new(big.Rat).Add(s.Life, all)))

	// A unit is counted in a period that it is not in: each slice also holds the rows of another one.
	var wrong life
	wrong[least] = two
	leak := func(of *Slices) {
		for p := range threePeriods {
			of.views[p] = of.views[least]
		}
	}
	caught("a slice that leaks into the others", y.apart(rel, y.steps(others, leak), run(wrong, leak)), float(s.Slices[least]), float(s.Life))

	// A row moves from a slice to another between two runs, in every way, and the unit is charged as if all stood still in
	// one period.
	still := 0.0
	for p := range threePeriods {
		still = math.Max(still, float(s.Slices[p]))
	}
	moved := 0.0
	for states := range 27 {
		var mixed []measured
		for step, code := 0, states; step < 3; step, code = step+1, code/3 {
			var l life
			l[code%3] = two
			mixed = append(mixed, run(l, nil)[step])
		}
		moved = math.Max(moved, y.apart(rel, base, mixed))
	}
	caught("a revised slice", moved, still, float(s.Life))
}

// Where rows change between runs, products of the matrix must not cancel one another. Its entries have both signs here,
// and |CᵀC| in the place of |C|ᵀ|C| is caught, mechanism by mechanism.
func TestRevisedRowsMeetBothSigns(t *testing.T) {
	y := newYearly(t, 2, "rho")
	signs, err := series.NewMatrix([][]int64{{2}, {2, 2}, {-2, 2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	units := series.Units{AtMost: 2}
	frozen := float64(signs.Charge(units))
	units.Revised = true
	revised := float64(signs.Charge(units))
	for _, rel := range y.plan.Releases() {
		y.reprice(rel, signs)
	}
	base := y.steps(others, nil)
	// What one run sees of a unit in its first two periods: nothing, one value or another, in each.
	var seen [][]measured
	for _, a := range [][]row{nil, {{-1, 0}}, {{2, 0}}} {
		for _, b := range [][]row{nil, {{-1, 0}}, {{2, 0}}} {
			seen = append(seen, y.steps(append(slices.Clone(others), life{a, b}), nil))
		}
	}
	for _, rel := range y.plan.Releases() {
		// Runs have noise of their own, so the worst history is the worst of each run.
		worst := 0.0
		for step := range threePeriods {
			most := 0.0
			for _, s := range seen {
				most = math.Max(most, y.apart(rel, base[step:step+1], s[step:step+1]))
			}
			worst += most
		}
		unit := float(rel.Series.Slices[2]) // the last column is 1
		if worst <= unit*frozen*slack || worst > unit*revised*slack {
			t.Errorf("%s: %g, charged %g for rows that stay and %g for rows that change", rel.Job.Name, worst, unit*frozen, unit*revised)
		}
	}
}

// reprice gives a release another matrix, at the price of that.
func (y *yearly) reprice(rel *planned.Release, m series.Matrix) {
	y.t.Helper()
	rel.Series.Matrix = m
	var err error
	if rel.Series.Prices, err = periods.Price([]periods.Series{rel.Series.Bill()}, y.plan.Job.Dataset.Relation); err != nil {
		y.t.Fatal(err)
	}
}
