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
	var out mix
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

// noisy is the law of the noise of an event, which is drawn on whole numbers.
type noisy struct {
	scale    float64
	gaussian bool
	tails    []float64 // that Gaussian noise is at least so much, where it is small
}

func newNoisy(e privacy.Event) *noisy {
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		return &noisy{scale: e.Scale}
	case privacy.DiscreteGaussian:
		n := &noisy{scale: e.Sigma, gaussian: true}
		if e.Sigma < 1000 {
			n.tails = make([]float64, int(12*e.Sigma)+2)
			total := 0.0
			for m := len(n.tails) - 2; m >= 0; m-- {
				n.tails[m] = n.tails[m+1] + math.Exp(-float64(m)*float64(m)/2/e.Sigma/e.Sigma)
				total = n.tails[m]
			}
			total += n.tails[1]
			for m := range n.tails {
				n.tails[m] /= total
			}
		}
		return n
	}
	panic("no noise")
}

// atLeast is the probability that the noise is m or more.
func (n *noisy) atLeast(m float64) float64 {
	switch {
	case m <= 0:
		return 1 - n.atLeast(1-m)
	case !n.gaussian:
		return math.Exp(-m/n.scale) / (1 + math.Exp(-1/n.scale))
	case n.tails == nil: // whole numbers are as good as none between them
		return math.Erfc((m-0.5)/n.scale/math.Sqrt2) / 2
	case m >= float64(len(n.tails)):
		return 0
	}
	return n.tails[int(m)]
}

// told is a lower bound on the δ at ε of what noise on two random vectors tells: that of cells between the values that
// the coordinates take.
func (n *noisy) told(p, q mix, epsilon float64) float64 {
	dims := len(p[0].at)
	cuts := make([][]float64, dims)
	for k := range cuts {
		var at []float64
		for _, w := range slices.Concat(p, q) {
			at = append(at, w.at[k], w.at[k]+1)
		}
		lo, hi := slices.Min(at), slices.Max(at)
		for _, far := range []float64{0.3, 1, 2, 3.5, 5, 8, 12} {
			at = append(at, math.Floor(lo-far*n.scale), math.Ceil(hi+far*n.scale))
		}
		for i := 1; i < 8 && hi > lo+1; i++ {
			at = append(at, math.Round(lo+(hi-lo)*float64(i)/8))
		}
		slices.Sort(at)
		cuts[k] = slices.Compact(at)
	}
	// The probabilities of the cells, as products of those of their sides.
	type sided struct {
		mass  float64
		sides [2][]float64
	}
	var all []sided
	for i, m := range []mix{p, q} {
		for _, w := range m {
			s := sided{mass: w.mass}
			if i == 1 {
				s.mass *= -math.Exp(epsilon)
			}
			for k := range 2 {
				if s.sides[k] = []float64{1}; k < dims {
					s.sides[k] = n.cells(cuts[k], w.at[k])
				}
			}
			all = append(all, s)
		}
	}
	total := 0.0
	for i := range all[0].sides[0] {
		for k := range all[0].sides[1] {
			sum := 0.0
			for _, s := range all {
				sum += s.mass * s.sides[0][i] * s.sides[1][k]
			}
			total += max(0, sum)
		}
	}
	return total
}

// cells are the probabilities with which a number with noise falls between the cuts.
func (n *noisy) cells(cuts []float64, at float64) []float64 {
	out := make([]float64, len(cuts)+1)
	above := 1.0
	for i, c := range cuts {
		next := n.atLeast(c - at)
		out[i], above = above-next, next
	}
	out[len(cuts)] = above
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

// alone is what a run gives for tables of so many units from what it gives for each kind of unit.
type alone struct {
	w      *world
	units  int
	kinds  map[string]mix // of a table in which nothing but one unit of this kind adds to the vector
	none   []float64      // where no unit adds to it
	noise  *noisy
	charge privacy.Point
}

// filler is a unit whose contribution is not random.
var filler = []row{{0, 0}}

// newAlone runs the job on each kind of unit. Where all units are drawn, fillers take part: what they add is the same in
// every table.
func newAlone(w *world, units int) *alone {
	a := &alone{w: w, units: units, kinds: map[string]mix{}}
	fillers := func(n int) [][]row { return slices.Repeat([][]row{filler}, n) }
	run := func(first []row, drawn []int) law {
		w.drawn = drawn
		defer func() { w.drawn = nil }()
		if w.full() && w.relation == "add-remove" {
			return w.law([][]row{first})
		}
		return w.law(append([][]row{first}, fillers(units-1)...))
	}
	var drawn []int
	if !w.full() {
		drawn = []int{0}
	}
	for _, u := range kinds() {
		l := run(u, drawn)
		a.kinds[fmt.Sprint(u)] = l.mixed()
		a.noise, a.charge = newNoisy(l.event), l.charge
	}
	switch {
	case w.fixed():
		a.none = make([]float64, len(a.kinds[fmt.Sprint(filler)][0].at))
	case !w.full():
		a.none = run(filler, []int{}).mixed()[0].at
	case w.relation == "add-remove":
		a.none = w.law(nil).mixed()[0].at
	default:
		a.none = a.kinds[fmt.Sprint(filler)][0].at
	}
	return a
}

// full says that all units are in the release, and fixed that one of them is.
func (w *world) full() bool  { return !strings.Contains(w.release, "from: s") }
func (w *world) fixed() bool { return strings.Contains(w.sample, "srswor") }

// table is the distribution for a table, from those of its units: drawn or not, each adds its own.
func (a *alone) table(units [][]row) mix {
	var out mix
	none := mix{{1, a.none}}
	for i, u := range units {
		own := a.kinds[fmt.Sprint(u)]
		switch {
		case i == 0 && a.w.fixed():
			out = own
		case a.w.fixed():
			out = either(1/float64(i+1), own, out)
		default:
			if !a.w.full() {
				own = either(0.5, own, none)
			}
			if out == nil {
				out = none
			}
			out = out.plus(own, a.none)
		}
	}
	return out
}

// attack compares all neighbours of up to as many units, and returns by how much the charge is exceeded, at most.
//
// What a unit adds to the vector depends on no other unit (which sums checks), and noise tells no more of two tables than
// of two units when the rest of what is added does not depend on the unit. So of the full table and of Poisson samples
// one unit alone is all that has to be looked at. In a sample of one unit the rest is a mixture of what the others add.
// δ is a convex function of it, and of what a random unit adds: it is largest where all others add the same, and where
// nothing is random but the draw.
func (a *alone) attack() float64 {
	seen := map[string]bool{}
	var atoms [][]float64
	for _, m := range a.kinds {
		for _, w := range m {
			if key := fmt.Sprint(w.at); !seen[key] {
				seen[key] = true
				atoms = append(atoms, w.at)
			}
		}
	}
	one := func(at []float64) mix { return mix{{1, at}} }
	worst, n := math.Inf(-1), float64(a.units)
	try := func(p, q mix) {
		worst = max(worst, a.noise.told(p, q, a.charge.Epsilon)-a.charge.Delta, a.noise.told(q, p, a.charge.Epsilon)-a.charge.Delta)
	}
	others := [][]float64{a.none}
	if a.w.fixed() {
		others = atoms
	}
	done := map[string]bool{}
	for _, o := range others {
		for i, x := range atoms {
			if a.w.relation == "add-remove" {
				switch {
				case a.w.fixed():
					try(one(o), either(1/n, one(x), one(o)))
				case a.w.full():
					try(one(o), one(x))
				default:
					try(one(o), either(0.5, one(x), one(o)))
				}
				continue
			}
			for _, y := range atoms[:i] {
				if key := apart(o, x, y); done[key] {
					continue // the same up to a shift, or seen from the other side
				} else {
					done[key] = true
				}
				switch {
				case a.w.fixed():
					try(either(1/n, one(x), one(o)), either(1/n, one(y), one(o)))
				case a.w.full():
					try(one(x), one(y))
				default:
					try(either(0.5, one(x), one(o)), either(0.5, one(y), one(o)))
				}
			}
		}
	}
	return worst
}

// apart is how far two vectors are from a third, whatever the order of the coordinates and of the two.
func apart(o, x, y []float64) string {
	var all []string
	for _, pair := range [][2][]float64{{x, y}, {y, x}} {
		var at []string
		for k := range o {
			at = append(at, fmt.Sprint(pair[0][k]-o[k], ",", pair[1][k]-o[k]))
		}
		slices.Sort(at)
		all = append(all, strings.Join(at, ";"))
	}
	return min(all[0], all[1])
}

// sums compares what the run gives for some whole tables, with all choices of the draw and of the cap, with what is made of
// their units.
func (a *alone) sums(t *testing.T, rng *rand.Rand, tables int) {
	all := kinds()
	extreme := [][]row{{{2, 0}, {2, 0}, {2, 0}}, {{-1, 0}, {2, 1}}, {{2, 1}, {-1, 1}, {-1, 1}}}
	for n := range tables {
		size := a.units
		if a.w.relation == "add-remove" && !a.w.fixed() {
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
	capOne   = "  cap: {groups: 1, rows: 1}"
	capTwo   = "  cap: {groups: 2, rows: 2}"
)

// No pair of neighbours is told apart better than was charged: of all tables of up to four units with up to three rows on
// three values and two groups, for folds and caps, both relations and noises, every design.
func TestNoNeighboursBeatTheCharge(t *testing.T) {
	for _, units := range []string{foldBoth, capOne, capTwo} {
		for _, relation := range []string{"add-remove", "replace-one"} {
			for _, sample := range []string{"", "{method: poisson, rate: 0.5}", "{method: srswor, size: 1}"} {
				for i, release := range []string{
					`mechanism: count, by: [g], guarantee: {epsilon: 1}`,
					`mechanism: sum, params: {column: x}, by: [g], where: "g == 'a' || x > 0", guarantee: {epsilon: 1}`,
					`mechanism: sum, params: {column: x, noise: gaussian}, guarantee: {epsilon: 1, delta: "0.01"}`,
					`mechanism: count, params: {noise: gaussian}, where: "x > 0", by: [g], guarantee: {epsilon: 1, delta: "0.01"}`,
					`mechanism: mean, params: {column: x}, where: "x != 0", guarantee: {epsilon: 1}`,
				} {
					if testing.Short() && i%2 == len(sample)%2 {
						continue
					}
					w := world{dataset: units, relation: relation, sample: sample, release: release}
					sizes := []int{4}
					switch {
					case sample == "":
						w.sample = "{method: poisson, rate: 0.5}" // of which nothing is released
					case strings.Contains(sample, "srswor") && relation == "add-remove" && !strings.Contains(release, "mean"):
						continue // a total cannot be scaled up: the size is secret
					default:
						w.release += ", from: s"
					}
					if w.fixed() && !testing.Short() {
						sizes = []int{2, 3, 4}
					}
					t.Run(strings.NewReplacer("\"", "", ":", "", "{", "", "}", "").Replace(strings.TrimSpace(units+" "+relation+" "+sample+" "+release)), func(t *testing.T) {
						t.Parallel()
						w.t, w.file = t, filepath.Join(t.TempDir(), "tiny.csv")
						for _, n := range sizes {
							a := newAlone(&w, n)
							a.sums(t, rand.New(rand.NewPCG(22, 24)), 2)
							if over := a.attack(); over > 1e-7 {
								t.Errorf("%d units: the charge is exceeded by δ = %.3g", n, over)
							}
						}
					})
				}
			}
		}
	}
}
