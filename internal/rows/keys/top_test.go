package keys

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/privacy"
)

// ranking orders two kept keys. It is told what it must not use: the numbers of units, and the keys of the table's first
// unit.
type ranking func(a, b Key, units population, first []int) int

// top2 is the law of the two largest keys, ranked, with their noisy numbers.
func top2(r Rule, p population, first []int, rank ranking) []float64 {
	const base = 13 // outcomes of a key, as published lists them
	out := make([]float64, 4*base*4*base)
	for i, chance := range law(r, p) {
		var kept []Key
		for key, rest := 0, i; key < len(p); key, rest = key+1, rest/base {
			if noisy := rest % base; noisy > 0 {
				kept = append(kept, Key{string(rune('0' + key)), int64(noisy)})
			}
		}
		slices.SortFunc(kept, func(a, b Key) int { return rank(a, b, p, first) })
		at := 0
		for _, k := range kept[:min(2, len(kept))] {
			at = at*4*base + int(k.Text[0]-'0'+1)*base + int(k.Units)
		}
		out[at] += chance
	}
	return out
}

// What top publishes, two of three ranked keys with their noisy numbers, tells no neighbours apart by more than the target:
// keys of nobody, of one or two units and of about as many as the threshold asks, both relations, units with up to one and two keys.
// Twins that must be caught: a threshold that δ does not pay for, noise for one key of two, a tie that the order of the rows
// breaks, ranks by the numbers without noise.
func TestTopAgainstEnumeration(t *testing.T) {
	sets := map[int64][][]int{1: {{}, {0}, {1}, {2}}, 2: {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}}}
	const eps, delta = .7, .08
	honest := func(a, b Key, _ population, _ []int) int { return byRank(a, b) }
	at := func(k Key) int { return int(k.Text[0] - '0') }
	type variant struct {
		rule Rule
		rank ranking
	}
	caught := map[string]int{}
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		for _, keys := range []int64{1, 2} {
			for _, normal := range []bool{false, true} {
				make, under := laplaceRule, []privacy.Relation{rel}
				if normal {
					make = gaussianRule
				}
				rule, err := make(want(eps, delta, keys, under))
				if err != nil {
					t.Fatal(err)
				}
				r := rule.(*Threshold)
				low := *r
				low.at = 1
				variants := map[string]variant{"": {r, honest}, "no δ": {&low, honest},
					"order of rows": {r, func(a, b Key, _ population, first []int) int {
						return cmp.Or(cmp.Compare(b.Units, a.Units), -cmp.Compare(slices.Index(first, at(a)), slices.Index(first, at(b))), cmp.Compare(a.Text, b.Text))
					}},
					"exact": {r, func(a, b Key, p population, _ []int) int {
						return cmp.Or(cmp.Compare(p[at(b)], p[at(a)]), cmp.Compare(a.Text, b.Text))
					}}}
				if keys == 2 {
					one, err := make(want(eps, delta, 1, under))
					if err != nil {
						t.Fatal(err)
					}
					few, err := NewThreshold(normal, one.(*Threshold).scale, 2, r.delta)
					if err != nil {
						t.Fatal(err)
					}
					variants["one key"] = variant{few, honest}
				}
				for twin, v := range variants {
					laws := map[string][]float64{}
					of := func(p population, changed []int) []float64 {
						id := fmt.Sprint(p, changed)
						if twin != "order of rows" {
							id = fmt.Sprint(p)
						}
						if laws[id] == nil {
							laws[id] = top2(v.rule, p, changed, v.rank)
						}
						return laws[id]
					}
					worst, crowd := 0.0, r.at
				enumeration:
					for _, base := range []population{{}, {crowd, 0, 0}, {crowd, crowd, 0}, {crowd, crowd, crowd}} {
						for p := range populations(1, sets[keys]) {
							for i := range p {
								p[i] += base[i]
							}
							for _, s := range sets[keys] {
								others := sets[keys][:1]
								if rel == privacy.ReplaceOne {
									others = sets[keys]
								}
								for _, o := range others {
									worst = math.Max(worst, distance(of(with(p, s), s), of(with(p, o), o), eps))
									if twin != "" && worst > delta*(1+1e-3) {
										break enumeration
									}
								}
							}
						}
					}
					switch {
					case twin == "" && worst > delta*(1+1e-9):
						t.Errorf("gaussian %v, %d keys under %v: δ(%g) is %g, not %g", normal, keys, rel, eps, worst, delta)
					case twin != "" && worst > delta*(1+1e-3):
						caught[twin]++
					}
				}
			}
		}
	}
	for _, twin := range []string{"no δ", "order of rows", "exact", "one key"} {
		if caught[twin] < 1 {
			t.Errorf("%q was not caught", twin)
		}
	}
	t.Log(caught)
}

// Rank puts the largest first, and equal ones in the order of their texts, however they came.
func TestRank(t *testing.T) {
	for _, keys := range [][]Key{{{"a", 5}, {"b", 9}, {"c", 5}}, {{"c", 5}, {"a", 5}, {"b", 9}}} {
		s := Selection{Keys: keys}
		if s.Rank(); s.Keys[0].Text+s.Keys[1].Text+s.Keys[2].Text != "bac" {
			t.Error(s.Keys)
		}
	}
}

// The table of docs/keys.md: how many of the ten largest of 1,000 values are found, the i-th having 1/i as many persons as
// the first. A selection has half of ε = 1 and δ = 1e-6, the list that is counted whole has all of ε.
func TestTopQuality(t *testing.T) {
	page, err := os.ReadFile("../../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	const values, runs = 1000, 50
	src := insecurenoise.NewSeeded(30)
	top, coins := want(.5, 1e-6, 1, addRemove), want(.5, 1e-6, 1, addRemove)
	top.Counts = true
	var harmonic float64
	for i := range values {
		harmonic += 1 / float64(i+1)
	}
	for _, persons := range []int64{1000, 10_000} {
		sizes := make([]int64, values)
		for i := range sizes {
			sizes[i] = int64(float64(persons) / harmonic / float64(i+1))
		}
		all := func(visit func(string, int64) error) error {
			for i, n := range sizes {
				if n > 0 {
					if err := visit(strconv.Itoa(i), n); err != nil {
						return err
					}
				}
			}
			return nil
		}
		var found [3]int
		for range runs {
			for at, w := range []Want{top, coins} {
				r, err := Calibrate(w)
				if err != nil {
					t.Fatal(err)
				}
				s, err := Select(context.Background(), all, r, 10, src)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range s.Keys {
					if len(k.Text) == 1 { // 0 to 9 are the largest
						found[at]++
					}
				}
			}
			noisy := slices.Clone(sizes)
			if err := noise.AddDiscreteLaplace(src, noisy, 1); err != nil {
				t.Fatal(err)
			}
			ranks := make([]int, values)
			for i := range ranks {
				ranks[i] = i
			}
			// Ties go to the value with fewer persons, which does the list no favour.
			slices.SortFunc(ranks, func(a, b int) int { return cmp.Or(cmp.Compare(noisy[b], noisy[a]), cmp.Compare(b, a)) })
			for _, i := range ranks[:10] {
				if i < 10 {
					found[2]++
				}
			}
		}
		mean := func(n int) float64 { return float64(n) / runs }
		row := fmt.Sprintf("| %d | %.1f | %.1f | %.1f |", persons, mean(found[0]), mean(found[1]), mean(found[2]))
		if !bytes.Contains(page, []byte(row)) {
			t.Errorf("the page lacks %s", row)
		}
	}
}
