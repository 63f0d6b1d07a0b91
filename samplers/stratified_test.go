package samplers

import (
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/privacy"
)

func TestStratifiedTakeExplored(t *testing.T) {
	f := mustFrame(t, "stratum", "a 3", "b 4", "c 1")
	d := must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{1, 3, 1}))
	units := rowsOf(f)
	mass, rest := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
		sel, err := begin(d, insecurenoise.NewScript(choose), 8)
		if err != nil {
			t.Fatal(err)
		}
		drawn, weights := collect(t, sel, 8, units, 3)
		taken := make([]int64, 3)
		for i, r := range drawn {
			taken[units[r]]++
			if weights[i] != d.Weight(units[r]) {
				t.Fatal("a row has another stratum's weight")
			}
		}
		if !slices.Equal(taken, []int64{1, 3, 1}) {
			t.Fatalf("%v drawn", taken)
		}
		return mask(drawn)
	})
	if len(mass) != 3*4*1 {
		t.Errorf("%d samples occur, 12 should", len(mass))
	}
	noisetest.CheckExplored(t, "stratified", mass, rest, 0, func(int64) float64 { return 1.0 / 12 })
}

func TestStratifiedTakeFactsAndEvent(t *testing.T) {
	f := mustFrame(t, "stratum", "a 3", "b 4", "c 8")
	d := must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{1, 3, 6}))
	inner := privacy.Pure{Eps: 1}
	if e := d.Event(inner); e != (privacy.WithoutReplacement{Take: 6, Of: 8, Event: inner}) {
		t.Errorf("event %v", e)
	}
	facts := d.Facts()
	if facts.SampleSize != 10 || facts.Population != 15 || facts.LargestCount != 10 || facts.EqualWeights || facts.MaxWeight != 3 {
		t.Errorf("facts %+v", facts)
	}
	if d.Supports(privacy.ReplaceOne) != nil || d.Supports(privacy.AddRemove) == nil || d.Supports(0) == nil {
		t.Error("the relations are wrong")
	}
	for _, take := range [][]int64{nil, {1, 1}, {0, 1, 1}, {1, 5, 1}, {1, -1, 1}} {
		if _, err := NewStratifiedTake(f, take); err == nil || !strings.HasPrefix(err.Error(), "strata: ") {
			t.Errorf("%v: %v", take, err)
		}
	}
	if _, err := NewStratifiedTake(nil, nil); err == nil {
		t.Error("no frame is accepted")
	}
}

func TestStratifiedPoissonFit(t *testing.T) {
	f := mustFrame(t, "stratum", "a 0", "b 0", "c 0")
	d := must[*StratifiedPoisson](t)(NewStratifiedPoisson(f, []Rate{mustRate(t, "0.25"), mustRate(t, "0.01"), mustRate(t, "1")}))
	src := newSource(t)
	units := make([]int32, 120)
	for i := range units {
		units[i] = int32(i*7%5) - 1 // −1 and 3 are in no stratum
	}
	const n = 30_000
	p := func(u int32) float64 { return []float64{0, 0.25, 0.01, 1, 0}[u+1] }
	single := make([]int, len(units))
	var pairs, neighbours []int
	for range n {
		sel, err := begin(d, src, -1)
		if err != nil {
			t.Fatal(err)
		}
		drawn, weights := collect(t, sel, len(units), units, 31)
		here := make([]bool, len(units))
		for i, r := range drawn {
			single[r]++
			here[r] = true
			if weights[i] != 1/p(units[r]) {
				t.Fatal("a row has another stratum's weight")
			}
		}
		pairs = pairs[:0]
		for i := range units[1:] {
			pairs = append(pairs, int(b2i(here[i] && here[i+1])))
		}
		if neighbours == nil {
			neighbours = make([]int, len(pairs))
		}
		for i, v := range pairs {
			neighbours[i] += v
		}
	}
	var counts []int
	var probs []float64
	check := func(count int, p float64) {
		switch {
		case p == 0 && count > 0, p == 1 && count < n:
			t.Errorf("%d of %d at probability %g", count, n, p)
		case p > 0 && p < 1:
			counts, probs = append(counts, count), append(probs, p)
		}
	}
	for i, u := range units {
		check(single[i], p(u))
	}
	for i := range neighbours {
		check(neighbours[i], p(units[i])*p(units[i+1]))
	}
	noisetest.CheckCells(t, "rows and neighbours", n, counts, probs)
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func TestStratifiedPoissonFactsAndEvent(t *testing.T) {
	f := mustFrame(t, "stratum", "a 0", "b 0")
	d := must[*StratifiedPoisson](t)(NewStratifiedPoisson(f, []Rate{mustRate(t, "0.1"), mustRate(t, "0.5")}))
	if e := d.Event(nil).(privacy.Poisson); e.Rate != 0.5 {
		t.Errorf("event %v", e)
	}
	facts := d.Facts()
	if facts.SampleSize != 0 || facts.Population != 0 || facts.LargestCount != 0 || facts.MinWeight != 2 || facts.MaxWeight != 10 || facts.EqualWeights || facts.Rate != 0 {
		t.Errorf("facts %+v", facts)
	}
	if d.Supports(privacy.AddRemove) != nil || d.Supports(privacy.ReplaceOne) == nil || d.Supports(0) == nil {
		t.Error("the relations are wrong")
	}
	for _, rates := range [][]Rate{nil, {mustRate(t, "1")}, {mustRate(t, "1"), {}}} {
		if _, err := NewStratifiedPoisson(f, rates); err == nil {
			t.Errorf("%v is accepted", rates)
		}
	}
}
