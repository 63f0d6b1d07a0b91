package samplers

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/privacy"
)

func mustFrame(t testing.TB, columns string, units ...string) *Frame {
	t.Helper()
	var list []Unit
	for _, u := range units { // "A/a 3"
		key, records, ok := strings.Cut(u, " ")
		if !ok || len(records) != 1 {
			t.Fatalf("bad unit %q", u)
		}
		list = append(list, Unit{Key: strings.Split(key, "/"), Records: int64(records[0] - '0')})
	}
	f, err := NewFrame(strings.Split(columns, "/"), list)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rowsOf lays out a table with the frame's records, the units taking turns.
func rowsOf(f *Frame) (units []int32) {
	for round := int64(0); len(units) < int(f.Records()); round++ {
		for u := range int32(f.Len()) {
			if f.Unit(u).Records > round {
				units = append(units, u)
			}
		}
	}
	return units
}

// lawOf is the exact probability of every sample of a multistage design, by
// listing all subsets at all stages: the definition, not the algorithm.
func lawOf(f *Frame, stages []Stage, units []int32) map[int64]float64 {
	var below func(prefix []string, j int) map[int64]float64
	below = func(prefix []string, j int) map[int64]float64 {
		var parts []map[int64]float64 // the law below each unit, or the one row
		if j == len(f.columns) {
			for row, u := range units {
				if slices.Equal(f.units[u].Key, prefix) {
					parts = append(parts, map[int64]float64{1 << row: 1})
				}
			}
		} else {
			var seen []string
			for _, u := range f.units {
				if slices.Equal(u.Key[:j], prefix) && !slices.Contains(seen, u.Key[j]) {
					seen = append(seen, u.Key[j])
					parts = append(parts, below(append(slices.Clone(prefix), u.Key[j]), j+1))
				}
			}
		}
		take := int(stages[j].Take)
		if stages[j].All {
			take = len(parts)
		}
		law := map[int64]float64{}
		choices := combin.Combinations(len(parts), take)
		for _, chosen := range choices {
			joint := map[int64]float64{0: 1 / float64(len(choices))}
			for _, c := range chosen {
				next := map[int64]float64{}
				for a, p := range joint {
					for b, q := range parts[c] {
						next[a|b] += p * q
					}
				}
				joint = next
			}
			for m, p := range joint {
				law[m] += p
			}
		}
		return law
	}
	return below(nil, 0)
}

type multiCase struct {
	name   string
	frame  *Frame
	stages []Stage
}

func multiCases(t testing.TB) []multiCase {
	return []multiCase{
		{"two stages", mustFrame(t, "unit", "a 2", "b 3", "c 2"), []Stage{{Unit: "unit", Take: 2}, {Take: 1}}},
		{"one record each", mustFrame(t, "unit", "a 2", "b 2", "c 3", "d 3"), []Stage{{Unit: "unit", Take: 1}, {Take: 2}}},
		{"three stages", mustFrame(t, "county/district", "B/c 1", "A/a 2", "A/b 1", "B/d 1", "B/e 2", "C/f 2", "C/g 1"),
			[]Stage{{Unit: "county", Take: 2}, {Unit: "district", Take: 1}, {Take: 1}}},
		{"strata", mustFrame(t, "stratum", "a 3", "b 4"), []Stage{{Unit: "stratum", All: true}, {Take: 2}}},
		{"clusters", mustFrame(t, "cluster", "a 3", "b 1", "c 2"), []Stage{{Unit: "cluster", Take: 2}, {All: true}}},
		{"all of all", mustFrame(t, "cluster", "a 3", "b 1"), []Stage{{Unit: "cluster", All: true}, {All: true}}},
	}
}

func TestMultistageExplored(t *testing.T) {
	for _, c := range multiCases(t) {
		d := must[*Multistage](t)(NewMultistage(c.frame, c.stages))
		units := rowsOf(c.frame)
		law := lawOf(c.frame, c.stages, units)
		mass, rest := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
			sel, err := begin(d, insecurenoise.NewScript(choose), int64(len(units)))
			if err != nil {
				t.Fatal(err)
			}
			drawn, _ := collect(t, sel, len(units), units, 3)
			return mask(drawn)
		})
		if len(mass) != len(law) {
			t.Errorf("%s: %d samples occur, %d should", c.name, len(mass), len(law))
		}
		noisetest.CheckExplored(t, c.name, mass, rest, 0, func(m int64) float64 { return law[m] })
		// The design weights are the inverse inclusion probabilities.
		for row, u := range units {
			pi := 0.0
			for m, p := range mass {
				if m>>row&1 == 1 {
					pi += p
				}
			}
			if w := d.Weight(u); math.Abs(pi*w-1) > 1e-12 {
				t.Errorf("%s: row %d is drawn with probability %g, its weight is %g", c.name, row, pi, w)
			}
		}
	}
}

func TestMultistageChiSquare(t *testing.T) {
	src := newSource(t)
	for _, c := range multiCases(t)[1:4] {
		d := must[*Multistage](t)(NewMultistage(c.frame, c.stages))
		units := rowsOf(c.frame)
		law := lawOf(c.frame, c.stages, units)
		const n = 60_000
		counts := map[int64]int{}
		for range n {
			sel, err := begin(d, src, -1)
			if err != nil {
				t.Fatal(err)
			}
			drawn, weights := collect(t, sel, len(units), units, 4)
			counts[mask(drawn)]++
			for i, w := range weights {
				if w != d.Weight(units[drawn[i]]) {
					t.Fatalf("%s: weight %g of a row with weight %g", c.name, w, d.Weight(units[drawn[i]]))
				}
			}
			if (weights == nil) != d.Facts().EqualWeights {
				t.Fatalf("%s: weights %v with equal weights %v", c.name, weights, d.Facts().EqualWeights)
			}
		}
		var seen []int
		var probs []float64
		for m, p := range law {
			seen, probs = append(seen, counts[m]), append(probs, p)
			delete(counts, m)
		}
		if len(counts) > 0 {
			t.Errorf("%s: %d impossible samples occur", c.name, len(counts))
		}
		checkChiSquareOf(t, c.name, n, seen, probs)
	}
}

func TestMultistageEventAndFacts(t *testing.T) {
	f := mustFrame(t, "county/district", "A/a 6", "A/b 9", "B/c 4", "B/d 8", "B/e 5", "C/f 7", "C/g 3")
	d := must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "county", Take: 2}, {Unit: "district", Take: 1}, {Take: 3}}))
	inner := privacy.Pure{Eps: 1}
	e, ok := d.Event(inner).(privacy.Multistage)
	// Counties 2 of 3; districts 1 of 2 (the smallest county); records 3 of 3.
	want := []privacy.Stage{{Take: 2, Of: 3}, {Take: 1, Of: 2}, {Take: 3, Of: 3}}
	if !ok || e.Inner() != inner || !slices.Equal(e.Stages, want) {
		t.Errorf("event %+v", e)
	}
	facts := d.Facts()
	// Weights 3/2·2·N/3 below counties of two districts, 3/2·3·N/3 in B.
	if facts.SampleSize != 6 || facts.LargestCount != 6 || facts.Population != 42 || facts.EqualWeights ||
		facts.MinWeight != 3 || facts.MaxWeight != 12 || !slices.Equal(facts.UnitColumns, []string{"county", "district"}) {
		t.Errorf("facts %+v", facts)
	}
	if d.Supports(privacy.ReplaceOne) != nil || d.Supports(privacy.AddRemove) == nil || d.Supports(0) == nil {
		t.Error("the relations are wrong")
	}
	// Clusters of unequal size: the size of the draw is random, its bound public.
	c := must[*Multistage](t)(NewMultistage(mustFrame(t, "cluster", "a 3", "b 1", "c 2"), []Stage{{Unit: "cluster", Take: 2}, {All: true}}))
	if f := c.Facts(); f.SampleSize != 0 || f.LargestCount != 5 || !f.EqualWeights || f.MaxWeight != 1.5 {
		t.Errorf("facts %+v", f)
	}
	if e := c.Event(inner).(privacy.Multistage); !slices.Equal(e.Stages, []privacy.Stage{{Take: 2, Of: 3}, {Take: 3, Of: 3, MaxTake: 3}}) {
		t.Errorf("event %+v", e)
	}
	// At most two of each cluster: all of the small ones, so that the largest rate
	// is 1 and the largest number 2.
	m := must[*Multistage](t)(NewMultistage(mustFrame(t, "cluster", "a 3", "b 1", "c 2"), []Stage{{Unit: "cluster", Take: 2}, {Take: 2, AtMost: true}}))
	if e := m.Event(inner).(privacy.Multistage); !slices.Equal(e.Stages, []privacy.Stage{{Take: 2, Of: 3}, {Take: 2, Of: 2, MaxTake: 2}}) {
		t.Errorf("event %+v", e)
	}
	if f := m.Facts(); f.LargestCount != 4 || f.MinWeight != 1.5 || f.MaxWeight != 2.25 {
		t.Errorf("facts %+v", f)
	}
}

func TestMultistageRefuses(t *testing.T) {
	f := mustFrame(t, "county/district", "A/a 6", "A/b 2", "B/c 4", "C/z 0")
	county, district := Stage{Unit: "county", Take: 1}, Stage{Unit: "district", Take: 1}
	for _, c := range []struct {
		stages []Stage
		want   string
	}{
		{nil, "one for each key column"},
		{[]Stage{county, {Take: 2}}, "one for each key column"},
		{[]Stage{district, county, {Take: 1}}, `stages[0].unit: must be "county"`},
		{[]Stage{county, district, district}, "stages[2].unit"},
		{[]Stage{{Unit: "county", Take: 4}, district, {Take: 1}}, "stages[0].take: the frame holds 3 units of county"},
		{[]Stage{county, {Unit: "district", Take: 2}, {Take: 1}}, `stages[1].take: "B" holds 1 units of district`},
		{[]Stage{county, district, {Take: 3}}, `stages[2].take: "A/b" holds 2 records, fewer than are to be taken (3)`},
		{[]Stage{county, district, {All: true}}, `stages[2].take: "C/z" holds 0 records`},
		{[]Stage{county, district, {Take: 1, All: true}}, "not both"},
		{[]Stage{county, district, {}}, "at least 1"},
		{[]Stage{{Unit: "county", Take: -1}, district, {Take: 1}}, "at least 1"},
	} {
		if _, err := NewMultistage(f, c.stages); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.stages, err)
		}
	}
	if _, err := NewMultistage(nil, []Stage{{Take: 1}}); err == nil {
		t.Error("no frame is accepted")
	}
}

// Tables that are not what the frame says: a fixed code, and no key.
func TestFrameMismatch(t *testing.T) {
	src := newSource(t)
	f := mustFrame(t, "unit", "a 2", "b 3")
	multi := must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "unit", Take: 1}, {Take: 1}}))
	strata := must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{1, 2}))
	for _, d := range []Design{multi, strata} {
		for name, units := range map[string][]int32{
			"unknown unit": {0, 0, 1, 1, -1}, "no such number": {0, 0, 1, 1, 2},
			"a unit too large": {0, 0, 0, 1, 1}, "too few rows": {0, 0, 1, 1},
		} {
			sel, err := begin(d, src, -1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = sel.NextUnits(units); err == nil {
				err = sel.Done()
			}
			if !errors.Is(err, &Error{FrameMismatch}) && !errors.Is(err, &Error{SizeMismatch}) {
				t.Errorf("%s, %s: %v", d.Kind(), name, err)
			}
		}
		if _, err := begin(d, src, 6); !errors.Is(err, &Error{SizeMismatch}) {
			t.Errorf("%s of another size: %v", d.Kind(), err)
		}
		sel, err := begin(d, src, 5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sel.Next(2); !errors.Is(err, &Error{Misuse}) {
			t.Errorf("%s without units: %v", d.Kind(), err)
		}
	}
}
