package run

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// mix is a distribution of the vectors that noise is added to.
type mix []chanced

type chanced struct {
	mass float64
	at   []float64
}

// mixed are the vectors of a law, and together those that are equal in several laws.
func (l law) mixed() mix {
	var out mix
	for _, key := range slices.Sorted(maps.Keys(l.mass)) {
		out = append(out, chanced{l.mass[key], l.vector[key]})
	}
	return out
}

// plus is the distribution of the sum of two vectors that know nothing of each other, less a third one.
func (m mix) plus(o mix, less []float64) mix {
	out := make(mix, 0, len(m)*len(o))
	for _, a := range m {
		for _, b := range o {
			sum := make([]float64, len(a.at))
			for k := range sum {
				sum[k] = a.at[k] + b.at[k] - less[k]
			}
			out = append(out, chanced{a.mass * b.mass, sum})
		}
	}
	return out
}

// either is one distribution with a probability, else the other.
func either(p float64, m, o mix) mix {
	var out mix
	for _, a := range m {
		out = append(out, chanced{p * a.mass, a.at})
	}
	for _, b := range o {
		out = append(out, chanced{(1 - p) * b.mass, b.at})
	}
	return out
}

// masses are the probabilities of the vectors.
func (m mix) masses() map[string]float64 {
	out := map[string]float64{}
	for _, w := range m {
		out[fmt.Sprint(w.at)] += w.mass
	}
	return out
}

// kinds are all units with up to three rows on three values and two groups.
func kinds() [][]row {
	var all [][]row
	one := []row{{-1, 0}, {0, 0}, {2, 0}, {-1, 1}, {0, 1}, {2, 1}}
	for i, a := range one {
		all = append(all, []row{a})
		for k, b := range one[i:] {
			all = append(all, []row{a, b})
			for _, c := range one[i+k:] {
				all = append(all, []row{a, b, c})
			}
		}
	}
	return all
}

// alone derives the outcome of a run on tables of so many units from its outcome for each kind of unit.
type alone struct {
	w      *world
	units  int
	kinds  map[string]mix      // of a table in which nothing but one unit of this kind, in this place, adds to the vector
	atoms  map[int][][]float64 // the vectors of all kinds of units in a place
	none   []float64           // where no unit adds to it
	event  privacy.Event
	noise  *noisy
	charge privacy.Point
}

// filler is a unit whose contribution is not random.
var filler = []row{{0, 0}}

// newAlone runs the job on each kind of unit in each place. Where all units are drawn, fillers take part: what they add is
// the same in every table.
func newAlone(w *world, units int) *alone {
	a := &alone{w: w, units: units, kinds: map[string]mix{}, atoms: map[int][][]float64{}}
	run := func(at int, one []row, drawn []int) mix {
		w.drawn = drawn
		defer func() { w.drawn = nil }()
		table := [][]row{one}
		if !w.full() || w.relation == "replace-one" {
			table = slices.Repeat([][]row{filler}, units)
			table[at] = one
		}
		l := w.law(table)
		a.event, a.noise, a.charge = l.event, newNoisy(l.event), l.charge
		return l.mixed()
	}
	switch {
	case w.full() && w.relation == "add-remove":
		a.none = w.law(nil).mixed()[0].at
	case w.full():
		a.none = run(0, filler, nil)[0].at
	default:
		a.none = run(0, filler, []int{})[0].at
	}
	for _, at := range a.targets() {
		seen := map[string]bool{}
		var drawn []int
		if !w.full() {
			drawn = []int{at}
		}
		for _, u := range kinds() {
			own := run(at, u, drawn)
			a.kinds[fmt.Sprint(w.place(at), u)] = own
			for _, v := range own {
				if key := fmt.Sprint(v.at); !seen[key] {
					seen[key] = true
					a.atoms[w.place(at)] = append(a.atoms[w.place(at)], v.at)
				}
			}
		}
	}
	return a
}

// targets are the first units of each place.
func (a *alone) targets() []int {
	out := []int{0}
	for i := range a.units {
		if a.w.place(i) != a.w.place(out[len(out)-1]) {
			out = append(out, i)
		}
	}
	return out
}

// full says that all units are in the release, and fixed that as many as ever.
func (w *world) full() bool  { return !strings.Contains(w.release, "from: s") }
func (w *world) fixed() bool { return w.takes != nil || w.take() > 0 && !w.full() }

// samples are the samples of a design of fixed size from so many units, each as likely as the others.
func (w *world) samples(units int) [][]int {
	if w.takes != nil {
		return w.takes
	}
	var all [][]int
	for set := range 1 << units {
		var some []int
		for i := range units {
			if set>>i&1 == 1 {
				some = append(some, i)
			}
		}
		if len(some) == w.take() {
			all = append(all, some)
		}
	}
	return all
}

// among is the distribution for a sample of fixed size from units that add these vectors.
func (a *alone) among(own []mix) mix {
	var out mix
	samples := a.w.samples(len(own))
	for _, some := range samples {
		sum := mix{{1 / float64(len(samples)), a.none}}
		for _, i := range some {
			sum = sum.plus(own[i], a.none)
		}
		out = append(out, sum...)
	}
	return out
}

// table is the distribution for a table, from those of its units: drawn or not, each adds its own.
func (a *alone) table(units [][]row) mix {
	out, none := mix{{1, a.none}}, mix{{1, a.none}}
	all := make([]mix, len(units))
	for i, u := range units {
		place := a.w.place(i)
		all[i] = a.kinds[fmt.Sprint(place, u)]
		if !a.w.full() {
			out = out.plus(either(1/float64(a.w.odds(place)), all[i], none), a.none)
		} else {
			out = out.plus(all[i], a.none)
		}
	}
	if a.w.fixed() {
		return a.among(all)
	}
	return out
}

// attack compares all neighbours, and returns by how much the charge is exceeded, at most. A unit keeps its place.
//
// What a unit adds to the vector depends on no other unit (which sums checks), and noise tells no more of two tables than
// of two units when the rest of what is added does not depend on the unit. So of the full table and of Poisson samples
// one unit alone is all that has to be looked at. A simple random sample of n units is n-1 others and, with the chance
// that the unit is drawn, the unit, else another one of its stratum. δ is a convex function of the mixture: it is largest
// where those n-1 are always the same, and so is the one that stands in for the unit: where all others are alike. Other
// strata add something of which all this is independent. Of a multistage sample this does not hold, and all tables of
// vectors are looked at.
func (a *alone) attack() float64 {
	worst, done := math.Inf(-1), map[string]bool{}
	try := func(p, q mix) {
		if key := min(apart(p, q), apart(q, p)); !done[key] {
			done[key] = true // the others are the same up to a shift, or seen from the other side
			worst = max(worst, a.over(p, q))
		}
	}
	one := func(at []float64) mix { return mix{{1, at}} }
	for _, target := range a.targets() {
		place := a.w.place(target)
		for i, x := range a.atoms[place] {
			others := slices.Clone(a.atoms[place][:i])
			if a.w.relation == "add-remove" {
				others = [][]float64{a.none}
			}
			for _, y := range others {
				switch {
				case a.w.fixed():
					a.eachTable(target, func(own []mix) {
						own[target] = one(y)
						if a.w.relation == "add-remove" { // one unit fewer: all others are alike
							own[target] = own[(target+1)%a.units]
						}
						q := a.among(own)
						own[target] = one(x)
						try(a.among(own), q)
					})
				case a.w.full():
					try(one(x), one(y))
				default:
					rate, none := 1/float64(a.w.odds(place)), one(a.none)
					try(either(rate, one(x), none), either(rate, one(y), none))
				}
			}
		}
	}
	return worst
}

// over is by how much the charge is exceeded for two neighbours.
func (a *alone) over(p, q mix) float64 {
	return max(a.noise.told(p, q, a.charge.Epsilon), a.noise.told(q, p, a.charge.Epsilon)) - a.charge.Delta
}

// eachTable calls f with what the units may add, of which the target's is replaced.
func (a *alone) eachTable(target int, f func([]mix)) {
	own := make([]mix, a.units)
	if !strings.Contains(a.w.sample, "multistage") {
		for _, z := range a.atoms[a.w.place(target)] {
			for i := range own {
				own[i] = mix{{1, a.atoms[a.w.place(i)][0]}}
				if a.w.place(i) == a.w.place(target) {
					own[i] = mix{{1, z}}
				}
			}
			f(own)
		}
		return
	}
	var fill func(i, least int)
	fill = func(i, least int) { // in any order within a place, the sample is the same
		switch {
		case i == a.units:
			f(own)
			return
		case i == target:
			fill(i+1, 0)
			return
		case i > 0 && a.w.place(i) != a.w.place(i-1):
			least = 0
		}
		atoms := a.atoms[a.w.place(i)]
		for k := least; k < len(atoms); k++ {
			own[i] = mix{{1, atoms[k]}}
			fill(i+1, k)
		}
	}
	fill(0, 0)
}

// apart describes the distance of the vectors of two distributions from the first one, whatever the order of the coordinates.
func apart(p, q mix) string {
	var at []string
	for k, base := range p[0].at {
		text := ""
		for _, v := range slices.Concat(p, q) {
			text += fmt.Sprint(v.at[k]-base, ",")
		}
		at = append(at, text)
	}
	slices.Sort(at)
	return strings.Join(at, ";") + fmt.Sprint(len(p))
}

// sums compares what the run gives for some whole tables, with all choices of the draw and of the cap, with what is made of
// their units.
func (a *alone) sums(t *testing.T, rng *rand.Rand, tables int) {
	all := kinds()
	extreme := [][]row{{{2, 0}, {2, 0}, {2, 0}}, {{-1, 0}, {2, 1}}, {{2, 1}, {-1, 1}, {-1, 1}}}
	for n := range tables {
		size := a.units
		if a.w.relation == "add-remove" && a.w.take() == 0 {
			size = 1 + rng.IntN(3)
		}
		var table [][]row
		for i := range size {
			table = append(table, all[rng.IntN(len(all))])
			if i == 0 {
				table[0] = extreme[n%len(extreme)]
			}
		}
		got, want := a.w.law(table).mixed().masses(), a.table(table).masses()
		for v, m := range want {
			if math.Abs(got[v]-m) > 1e-6 {
				t.Fatalf("%v: the vector %s has a probability of %g, and of %g where each unit is run alone", table, v, got[v], m)
			}
		}
	}
}

const (
	foldBoth = "  fold: {x: sum, g: mode}"
	foldAll  = "  fold: {x: sum, g: mode, s: mode}"
	capOne   = "  cap: {groups: 1, rows: 1}"
	capTwo   = "  cap: {groups: 2, rows: 2}"
)

// tinyReleases are the releases that the tests make of a tiny table.
var tinyReleases = []string{
	`mechanism: count, by: [g], guarantee: {epsilon: 1}`,
	`mechanism: sum, params: {column: x}, by: [g], where: "g == 'a' || x > 0", guarantee: {epsilon: 1}`,
	`mechanism: sum, params: {column: x, noise: gaussian}, guarantee: {epsilon: 1, delta: "0.01"}`,
	`mechanism: count, params: {noise: gaussian}, where: "x > 0", by: [g], guarantee: {epsilon: 1, delta: "0.01"}`,
	`mechanism: mean, params: {column: x}, where: "x != 0", guarantee: {epsilon: 1}`,
	`mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}`,
}

// No pair of neighbours is told apart better than was charged: of all tables of up to four units with up to three rows on
// three values and two groups, for folds and caps, both relations and noises, every design that needs no frame.
func TestNoNeighboursBeatTheCharge(t *testing.T) {
	for u, units := range []string{foldBoth, capOne, capTwo} {
		for _, relation := range []string{"add-remove", "replace-one"} {
			for d, sample := range []string{"", "{method: poisson, rate: 0.5}", "{method: srswor, size: 1}", "{method: srswor, size: 2}", "{method: srswor, size: 3}"} {
				for i, release := range tinyReleases[:5] {
					if d == 4 && units != foldBoth || testing.Short() && ((i+d+u)%8 != 0 || d > 2 && units != foldBoth) {
						continue
					}
					w := world{dataset: units, relation: relation, sample: sample, release: release}
					sizes := []int{4}
					switch {
					case sample == "":
						w.sample = "{method: poisson, rate: 0.5}" // of which nothing is released
					case w.take() > 0 && relation == "add-remove" && !strings.Contains(release, "mean"):
						continue // a total cannot be scaled up: the size is secret
					default:
						w.release += ", from: s"
					}
					if w.take() == 1 && !testing.Short() {
						sizes = []int{2, 3, 4}
					}
					t.Run(called(units, relation, sample, release), func(t *testing.T) {
						t.Parallel()
						for _, n := range sizes {
							attacked(t, w, n)
						}
					})
				}
			}
		}
	}
}

// called is the name of a test, of parts of a job.
func called(parts ...string) string {
	return strings.NewReplacer("\"", "", ":", "", "{", "", "}", "").Replace(strings.TrimSpace(strings.Join(parts, " ")))
}

// attacked fails where neighbours of so many units beat the charge.
func attacked(t *testing.T, w world, units int) {
	w.t, w.file = t, filepath.Join(t.TempDir(), "tiny.csv")
	a := newAlone(&w, units)
	a.sums(t, rand.New(rand.NewPCG(22, 24)), 2)
	if over := a.attack(); over > 1e-7 {
		t.Errorf("%d units: the charge is exceeded by δ = %.3g", units, over)
	}
}
