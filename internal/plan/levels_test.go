package plan

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	total "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/unitrows"
	"github.com/dprelease/dprelease/privacy"
)

// cellRow is a row of a unit: its cell and its number.
type cellRow struct{ cell, value int }

// kept is the law of the sums by cell of what a cap of k cells with r rows each keeps of a unit, by the sums.
func kept(rows []cellRow, cells, k, r int) map[[3]int]float64 {
	byCell := map[int][]int{}
	for _, x := range rows {
		byCell[x.cell] = append(byCell[x.cell], x.value)
	}
	var has []int
	for c := range cells {
		if len(byCell[c]) > 0 {
			has = append(has, c)
		}
	}
	law, choices := map[[3]int]float64{}, subsets(len(has), min(k, len(has)))
	for _, chosen := range choices {
		part := map[[3]int]float64{{}: 1 / float64(len(choices))}
		for _, i := range chosen {
			values, next := byCell[has[i]], map[[3]int]float64{}
			picks := subsets(len(values), min(r, len(values)))
			for sums, p := range part {
				for _, pick := range picks {
					more := sums
					for _, v := range pick {
						more[has[i]] += values[v]
					}
					next[more] += p / float64(len(picks))
				}
			}
			part = next
		}
		for sums, p := range part {
			law[sums] += p
		}
	}
	return law
}

// subsets are those of n things with so many members.
func subsets(n, size int) (out [][]int) {
	for bits := range 1 << n {
		var one []int
		for i := range n {
			if bits>>i&1 == 1 {
				one = append(one, i)
			}
		}
		if len(one) == size {
			out = append(out, one)
		}
	}
	return out
}

// released is the distribution of the sums with noise, each on the whole numbers from −far to far.
func released(law map[[3]int]float64, cells int, density func(d float64) float64) []float64 {
	const far = 8
	var line [2*far + 1 + 8]float64 // around a sum of −4 to 4
	total := 0.0
	for i := range line {
		line[i] = density(float64(i - far - 4))
		total += line[i]
	}
	width := 2*far + 1
	size := int(math.Pow(float64(width), float64(cells)))
	out := make([]float64, size)
	for sums, p := range law {
		for i := range out {
			x, rest := p, i
			for c := range cells {
				x *= line[rest%width-sums[c]+4] / total
				rest /= width
			}
			out[i] += x
		}
	}
	return out
}

func divergence(p, q []float64, eps float64) float64 {
	a, b := 0.0, 0.0
	for i := range p {
		a += math.Max(0, p[i]-math.Exp(eps)*q[i])
		b += math.Max(0, q[i]-math.Exp(eps)*p[i])
	}
	return math.Max(a, b)
}

// memberPairs are the pairs of units that differ in one member: it comes or goes, or also changes. A unit that comes or
// goes with its only member is one under add-remove.
func memberPairs(cells, most int, rel privacy.Relation) (out [][2][]cellRow) {
	var kinds []cellRow
	for c := range cells {
		kinds = append(kinds, cellRow{c, -1}, cellRow{c, 1})
	}
	var others [][]cellRow
	var grow func(rows []cellRow, from int)
	grow = func(rows []cellRow, from int) {
		others = append(others, slices.Clone(rows))
		for i := from; i < len(kinds) && len(rows) < most-1; i++ {
			grow(append(rows, kinds[i]), i)
		}
	}
	grow(nil, 0)
	for _, rest := range others {
		for i, p := range kinds {
			if rel == privacy.AddRemove || len(rest) > 0 {
				out = append(out, [2][]cellRow{rest, append(slices.Clone(rest), p)})
			}
			for _, q := range kinds[i+1:] {
				if rel == privacy.ReplaceOne {
					out = append(out, [2][]cellRow{append(slices.Clone(rest), p), append(slices.Clone(rest), q)})
				}
			}
		}
	}
	return out
}

// What a member of a capped unit costs is no less than what it does to sums by cell, for all units of up to four rows of −1
// and 1. Broken twins are caught: the price of the unit under add-remove, that of a row alone, and rows that push out no cell.
func TestMembersOfCappedUnitsAreEnumerated(t *testing.T) { // P22, P32
	const scale, sigma = 1.0, 1.0
	noises := map[string]struct {
		density func(d float64) float64
		event   func(cap, replaced float64) privacy.Event
		norm    func(groups, rows float64) float64
	}{
		"laplace": {func(d float64) float64 { return math.Exp(-math.Abs(d) / scale) },
			func(c, s float64) privacy.Event {
				return privacy.DiscreteLaplace{Scale: scale, Sensitivity: privacy.Sensitivity{AddRemove: c, ReplaceOne: s}}
			}, func(k, r float64) float64 { return k * r }},
		"gaussian": {func(d float64) float64 { return math.Exp(-d * d / (2 * sigma * sigma)) },
			func(c, s float64) privacy.Event {
				return privacy.DiscreteGaussian{Sigma: sigma, Sensitivity: privacy.Sensitivity{AddRemove: c, ReplaceOne: s}, Coordinates: 3}
			}, func(k, r float64) float64 { return math.Sqrt(k) * r }},
	}
	caught, compared := map[string]int{}, 0
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		steps := int64(2)
		if rel == privacy.ReplaceOne {
			steps = 1
		}
		for _, c := range []struct{ cells, k, r int }{{1, 1, 1}, {1, 1, 2}, {2, 1, 1}, {2, 1, 2}, {2, 2, 1}, {2, 2, 2}, {3, 2, 1}, {3, 2, 2}} {
			most := 4
			if c.cells == 3 {
				most = 3
			}
			laws := map[string]map[[3]int]float64{}
			worst := map[string]float64{} // by noise and ε
			var epsilons = []float64{.3, 1, 1.7, 2.2}
			done := map[string]bool{}
			for _, pair := range memberPairs(c.cells, most, rel) {
				at := [2]string{fmt.Sprint(pair[0]), fmt.Sprint(pair[1])}
				for i, rows := range pair {
					if laws[at[i]] == nil {
						laws[at[i]] = kept(rows, c.cells, c.k, c.r)
					}
				}
				same := fmt.Sprint(laws[at[0]], laws[at[1]])
				if done[same] {
					continue
				}
				done[same] = true
				for name, n := range noises {
					p, q := released(laws[at[0]], c.cells, n.density), released(laws[at[1]], c.cells, n.density)
					for _, eps := range epsilons {
						key := fmt.Sprint(name, eps)
						worst[key] = math.Max(worst[key], divergence(p, q, eps))
						compared++
					}
				}
			}
			x := reachIn(int64(c.cells), int64(c.k), int64(c.r), false, rel)
			for name, n := range noises {
				unit := n.norm(math.Min(float64(c.k), float64(c.cells)), float64(c.r))
				e := n.event(unit, 2*unit)
				member, err := x.of(e, rel, steps)
				if err != nil {
					t.Fatal(err)
				}
				k, r := math.Min(float64(c.k), float64(c.cells)), float64(c.r)
				alone := reach{1 / (k * r), 1 / (math.Sqrt(k) * r)} // ε/m, and nothing is pushed out
				stays := reach{2 * alone.l1, 2 * alone.l2}
				twins := map[string]privacy.Event{}
				twins["row alone"], _ = alone.of(e, rel, steps)
				twins["no cell is pushed out"], _ = stays.of(e, rel, steps)
				if rel == privacy.AddRemove {
					twins["the unit"] = e
				}
				for _, eps := range epsilons {
					truth := worst[fmt.Sprint(name, eps)]
					if claimed := deltaOf(t, member, rel, eps); claimed < truth-1e-9 {
						t.Errorf("%v, %+v, %s at ε %g: δ %g claimed, %g true", rel, c, name, eps, claimed, truth)
					}
					for twin, e := range twins {
						if deltaOf(t, e, rel, eps) < truth-1e-6 {
							caught[fmt.Sprint(rel, ": ", twin)]++
						}
					}
				}
			}
		}
	}
	t.Logf("%d comparisons, twins caught %v", compared, caught)
	for _, twin := range []string{"add-remove: row alone", "add-remove: no cell is pushed out", "add-remove: the unit", "replace-one: row alone", "replace-one: no cell is pushed out"} {
		if caught[twin] == 0 {
			t.Errorf("%s: not caught", twin)
		}
	}
}

func deltaOf(t *testing.T, e privacy.Event, rel privacy.Relation, eps float64) float64 {
	a, err := privacy.DeltaAt(e, rel, eps)
	if err != nil {
		t.Fatal(err)
	}
	return a.Delta
}

// What a member costs where the cap is chosen in private is no less than what a histogram of units by rows and the sums by cell
// replanForCap the cap tell together, whatever function of the noisy histogram the cap is: each outcome of the histogram is answered
// with the cap that tells most. Two twins are caught: the price under the largest cap, which stands for any cap that a run found
// beside one that tells more, and a histogram that a member moves as its unit does.
func TestMembersUnderPrivateCapsAreEnumerated(t *testing.T) { // P37
	const whole = 2 // rows that a unit counts as, under each of the caps
	caps := []int64{1, 2}
	line := func(scale float64) func(d float64) float64 {
		return func(d float64) float64 { return math.Exp(-math.Abs(d) / scale) }
	}
	caught, compared := map[string]int{}, 0
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		steps := int64(2)
		if rel == privacy.ReplaceOne {
			steps = 1
		}
		for _, c := range []struct {
			cells, k   int
			hist, sums float64 // scales
		}{{1, 1, 2, 2}, {1, 1, 1, 4}, {1, 1, 6, 1.5}, {2, 1, 2, 2}, {2, 2, 2, 3}} {
			most := 3
			hist := privacy.DiscreteLaplace{Scale: c.hist, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}}
			unit := float64(min(c.k, c.cells) * whole)
			sums := privacy.DiscreteLaplace{Scale: c.sums, Sensitivity: privacy.Sensitivity{AddRemove: unit, ReplaceOne: 2 * unit}}
			epsilons := []float64{.3, 1, 1.7, 2.2}
			worst, done := map[float64]float64{}, map[string]bool{}
			for _, pair := range memberPairs(c.cells, most, rel) {
				var bins [2][]float64 // laws of the noisy histogram
				var under [2][][]float64
				key := ""
				for i, rows := range pair {
					h := [3]int{}
					if n := min(len(rows), 2); n > 0 {
						h[n-1] = 1
					}
					key += fmt.Sprint(h)
					bins[i] = released(map[[3]int]float64{h: 1}, 2, line(c.hist))
					for _, r := range caps {
						law := map[[3]int]float64{}
						for at, p := range kept(rows, c.cells, c.k, int(r)) {
							for cell := range at {
								at[cell] *= whole / int(r)
							}
							law[at] += p
						}
						key += fmt.Sprint(law)
						under[i] = append(under[i], released(law, c.cells, line(c.sums)))
					}
				}
				if done[key] {
					continue
				}
				done[key] = true
				for _, eps := range epsilons {
					worst[eps] = math.Max(worst[eps], math.Max(adaptive(bins[0], bins[1], under[0], under[1], eps), adaptive(bins[1], bins[0], under[1], under[0], eps)))
					compared++
				}
			}
			reachAt := func(r int64) reach { return reachIn(int64(c.cells), int64(c.k), r, false, rel) }
			together := func(x reach, steps int64, hist privacy.Event) privacy.Event {
				e, err := x.of(sums, rel, steps)
				if err != nil {
					t.Fatal(err)
				}
				return privacy.Compose{Events: []privacy.Event{hist, e}}
			}
			moved, err := privacy.OfSteps(hist, rel, steps)
			if err != nil {
				t.Fatal(err)
			}
			claims := map[string]privacy.Event{
				"":                together(reachAt(1).or(reachAt(2)), steps, moved),
				"the largest cap": together(reachAt(2), steps, moved),
			}
			if rel == privacy.AddRemove {
				claims["a histogram as of units"] = together(reachAt(1).or(reachAt(2)), steps, hist)
			}
			for _, eps := range epsilons {
				for name, e := range claims {
					claimed := deltaOf(t, e, rel, eps)
					switch {
					case name == "" && claimed < worst[eps]-1e-9:
						t.Errorf("%v, %+v at ε %g: δ %g claimed, %g true", rel, c, eps, claimed, worst[eps])
					case claimed < worst[eps]-1e-6:
						caught[fmt.Sprint(rel, ": ", name)]++
					}
				}
			}
		}
	}
	t.Logf("%d comparisons, twins caught %v", compared, caught)
	for _, twin := range []string{"add-remove: the largest cap", "add-remove: a histogram as of units", "replace-one: the largest cap"} {
		if caught[twin] == 0 {
			t.Errorf("%s: not caught", twin)
		}
	}
}

// adaptive returns the least δ with which p is ε-close to q: a first output has these laws, and for each of its values the worst of
// the second releases follows.
func adaptive(first, other []float64, p, q [][]float64, eps float64) float64 {
	sum := 0.0
	ratios := make([]float64, len(first))
	for i := range first {
		if first[i] > 0 {
			ratios[i] = math.Exp(eps) * other[i] / first[i]
		}
	}
	known := map[float64]float64{}
	for i, ratio := range ratios {
		ratio = math.Round(ratio*1e9) / 1e9
		tells, ok := known[ratio]
		if !ok {
			for r := range p {
				d := 0.0
				for y := range p[r] {
					d += math.Max(0, p[r][y]-ratio*q[r][y])
				}
				tells = math.Max(tells, d)
			}
			known[ratio] = tells
		}
		sum += first[i] * tells
	}
	return sum
}

// The plan says of a member what the report says, whatever the run finds, and no less than under any cap that may be chosen:
// a member who changes, or leaves a unit of two rows for another, tells as much as under a cap of one row.
func TestLevelsBeforeAndAfterAChoice(t *testing.T) { // P37
	for relation, want := range map[string]float64{ // of a person
		"relation: add-remove":                2*.1 + 2*.3/1,
		"relation: replace-one\n  size: 1000": .1 + .3,
	} {
		for _, release := range []string{"", ", by: [x]", ", by: [kind], keys: {guarantee: {epsilon: \"0.1\", delta: \"1e-6\"}, at_most: 40}"} {
			text := strings.NewReplacer("RELATION", relation, "BY", release).Replace(chosenJob)
			j, err := language.Parse("job.yaml", []byte(text), language.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Make(t.Context(), j, direct{"count": count.Mechanism{}, "unit_rows": unitrows.Mechanism{}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			before := p.Levels()
			if release == "" && math.Abs(before[0].Cost.Epsilon-want) > 1e-3 {
				t.Errorf("%s: a person costs %+v, want %g", relation, before[0].Cost, want)
			}
			for _, rows := range p.capOf("").Choice.Caps() {
				found, err := p.With(t.Context(), planned.Found{Rows: map[string]int64{"": rows}})
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(release, "keys") {
					if found, err = found.With(t.Context(), planned.Found{Keys: map[string][]string{"rows": {"a"}}}); err != nil {
						t.Fatal(err)
					}
				}
				after := p.Chosen(found).Levels()
				if !reflect.DeepEqual(before, after) {
					t.Errorf("%s%s, a cap of %d rows: the plan says %+v, the report %+v", relation, release, rows, before, after)
				}
			}
		}
	}
}

const chosenJob = `version: 1
job: chosen
dataset:
  id: chosen
  source: {path: t.csv}
  RELATION
  unit: {column: u, name: household, missing: drop, members: {name: person}, groups: {street: 2}}
  cap: {groups: 2, rows: {private: {epsilon: "0.1"}, at_most: 30, assume: [5, 5, 5, 5, 900]}}
  columns: {x: {domain: [a, b, c]}, kind: {type: text}}
budget: {limit: {epsilon: 100, delta: 0.01}}
releases:
  - {name: rows, mechanism: count, guarantee: {epsilon: "0.3"}BY}
output: {dir: out}
`

// householdsJob protects households. Its first release reads rows of persons alone; all others read more.
const householdsJob = `version: 1
job: households
dataset:
  id: households
  RELATION
  unit: {column: household, name: household, members: {name: person, table: persons}, groups: {street: 3}}
  tables:
    households:
      source: {path: h.csv}
      unit: {rows: 1}
      columns: {region: {domain: [north, south]}}
      derive: {size: {as: count(persons), lower: 0, upper: 8}}
    persons:
      source: {path: p.csv}
      join: {households: [region]}
      cap: {groups: 3, rows: 4}
      columns: {sex: {domain: [f, m]}, band: {domain: [a, b, c, d]}, income: {lower: 0, upper: 9, missing: drop}}
budget: {limit: {epsilon: 10, delta: 0.01}}
releases:
RELEASES
output: {dir: out}
`

func leveled(t *testing.T, relation string, releases ...string) (*Priced, []Level) {
	t.Helper()
	text := strings.NewReplacer("RELATION", relation, "RELEASES", "  - "+strings.Join(releases, "\n  - ")).Replace(householdsJob)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(t.Context(), j, direct{"count": count.Mechanism{}, "mean": mean.Mechanism{}, "median": median.Mechanism{}, "sum": total.Mechanism{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Levels()
}

// Each relation and each kind of release has its price for a person, and for three households.
func TestLevelsOfAJob(t *testing.T) {
	const (
		addRemove = "relation: add-remove"
		replace   = "relation: replace-one\n  size: 1000\n  population: households"
		counted   = `{name: counted, table: persons, by: [sex, band], mechanism: count, guarantee: {epsilon: "1"}}`
	)
	for _, c := range []struct {
		relation, release string
		person            float64 // how many times the price of a household
		below             bool
	}{
		{addRemove, counted, 5. / 12, true}, // r + 1 of k·r
		{replace, counted, 7. / 24, true},   // r + 3 of 2k·r
		{addRemove, `{name: x, table: persons, mechanism: count, guarantee: {epsilon: "1"}}`, 2. / 4, true},
		{replace, `{name: x, table: persons, where: "income > 3", mechanism: sum, params: {column: income}, guarantee: {epsilon: "1"}}`, 2. / 4, true},
		{addRemove, `{name: x, table: persons, by: [region], mechanism: count, guarantee: {epsilon: "1"}}`, 2, false},
		{replace, `{name: x, table: persons, where: "region == 'north'", mechanism: count, guarantee: {epsilon: "1"}}`, 1, false},
		{addRemove, `{name: x, table: households, by: [region], mechanism: count, guarantee: {epsilon: "1"}}`, 2, false},
		{replace, `{name: x, table: households, mechanism: median, params: {column: size}, guarantee: {epsilon: "1"}}`, 1, false},
	} {
		p, levels := leveled(t, c.relation, c.release)
		if len(levels) != 2 || levels[0].Name != "person" || levels[1].Name != "street" || levels[1].AtMost != 3 {
			t.Fatalf("%+v", levels)
		}
		person, three := levels[0], levels[1]
		if got := person.Cost.Epsilon / p.Answer.Epsilon; math.Abs(got-c.person) > 1e-6 || person.Cost.Delta != 0 || len(person.Below) > 0 != c.below {
			t.Errorf("%s, %s: a person costs %g of a household, not %g: %+v", c.relation, c.release, got, c.person, person)
		}
		if got := three.Cost.Epsilon / p.Answer.Epsilon; math.Abs(got-3) > 1e-6 {
			t.Errorf("%s: three households cost %g", c.release, got)
		}
	}
	// A delta of a point grows with the group; Gaussian noise keeps its own.
	p, levels := leveled(t, addRemove, counted, `{name: g, table: persons, by: [sex, band], mechanism: count, params: {noise: gaussian}, guarantee: {epsilon: "1", delta: "1e-6"}}`)
	if c := levels[1].Cost; c.Delta != p.Answer.Delta || !(c.Epsilon > 3*p.Answer.Epsilon && c.Epsilon < 5*p.Answer.Epsilon) {
		t.Errorf("three households: %+v beside %+v", c, p.guaranteed())
	}
	if c := levels[0].Cost; !(c.Epsilon < .6*p.Answer.Epsilon) || !slices.Equal(levels[0].Below, []string{"counted", "g"}) {
		t.Errorf("a person: %+v beside %+v", levels[0], p.guaranteed())
	}
}
