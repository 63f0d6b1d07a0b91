package run

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/samplers"
	"gonum.org/v1/gonum/stat/combin"
)

// These tests draw every table that somebody may collect from a tiny population, by the definition of the design and not by
// our samplers, run the job on each, and look for two neighbouring populations that the release tells apart better than
// was charged (P29).

// survey is a way to collect a table: the chance of each set of units of a population.
type survey func(population [][]row) []collection

type collection struct {
	chance float64
	units  [][]row
}

// and is two independent draws together.
func and(a, b []collection) (out []collection) {
	for _, x := range a {
		for _, y := range b {
			out = append(out, collection{x.chance * y.chance, slices.Concat(x.units, y.units)})
		}
	}
	return out
}

// some is every set of n units with the same chance.
func some(units [][]row, n int) (out []collection) {
	all := combin.Combinations(len(units), n)
	for _, set := range all {
		one := collection{chance: 1 / float64(len(all))}
		for _, i := range set {
			one.units = append(one.units, units[i])
		}
		out = append(out, one)
	}
	return out
}

// stratum are the units of a population whose first row is of a group.
func stratum(population [][]row, g int) (out [][]row) {
	for _, u := range population {
		if u[0].g == g {
			out = append(out, u)
		}
	}
	return out
}

func byTake(a, b int) survey {
	return func(p [][]row) []collection { return and(some(stratum(p, 0), a), some(stratum(p, 1), b)) }
}

func byRate(a, b float64) survey {
	return func(p [][]row) []collection {
		out := []collection{{chance: 1}}
		for _, u := range p {
			rate := a
			if u[0].g == 1 {
				rate = b
			}
			out = and(out, []collection{{1 - rate, nil}, {rate, [][]row{u}}})
		}
		return out
	}
}

// byStages takes one of two clusters, and n units of it.
func byStages(n int) survey {
	return func(p [][]row) []collection {
		out := some(stratum(p, 0), n)
		out = append(out, some(stratum(p, 1), n)...)
		for i := range out {
			out[i].chance /= 2
		}
		return out
	}
}

// anyOf takes n of all units.
func anyOf(n int) survey { return func(p [][]row) []collection { return some(p, n) } }

// gathered is the law of what noise is added to, over all tables that a survey collects.
type gathered struct {
	w    *world
	by   survey
	laws map[string]law
}

func (g *gathered) law(population [][]row) law {
	out := law{mass: map[string]float64{}, vector: map[string][]float64{}}
	for _, c := range g.by(population) {
		texts := make([]string, len(c.units))
		for i, u := range c.units {
			texts[i] = fmt.Sprint(u)
		}
		slices.Sort(texts)
		key := strings.Join(texts, " ")
		one, known := g.laws[key]
		if !known {
			one = g.w.law(c.units)
			g.laws[key] = one
		}
		out.event, out.charge = one.event, one.charge
		for v, m := range one.mass {
			out.mass[v] += c.chance * m
			out.vector[v] = one.vector[v]
		}
	}
	return out
}

// attack returns by how much the charge is exceeded, at most, by neighbours among the populations with so many units in the
// strata, whose units are among kinds.
func (g *gathered) attack(sizes [2]int, kinds []int, addRemove bool) float64 {
	worst := math.Inf(-1)
	unit := func(kind, stratum int) []row { return []row{{kind, stratum}} }
	for _, x := range multisets(len(kinds), sizes[0]) {
		for _, y := range multisets(len(kinds), sizes[1]) {
			var population [][]row
			for _, k := range x {
				population = append(population, unit(kinds[k], 0))
			}
			for _, k := range y {
				population = append(population, unit(kinds[k], 1))
			}
			p := g.law(population)
			for i, u := range population {
				if addRemove {
					worst = max(worst, beats(p, g.law(slices.Delete(slices.Clone(population), i, i+1))))
					continue
				}
				for _, k := range kinds {
					if k > u[0].x {
						other := slices.Clone(population)
						other[i] = unit(k, u[0].g)
						worst = max(worst, beats(p, g.law(other)))
					}
				}
			}
		}
	}
	return worst
}

// multisets are all ways to choose n of so many kinds, in ascending order.
func multisets(kinds, n int) (out [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, less := range multisets(kinds, n-1) {
		for k := range kinds {
			if len(less) == 0 || k >= less[len(less)-1] {
				out = append(out, append(slices.Clone(less), k))
			}
		}
	}
	return out
}

// halver draws each row of a collected table with a chance of one half. The two strata have the largest and the smallest
// weight.
type halver struct {
	facts  samplers.Facts
	choose func(uint64) uint64
}

func (h *halver) Next(int) (samplers.Selection, error) { panic("no units") }
func (h *halver) Done() error                          { return nil }

func (h *halver) NextUnits(units []int32) (out samplers.Selection, err error) {
	for i, u := range units {
		if h.choose(2) == 1 {
			w := h.facts.MaxWeight
			if (u == 0) == (h.facts.Population == 0) { // rates: the first stratum has the larger rate
				w = h.facts.MinWeight
			}
			out.Rows, out.Weights = append(out.Rows, uint32(i)), append(out.Weights, w)
		}
	}
	return out, nil
}

const (
	takes      = "  collected: {method: stratified, strata: g, take: {a: 1, b: 2}, population: {a: 2, b: 3}, allocation: fixed-before}"
	rates      = "  collected: {method: stratified, strata: g, rates: {a: 0.5, b: 0.25}, allocation: fixed-before}"
	onRate     = "  collected: {method: poisson, rate: 0.5}"
	stages     = "  collected: {method: multistage, stages: [{unit: g, take: 1}, {take: 2}], allocation: equal}\n  frame: {path: %q, records: n}"
	unused     = "{method: poisson, rate: 0.5}"
	sumOfAll   = `mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}`
	meanOfAll  = `mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}`
	sumByGroup = `mechanism: sum, params: {column: x}, by: [g], guarantee: {epsilon: 1}`
	ofOneGroup = `mechanism: mean, params: {column: x}, where: "g == 'a'", guarantee: {epsilon: 1}`
)

func collectedWorld(t *testing.T, collected, relation, release string) *world {
	dir := t.TempDir()
	if strings.Contains(collected, "%q") {
		frame := filepath.Join(dir, "frame.csv")
		if err := os.WriteFile(frame, []byte("g,n\na,3\nb,3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		collected = fmt.Sprintf(collected, frame)
	}
	return &world{t: t, file: filepath.Join(dir, "tiny.csv"), dataset: foldBoth + "\n" + collected, relation: relation, sample: unused, release: release}
}

func TestNoPopulationsBeatTheChargeOfASurvey(t *testing.T) {
	for _, c := range []struct {
		name, collected, relation string
		by                        survey
		sizes                     [2]int
	}{
		{"strata", takes, "replace-one", byTake(1, 2), [2]int{2, 3}},
		{"rates", rates, "add-remove", byRate(.5, .25), [2]int{2, 2}},
		{"poisson", onRate, "add-remove", byRate(.5, .5), [2]int{1, 2}},
		{"half of strata", takes, "replace-one", byTake(1, 2), [2]int{2, 3}},
		{"half of rates", rates, "add-remove", byRate(.5, .25), [2]int{1, 2}},
		{"stages", stages, "replace-one", byStages(2), [2]int{3, 3}},
	} {
		for i, release := range []string{sumOfAll, sumByGroup, meanOfAll, ofOneGroup} {
			if testing.Short() && i > 1 || c.name == "poisson" && i == 1 {
				continue
			}
			if strings.HasPrefix(c.name, "half") {
				release += ", from: s"
			}
			t.Run(fmt.Sprint(c.name, i), func(t *testing.T) {
				t.Parallel()
				g := &gathered{collectedWorld(t, c.collected, c.relation, release), c.by, map[string]law{}}
				kinds := []int{-1, 0, 2}
				if i > 1 || testing.Short() {
					kinds = []int{-1, 2}
				}
				over := g.attack(c.sizes, kinds, c.relation == "add-remove")
				t.Logf("%s", fmt.Sprint(len(g.laws), " tables, over ", over))
				if over > 1e-7 {
					t.Errorf("the charge is exceeded by δ = %.3g", over)
				}
			})
		}
	}
}

// beat is by how much the laws of two populations, collected as by says, are told apart better than what a job says costs,
// under the relation of the job. The law of the second may be that of another survey.
func beat(w *world, by, other survey, p, q [][]row) float64 {
	return beats((&gathered{w, by, map[string]law{}}).law(p), (&gathered{w, other, map[string]law{}}).law(q))
}

// What a survey must not do is caught: else the test above would show nothing.
func TestBrokenSurveysAreCaught(t *testing.T) {
	one := func(x, g int) []row { return []row{{x, g}} }
	repeat := func(n int, u []row) [][]row { return slices.Repeat([][]row{u}, n) }
	honest := func(what string, d float64) {
		if d > 1e-9 {
			t.Errorf("%s: the honest survey is caught: %g", what, d)
		}
	}
	caught := func(what string, d float64) {
		if d < 0.01 {
			t.Errorf("%s is not caught: %g", what, d)
		}
	}

	// The formula of a Poisson sample with the rate of all strata together, 3 of 12, for numbers that were taken of strata:
	// one of 2 and two of 10. The neighbours differ in a unit of the small stratum.
	poisson := collectedWorld(t, strings.Replace(onRate, "0.5", "0.25", 1), "add-remove", sumOfAll)
	strata := collectedWorld(t, strings.NewReplacer("b: 3", "b: 10").Replace(takes), "replace-one", sumOfAll)
	small := append(repeat(2, one(-1, 0)), repeat(10, one(0, 1))...)
	moved := append(append(repeat(1, one(-1, 0)), one(2, 0)), repeat(10, one(0, 1))...)
	honest("take of strata", beat(strata, byTake(1, 2), byTake(1, 2), small, moved))
	caught("the formula of a Poisson sample for a stratified one", beat(poisson, byTake(1, 2), byTake(1, 2), small, moved))

	// Neyman's numbers follow the spread: 1 and 2, or 2 and 1, and the job calls the table a simple random sample of 3 of 8.
	simple := collectedWorld(t, "  collected: {method: srswor, population: 8}", "replace-one", `mechanism: count, by: [g], guarantee: {epsilon: 1}`)
	even := append(repeat(4, one(0, 0)), repeat(4, one(0, 1))...)
	uneven := append(append(repeat(3, one(0, 0)), one(2, 0)), repeat(4, one(0, 1))...)
	honest("a simple random sample", beat(simple, anyOf(3), anyOf(3), even, uneven))
	caught("Neyman's allocation", beat(simple, byTake(1, 2), byTake(2, 1), even, uneven))

	// An adaptive survey goes on asking where it met a large value: the rate of ½ becomes 1 for everybody.
	adaptive := collectedWorld(t, onRate, "add-remove", `mechanism: count, by: [g], guarantee: {epsilon: 1}`)
	few, more := repeat(4, one(0, 0)), append(repeat(4, one(0, 0)), one(2, 0))
	honest("a Poisson sample", beat(adaptive, byRate(.5, .5), byRate(.5, .5), few, more))
	caught("an adaptive survey", beat(adaptive, byRate(.5, .5), byRate(1, 1), few, more))

	// A unit that moves from one stratum to the other changes two draws, and is no neighbour (P27).
	moving := collectedWorld(t, strings.NewReplacer("b: 2", "b: 1", "b: 3", "b: 2").Replace(takes), "replace-one", sumOfAll)
	here := [][]row{one(-1, 0), one(2, 0), one(-1, 1), one(-1, 1)}
	there := [][]row{one(2, 0), one(-1, 1), one(-1, 1), one(2, 1)}
	caught("a unit that moves", beat(moving, byTake(1, 1), byTake(1, 1), here, there))

	// P23: rows were drawn, one of two in each stratum, and the job says that persons were. A person with both rows of a
	// stratum is in the table always.
	persons := collectedWorld(t, strings.NewReplacer("b: 2", "b: 1", "b: 3", "b: 2").Replace(takes), "replace-one", sumOfAll)
	honest("persons", beat(persons, byTake(1, 1), byTake(1, 1), append(repeat(2, one(-1, 0)), repeat(2, one(0, 1))...),
		append([][]row{one(-1, 0), one(2, 0)}, repeat(2, one(0, 1))...)))
	caught("a draw of rows", beat(persons, byTake(1, 1), byTake(1, 1), append(repeat(2, one(-1, 0)), repeat(2, one(0, 1))...),
		append(repeat(2, one(2, 0)), repeat(2, one(0, 1))...)))
}

// A table that is not what the job says of its collection fails after the debit.
func TestCollectedTableIsCompared(t *testing.T) {
	for name, table := range map[string][][]row{
		"strata": {{{0, 0}}, {{0, 0}}, {{0, 1}}},
		"stages": {{{0, 0}}, {{0, 1}}},
	} {
		w := collectedWorld(t, map[string]string{"strata": takes, "stages": stages}[name], "replace-one", sumOfAll)
		w.fails = true
		if w.law(table); w.failed == nil || !strings.Contains(w.failed.Error(), "frame_mismatch") {
			t.Errorf("%s: %v", name, w.failed)
		}
	}
}
