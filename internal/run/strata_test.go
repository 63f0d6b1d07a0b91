package run

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// designed is a design with a frame: where its units lie, and its samples, each as likely
// as the others.
type designed struct {
	sample string
	places []int
	takes  [][]int
}

var (
	strataTakes = designed{"{method: stratified, strata: s, take: {a: 1, b: 1}}", []int{0, 0, 0, 1, 1},
		[][]int{{0, 3}, {0, 4}, {1, 3}, {1, 4}, {2, 3}, {2, 4}}}
	strataRates   = designed{"{method: stratified, strata: s, rates: {a: 0.5, b: 0.25}}", []int{0, 1, 0, 1}, nil}
	oneOfEach     = designed{"{method: multistage, stages: [{unit: s, take: 1}, {take: 1}]}", []int{0, 0, 1, 1}, [][]int{{0}, {1}, {2}, {3}}}
	wholeClusters = designed{"{method: multistage, stages: [{unit: s, take: 1}, {take: all}]}", []int{0, 0, 1, 1}, [][]int{{0, 1}, {2, 3}}}
	unevenOnes    = designed{"{method: multistage, stages: [{unit: s, take: 1}, {take: 1}]}", []int{0, 0, 1}, [][]int{{0}, {1}, {2}, {2}}}
	twoOfThree    = designed{"{method: multistage, stages: [{unit: s, take: 1}, {take: 2}]}", []int{0, 0, 0, 1, 1, 1},
		[][]int{{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5}}}
)

func (d designed) world(release string) world {
	relation := "replace-one"
	if d.takes == nil {
		relation = "add-remove"
	}
	return world{dataset: foldAll, relation: relation, sample: d.sample, release: release + ", from: s", places: d.places, takes: d.takes}
}

// The same where the design has a frame: a unit lies where the mode of its rows says, and a
// neighbour keeps it there.
func TestNoNeighboursBeatTheChargeOfFrames(t *testing.T) {
	for _, c := range []struct {
		design   designed
		releases []int // of tinyReleases: where clusters are several units, tables of one coordinate
	}{
		{strataTakes, []int{0, 1, 2, 3, 4, 5}}, {strataRates, []int{0, 1, 2, 3}},
		{oneOfEach, []int{0, 1, 2, 4}}, {unevenOnes, []int{1, 2}}, {wholeClusters, []int{0, 2, 5}}, {twoOfThree, []int{2, 5}},
	} {
		for k, i := range c.releases {
			if testing.Short() && k > 0 {
				continue
			}
			w := c.design.world(tinyReleases[i])
			t.Run(called(w.sample, w.release), func(t *testing.T) {
				t.Parallel()
				attacked(t, w, len(w.places))
			})
		}
	}
}

// byPlace is a release whose cells are the strata: they are counted once (P27).
const byPlace = `mechanism: sum, params: {column: x}, by: [s], guarantee: {epsilon: 1}`

// Behind a filter of units as they are a row counts in the cell of its stratum or in none. A filter
// of the rows that a unit is folded from may leave it with those of another stratum.
const (
	havingByPlace = `mechanism: count, by: [s], having: "x > 0", guarantee: {epsilon: 1}`
	whereByPlace  = `mechanism: count, by: [s], where: "x > 0", guarantee: {epsilon: 1}`
)

func TestNoNeighboursBeatTheChargeOfStrata(t *testing.T) {
	for release, cells := range map[string]float64{byPlace: 1, havingByPlace: 1, whereByPlace: 2} {
		w := strataTakes.world(release)
		attacked(t, w, len(w.places))
		w.t, w.file = t, filepath.Join(t.TempDir(), "tiny.csv")
		l := w.law(slices.Repeat([][]row{{{2, 0}}}, len(w.places)))
		if s := l.event.(privacy.DiscreteLaplace).Sensitivity; s.ReplaceOne > cells*s.AddRemove*1.5 || cells == 2 && s.ReplaceOne != 2*s.AddRemove {
			t.Errorf("%s: %v, want %v cells", release, s, cells)
		}
	}
}

// A row that a neighbour replaces keeps its group, and a filter lets it through on both sides or on one:
// one cell is charged, in the full table and in a Poisson sample (P11). All tables of three rows. A
// group that is not kept would be told.
func TestNoNeighboursBeatTheChargeOfFilteredGroups(t *testing.T) {
	rows := []row{{-1, 0}, {0, 0}, {2, 0}, {-1, 1}, {0, 1}, {2, 1}}
	for _, sample := range []string{"", ", from: s"} {
		for _, release := range []string{
			`mechanism: count, by: [g], where: "x > 0", guarantee: {epsilon: 1}`,
			`mechanism: sum, params: {column: x}, by: [g], where: "x != 0", guarantee: {epsilon: 1}`,
			`mechanism: count, params: {noise: gaussian}, by: [g], where: "x > 0", guarantee: {epsilon: 1, delta: "0.01"}`,
		} {
			w := &world{t: t, file: filepath.Join(t.TempDir(), "tiny.csv"), relation: "replace-one", unit: "column: u, name: unit, rows: 1",
				groups: "domain: [a, b], immutable: true", sample: "{method: poisson, rate: 0.5}", release: release + sample}
			told := math.Inf(-1)
			for _, b := range rows {
				for _, c := range rows {
					var laws []law
					for _, a := range rows {
						laws = append(laws, w.law([][]row{{a}, {b}, {c}}))
					}
					for i, p := range laws {
						for k, q := range laws {
							d := beats(p, q)
							if rows[i].g != rows[k].g {
								told = max(told, d)
							} else if d > 1e-7 {
								t.Fatalf("%s: %v and %v beside %v, %v are told apart by %g more than was charged", w.release, rows[i], rows[k], b, c, d)
							}
						}
					}
				}
			}
			if told < 1e-3 {
				t.Errorf("%s: a row that changes its group is not told: %g", w.release, told)
			}
		}
	}
}

// What breaks a rule of the draw on purpose is caught.
func TestBrokenDrawsAreCaught(t *testing.T) {
	count := tinyReleases[0]
	honest := func(w world) *world {
		w.t, w.file = t, filepath.Join(t.TempDir(), "tiny.csv")
		return &w
	}
	// The charge is that of another rate, or the noise that for another weight.
	half := designed{"{method: stratified, strata: s, take: {a: 1, b: 1}}", []int{0, 0, 1, 1}, [][]int{{0, 2}, {0, 3}, {1, 2}, {1, 3}}}
	for _, c := range []struct {
		what        string
		world       world
		units       int
		rate, noise float64 // 0 for the honest rate
	}{
		{"two of four charged as one", world{dataset: foldBoth, relation: "replace-one", sample: "{method: srswor, size: 2}", release: count + ", from: s"}, 4, 1. / 4, 1},
		{"one of two in each stratum charged as one of all (P3)", half.world(count), 4, 1. / 4, 1},
		{"numbers by stratum with the smallest weight", strataTakes.world(count), 5, 0, 2. / 3},
		{"cells of strata with half of the noise (P27)", strataTakes.world(byPlace), 5, 0, 1. / 2},
		{"a filter of units as they are, with half of the noise (P27)", strataTakes.world(havingByPlace), 5, 0, 1. / 2},
		{"a filter of rows before the fold, charged for one cell (P27)", strataTakes.world(whereByPlace), 5, 0, 1. / 2},
		{"rates by stratum with the smallest weight", strataRates.world(count), 4, 0, 1. / 2},
		{"a cluster of two units charged by the product of the rates (P5)", wholeClusters.world(count), 4, 1. / 2, 1},
		{"two of three below one of two charged by the product of the rates (P5)", twoOfThree.world(tinyReleases[5]), 6, 1. / 3, 1},
	} {
		if testing.Short() && (c.units > 4 || c.noise != 1) {
			continue
		}
		w := honest(c.world)
		a := newAlone(w, c.units)
		if over := a.attack(); over > 1e-9 {
			t.Errorf("%s: the honest run is caught: %g", c.what, over)
		}
		relation := privacy.ReplaceOne
		if w.relation == "add-remove" {
			relation = privacy.AddRemove
		}
		e := a.event.(privacy.DiscreteLaplace)
		if c.rate > 0 {
			a.charge.Epsilon = math.Log1p(c.rate * math.Expm1(e.Sensitivity.Under(relation)/e.Scale))
		}
		a.noise.scale *= c.noise
		if over := a.attack(); over < 0.01 {
			t.Errorf("%s is not caught: %g", c.what, over)
		}
	}

	// P27: a unit that lies in another stratum than the public numbers say is seen: no neighbour may do so.
	for _, d := range []designed{strataTakes, twoOfThree} {
		moved := honest(d.world(count))
		moved.framed, moved.places = d.places, slices.Clone(d.places)
		moved.places[0] = 1
		moved.law(slices.Repeat([][]row{{{0, 0}}}, len(d.places)))
		if moved.failed == nil {
			t.Errorf("%s: a unit that leaves its place is not noticed", d.sample)
		}
	}

	// P23: a unit with three rows is in the sample when any of them is drawn.
	w := honest(strataRates.world(count))
	others, three := [][]row{{{0, 0}}, {{0, 0}}, {{0, 0}}}, []row{{0, 1}, {0, 1}, {0, 1}}
	more := append(slices.Clone(others), three) // in the stratum with one in four
	if d := beats(w.law(others), w.law(more)); d > 1e-9 {
		t.Errorf("the honest draw is caught: %g", d)
	}
	w.byRow = true
	if d := beats(w.law(others), w.law(more)); d < 0.01 {
		t.Errorf("a draw of rows is not caught: %g", d)
	}
}
