package run

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// hajek is a mean of a Poisson sample as a ratio: a noisy sum and a noisy count, released as one vector.
type hajek struct {
	*world
	relation privacy.Relation
	known    map[string][]float64 // the vector of a sample, by the values in it
}

// vector returns the sums of the units of a sample, without noise.
func (h *hajek) vector(values []int) []float64 {
	h.t.Helper()
	key := fmt.Sprint(values)
	if known := h.known[key]; known != nil {
		return known
	}
	var units [][]row
	for i, x := range values {
		units, h.drawn = append(units, []row{{x, 0}}), append(h.drawn[:min(i, len(h.drawn))], i)
	}
	if h.drawn == nil {
		h.drawn = []int{}
	}
	h.drawn = h.drawn[:len(values)]
	for len(units) < 4 { // others, who are not drawn
		units = append(units, []row{{0, 0}})
	}
	l := h.law(units)
	for _, v := range l.vector {
		h.known[key] = v
	}
	return h.known[key]
}

// pairOf is the law of the sums of two jobs on one kept sample of half of the units, in expectation.
func (h *hajek) pairOf(values []int) (m mix) {
	for set := range 1 << len(values) {
		var some []int
		for i, x := range values {
			if set>>i&1 == 1 {
				some = append(some, x)
			}
		}
		slices.Sort(some)
		v := h.vector(some)
		m = append(m, chanced{1 / float64(int(1)<<len(values)), slices.Concat(v, v)})
	}
	return m
}

// tells is a lower bound on the δ at ε of what noise on two random vectors tells, by the cells between few cuts.
func tells(n *noisy, p, q mix, epsilon float64) float64 {
	cuts := make([][]float64, len(p[0].at))
	for k := range cuts {
		for _, w := range slices.Concat(p, q) {
			cuts[k] = append(cuts[k], w.at[k], w.at[k]+1)
		}
		slices.Sort(cuts[k])
		cuts[k] = slices.Compact(cuts[k])
	}
	sums := map[int]float64{}
	for i, m := range []mix{p, q} {
		for _, w := range m {
			cells := []float64{w.mass * []float64{1, -math.Exp(epsilon)}[i]}
			for k := range cuts {
				var next []float64
				for _, c := range cells {
					for _, side := range n.cells(cuts[k], w.at[k]) {
						next = append(next, c*side)
					}
				}
				cells = next
			}
			for c, mass := range cells {
				sums[c] += mass
			}
		}
	}
	total := 0.0
	for _, s := range sums {
		total += max(0, s)
	}
	return total
}

// Two jobs release the mean of one kept Poisson sample as a ratio, and together tell no more than the ledger charges for what
// was spent on the sample in all, whoever joins, leaves or changes. A second job that runs free is found out; under add-remove,
// where the charge is attained, so are amplifying each job by itself (P4), and a sum and a count as if a row moved one of them
// alone. // P12
func TestTwoMeansOfOnePoissonSample(t *testing.T) {
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		w := &world{t: t, file: filepath.Join(t.TempDir(), "tiny.csv"), unit: "column: u, name: unit, rows: 1", relation: rel.String(),
			sample: "{method: poisson, rate: 0.5}", release: `from: s, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}`}
		h := &hajek{w, rel, map[string][]float64{}}
		event := w.plan(4).Draws[0].Releases[0].Plan.Event
		if n := len(h.vector(nil)); n != 2 {
			t.Fatalf("%s: a mean of a Poisson sample is made of %d sums", rel, n)
		}
		reuse, err := privacy.NewReuse(privacy.Poisson{Rate: 0.5}, rel)
		if err != nil {
			t.Fatal(err)
		}
		spent := 0.0
		for _, under := range []privacy.Relation{privacy.AddRemove, rel} {
			a, err := privacy.EpsilonAt(event, under, 0)
			if err != nil {
				t.Fatal(err)
			}
			spent = max(spent, a.Epsilon)
		}
		charged, err := reuse.Epsilon(2 * spent)
		if err != nil {
			t.Fatal(err)
		}
		once, err := reuse.Epsilon(spent)
		if err != nil {
			t.Fatal(err)
		}
		noise, free, apart, counted := newNoisy(event), 0.0, 0.0, 0.0
		asCount := func(m mix) (out mix) {
			for _, c := range m {
				out = append(out, chanced{c.mass, []float64{c.at[0], c.at[0] + c.at[1], c.at[2], c.at[2] + c.at[3]}})
			}
			return out
		}
		for _, others := range [][]int{{}, {-1}, {2}, {-1, 2}, {0, 2}, {2, 2}, {-1, -1}} {
			var laws []mix
			if rel == privacy.AddRemove {
				laws = append(laws, h.pairOf(others))
			}
			for _, x := range []int{-1, 0, 2} {
				laws = append(laws, h.pairOf(append(slices.Clone(others), x)))
			}
			for i, p := range laws {
				for k, q := range laws {
					if i == k || rel == privacy.AddRemove && i > 0 && k > 0 {
						continue
					}
					if d := tells(noise, p, q, charged); d > 1e-9 {
						t.Errorf("%s: beside %v, two tables are told apart with δ %g at the ε %g that was charged", rel, others, d, charged)
					}
					free = max(free, tells(noise, p, q, once))
					apart, counted = max(apart, tells(noise, p, q, 2*once)), max(counted, tells(noise, asCount(p), asCount(q), charged))
				}
			}
		}
		if free < 1e-3 || rel == privacy.AddRemove && min(apart, counted) < 1e-3 {
			t.Errorf("%s: a free second job (%g), amplifying each job by itself (%g), or a free count (%g) is not found out", rel, free, apart, counted)
		}
	}
}
