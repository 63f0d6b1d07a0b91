package samplers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draws enumerates the samples of a multistage design over the tree below n: each with its
// probability and the weight of every ultimate unit's drawn records. Records of one unit are alike, so a unit stands for them.
func draws(d *Multistage, n *node, j int, weight float64) []map[int32]float64 {
	of, take := int(n.size()), int(d.taken(n, j))
	weight *= float64(of) / float64(take)
	if n.children == nil {
		return []map[int32]float64{{n.unit: weight}}
	}
	var out []map[int32]float64
	var choose func(at, left int, sofar []map[int32]float64)
	choose = func(at, left int, sofar []map[int32]float64) {
		if left == 0 {
			out = append(out, sofar...)
			return
		}
		if of-at < left {
			return
		}
		choose(at+1, left, sofar)
		var with []map[int32]float64
		for _, a := range sofar {
			for _, b := range draws(d, n.children[at], j+1, weight) {
				c := map[int32]float64{}
				for k, v := range a {
					c[k] = v
				}
				for k, v := range b {
					c[k] = v
				}
				with = append(with, c)
			}
		}
		choose(at+1, left-1, with)
	}
	choose(0, take, []map[int32]float64{{}})
	return out
}

// Every sample of small three-stage designs, all equally likely where no unit is short: the variance of the
// weighted size, and of unit effects, is what Dispersion says.
func TestDispersionAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for trial := range 12 {
		var units []Unit
		for a := range 3 {
			for b := range 3 {
				units = append(units, Unit{Key: []string{fmt.Sprint(a), fmt.Sprint(b)}, Records: 2 + rng.Int64N(5)})
			}
		}
		f, err := NewFrame([]string{"a", "b"}, units)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewMultistage(f, []Stage{{Unit: "a", Take: 1 + int64(trial%3)}, {Unit: "b", Take: 1 + int64(trial/3%3)}, {Take: 1 + rng.Int64N(2)}})
		if err != nil {
			t.Fatal(err)
		}
		n := float64(f.Records())
		var size, within float64
		all := draws(d, d.root, 0, 1)
		for _, s := range all {
			total, byTop := 0.0, map[string]float64{}
			for u := range f.units {
				held := float64(f.units[u].Records)
				w := s[int32(u)]
				// The drawn records of u, each with its weight, count as many as the unit holds divided by the chance of the unit.
				share := 0.0
				if w > 0 {
					share = w * float64(d.stages[2].Take)
				}
				total += share
				byTop[f.units[u].Key[0]] += share - held
			}
			size += (total - n) * (total - n) / float64(len(all))
			for _, x := range byTop {
				within += x * x / float64(len(all))
			}
		}
		got := d.Dispersion()
		if math.Abs(got.Size-size/n/n) > 1e-12 || math.Abs(got.Units-within/n/n) > 1e-12 {
			t.Errorf("%d: %+v, enumerated %g, %g", trial, got, size/n/n, within/n/n)
		}
	}
}

// A sampled mean of simulated values errs as Dispersion says: equal clusters have a
// closed form.
func TestDispersionOfEqualClusters(t *testing.T) {
	var units []Unit
	for a := range 20 {
		units = append(units, Unit{Key: []string{fmt.Sprint(a)}, Records: 50})
	}
	f, err := NewFrame([]string{"a"}, units)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewMultistage(f, []Stage{{Unit: "a", Take: 5}, {Take: 10}})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Dispersion()
	if got.Size != 0 || math.Abs(got.Units-(1.0/5-1.0/20)) > 1e-15 || math.Abs(got.Records-(1.0/50-1.0/1000)) > 1e-15 {
		t.Errorf("%+v", got)
	}
	s, err := NewStratifiedTake(f, slices.Repeat([]int64{10}, 20))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Dispersion(); got.Size != 0 || got.Units != 0 || math.Abs(got.Records-(1.0/200-1.0/1000)) > 1e-15 {
		t.Errorf("%+v", got)
	}
	if v := got.Mean(4, 0.25, 9); math.Abs(v-(4*0.25*0.15+4*0.75*0.019)) > 1e-15 {
		t.Errorf("mean %g", v)
	}
}
