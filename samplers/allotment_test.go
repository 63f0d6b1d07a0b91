package samplers

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/privacy"
)

// allotted makes an allotment with a secret of one byte.
func allotted(t testing.TB, panel privacy.Rotation, wave int64, secret byte) *Allotment {
	t.Helper()
	key := make([]byte, 32)
	key[0] = secret
	return must[*Allotment](t)(NewAllotment(panel, wave, key))
}

func maskOf(waves []int64) (m int64) {
	for _, w := range waves {
		m |= 1 << (w - 1)
	}
	return m
}

// wavesLaw is the law of the waves of one unit, as a set of bits.
func wavesLaw(t *testing.T, panel privacy.Rotation) map[int64]float64 {
	t.Helper()
	a := allotted(t, panel, 1, 0)
	law, rest := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
		return maskOf(a.waves(insecurenoise.NewScript(choose)))
	})
	if rest > 0 {
		t.Fatalf("%g of the law was not explored", rest)
	}
	return law
}

// Every set of waves has exactly its chance, and the chance of a wave is that of the event.
func TestAllotmentsAreExact(t *testing.T) {
	listed := privacy.Rotation{Waves: 4, Patterns: []privacy.Pattern{{Waves: []int64{1, 2}}, {Waves: []int64{3, 4}, Weight: 3}, {Waves: []int64{1, 2}}}}
	for _, c := range []struct {
		panel privacy.Rotation
		want  func(set int64) float64
	}{
		{privacy.Rotation{Waves: 4, In: 1}, func(int64) float64 { return 1. / 4 }},
		{privacy.Rotation{Waves: 5, In: 2}, func(int64) float64 { return 1. / 10 }},
		{privacy.Rotation{Waves: 6, In: 4}, func(int64) float64 { return 1. / 15 }},
		{privacy.Rotation{Waves: 3, In: 3}, func(int64) float64 { return 1 }},
		{listed, func(set int64) float64 { return map[int64]float64{0b0011: 2. / 5, 0b1100: 3. / 5}[set] }},
	} {
		law := wavesLaw(t, c.panel)
		all := 0.0
		for set, p := range law {
			if all += p; math.Abs(p-c.want(set)) > 1e-12 || c.panel.In > 0 && bits.OnesCount64(uint64(set)) != int(c.panel.In) {
				t.Errorf("%v: the set %b has the chance %g, want %g", c.panel, set, p, c.want(set))
			}
		}
		for w := int64(1); w <= c.panel.Waves; w++ {
			got := 0.0
			for set, p := range law {
				got += p * float64(set>>(w-1)&1)
			}
			if want, _ := c.panel.Chance(w).Float64(); math.Abs(got-want) > 1e-12 || math.Abs(all-1) > 1e-12 {
				t.Errorf("%v: wave %d has the chance %g, the event says %g", c.panel, w, got, want)
			}
		}
	}
}

// Whether a unit is in a wave follows from the secret and its identifier: whatever was asked before,
// in whatever order. Other secrets, and other identifiers, give other sets.
func TestAllotmentIsTheUnits(t *testing.T) {
	panel := privacy.Rotation{Waves: 12, In: 3}
	units := make([][]byte, 200)
	for i := range units {
		units[i] = fmt.Appendf(nil, "%d", i)
	}
	sets := func(secret byte, order []int) []int64 {
		out := make([]int64, len(units))
		for w := panel.Waves; w >= 1; w-- {
			a := allotted(t, panel, w, secret)
			for _, i := range order {
				if a.Has(units[i]) {
					out[i] |= 1 << (w - 1)
				}
			}
		}
		return out
	}
	forth, back := make([]int, len(units)), make([]int, len(units))
	for i := range units {
		forth[i], back[len(units)-1-i] = i, i
	}
	one := sets(1, forth)
	if !slices.Equal(one, sets(1, back)) || slices.Equal(one, sets(2, forth)) {
		t.Error("the order of the units matters, or the secret does not")
	}
	// The secret is fixed, so this is the same in every run: 200 units choose about 132 of 220 sets.
	different := slices.Compact(slices.Sorted(slices.Values(one)))
	for _, set := range one {
		if bits.OnesCount64(uint64(set)) != 3 {
			t.Fatalf("a unit is in the waves %b", set)
		}
	}
	if len(different) < 60 {
		t.Errorf("%d different sets", len(different))
	}
	// The real streams: 20,000 units over the six sets of 2 of 4 waves.
	small := privacy.Rotation{Waves: 4, In: 2}
	a := allotted(t, small, 1, 3)
	index, counts := map[int64]int{}, make([]int, 6)
	for set := range int64(16) {
		if bits.OnesCount64(uint64(set)) == 2 {
			index[set] = len(index)
		}
	}
	for i := range 20_000 {
		counts[index[maskOf(a.waves(a.key.SourceOf(fmt.Appendf(nil, "unit %d", i))))]]++
	}
	noisetest.CheckCells(t, "2 of 4", 20_000, counts, []float64{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6})
	if _, err := NewAllotment(small, 5, make([]byte, 32)); err == nil {
		t.Error("a wave that is not there")
	}
	if _, err := NewAllotment(small, 1, nil); err == nil {
		t.Error("no secret")
	}
}

// joint lists who is in which waves, as bits, with its chance, given which units are there.
type joint func(there []bool) []placing

type placing struct {
	sets []int64
	p    float64
	// seen is the part of it that readers know.
	seen int64
}

// alone allots each unit by itself.
func alone(law map[int64]float64) joint {
	return func(there []bool) []placing {
		all := []placing{{p: 1}}
		for range there {
			var next []placing
			for _, one := range all {
				for set, p := range law {
					next = append(next, placing{append(slices.Clone(one.sets), set), one.p * p, 0})
				}
			}
			all = next
		}
		return all
	}
}

// answers is the law of the answers of two waves: whether a number of units is even, with a lie at
// odds of 1 to e^ε0. What is counted in the second wave follows the first answer. Values are those of
// each unit in each wave, 0 where the table of the wave has it not.
func answers(place joint, values [][2]int, eps0 float64) map[int64]float64 {
	there := make([]bool, len(values))
	for u, v := range values {
		there[u] = v != [2]int{}
	}
	out := map[int64]float64{}
	truth := 1 / (1 + math.Exp(-eps0))
	for _, one := range place(there) {
		for answer := range int64(4) {
			p := one.p
			for w := range 2 {
				n := int64(0)
				for u, v := range values {
					if one.sets[u]>>w&1 == 1 && v[w] > 0 && (w == 0 || answer&1 == 0 || v[w] == 2) {
						n++
					}
				}
				if answer>>w&1 == n&1 {
					p *= truth
				} else {
					p *= 1 - truth
				}
			}
			out[answer|one.seen<<2] += p
		}
	}
	return out
}

// worstPanel is the largest δ(ε) of two series of tables that differ in a unit, both ways.
func worstPanel(place joint, eps0, eps float64) (worst float64) {
	var units [][2]int
	for a := range 3 {
		for b := range 3 {
			units = append(units, [2]int{a, b})
		}
	}
	for _, x := range units {
		for _, y := range units {
			for _, z := range units {
				with, without := answers(place, [][2]int{x, y, z}, eps0), answers(place, [][2]int{{}, y, z}, eps0)
				there, gone := 0.0, 0.0
				for o := range keysOf(with, without) {
					there += math.Max(0, with[o]-math.Exp(eps)*without[o])
					gone += math.Max(0, without[o]-math.Exp(eps)*with[o])
				}
				worst = max(worst, there, gone)
			}
		}
	}
	return worst
}

func keysOf(maps ...map[int64]float64) map[int64]bool {
	out := map[int64]bool{}
	for _, m := range maps {
		for k := range m {
			out[k] = true
		}
	}
	return out
}

// Every series of two tables of up to three units, whose values change from wave to wave and who may
// be in one of the tables alone: with the allotment as it is drawn, nothing is worse than the charge.
// Twins are an allotment that is drawn anew for each wave, and waves that readers know.
func TestDrawnPanels(t *testing.T) {
	panel := privacy.Rotation{Waves: 2, In: 1}
	known := func(there []bool) []placing {
		all := alone(map[int64]float64{1: 0.5, 2: 0.5})(there)
		for i := range all {
			all[i].seen = all[i].sets[0]
		}
		return all
	}
	for _, c := range []struct {
		name  string
		place joint
		sound bool
	}{
		{"as drawn", alone(wavesLaw(t, panel)), true},
		{"drawn anew for each wave", alone(map[int64]float64{0: .25, 1: .25, 2: .25, 3: .25}), false},
		{"known", known, false},
	} {
		caught := false
		for _, eps0 := range []float64{0.5, 1.5} {
			for _, eps := range []float64{0.05, 0.2, 0.6, 1.2, 1.1 * eps0} {
				charged, err := privacy.DeltaAt(panel.With(privacy.Pure{Eps: eps0}), privacy.AddRemove, eps)
				if err != nil {
					t.Fatal(err)
				}
				truth := worstPanel(c.place, eps0, eps)
				if c.sound && charged.Delta < truth*(1-1e-12) {
					t.Errorf("%s, ε0 = %g, ε = %g: charged %g, the truth is %g", c.name, eps0, eps, charged.Delta, truth)
				}
				caught = caught || charged.Delta < truth*0.99
			}
		}
		if !c.sound && !caught {
			t.Errorf("%s: nothing is worse than the charge", c.name)
		}
	}
}

// Six units are counted in each of two waves, with clamped geometric noise. Where each is allotted by
// itself, one unit more costs no more than the charge. The twin allots it together with the others, as
// a village is: the numbers say in which wave they are, and so where the unit is.
func TestUnitsAllottedTogether(t *testing.T) {
	const others, eps0 = 5, 1.5
	panel := privacy.Rotation{Waves: 2, In: 1}
	lie := math.Exp(-eps0)
	noisy := func(n, out int) float64 {
		p := math.Pow(lie, math.Abs(float64(out-n)))
		if out == 0 || out == others+1 {
			return p / (1 + lie)
		}
		return p * (1 - lie) / (1 + lie)
	}
	law := func(place joint, units int) []float64 {
		out := make([]float64, (others+2)*(others+2))
		for _, one := range place(make([]bool, units)) {
			n := [2]int{}
			for _, set := range one.sets {
				n[set-1]++
			}
			for i := range out {
				out[i] += one.p * noisy(n[0], i%(others+2)) * noisy(n[1], i/(others+2))
			}
		}
		return out
	}
	together := func(there []bool) []placing {
		one, two := make([]int64, len(there)), make([]int64, len(there))
		for i := range there {
			one[i], two[i] = 1, 2
		}
		return []placing{{one, 0.5, 0}, {two, 0.5, 0}}
	}
	for name, place := range map[string]joint{"as drawn": alone(wavesLaw(t, panel)), "together": together} {
		caught := false
		with, without := law(place, others+1), law(place, others)
		for _, eps := range []float64{0.2, 0.6, 1, 1.3} {
			charged, err := privacy.DeltaAt(panel.With(privacy.Pure{Eps: eps0}), privacy.AddRemove, eps)
			if err != nil {
				t.Fatal(err)
			}
			truth := max(delta(with, without, eps), delta(without, with, eps))
			if name == "as drawn" && charged.Delta < truth*(1-1e-12) {
				t.Errorf("ε = %g: charged %g, the truth is %g", eps, charged.Delta, truth)
			}
			caught = caught || charged.Delta < truth*0.99
		}
		if caught != (name == "together") {
			t.Errorf("%s: worse than the charge: %v", name, caught)
		}
	}
}

// The wave as a design: weights and event are those of the wave, for means and totals of the
// population.
func TestWaveOfADrawnPanel(t *testing.T) {
	panel := privacy.Rotation{Waves: 6, In: 2}
	d := must[*Gathered](t)(NewWave(panel, 4))
	if f := d.Facts(); f.Rate > 1./3 || f.Rate < 1./3-1e-12 || f.MaxWeight < 3 || f.MaxWeight > 3+1e-9 || !f.EqualWeights {
		t.Errorf("%+v", f)
	}
	var src *noise.Source
	if _, err := d.begin(src, 10); err != nil {
		t.Error(err)
	}
}
