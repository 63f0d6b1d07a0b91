package cluster

import (
	"math/rand/v2"
	"testing"
)

func TestGroupsPartTheItems(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		items := make([]Item, 1+r.IntN(300))
		families := map[string]bool{}
		for i := range items {
			f := string(rune('a' + r.IntN(4)))
			families[f] = true
			at := []float64{-r.Float64() * 10, r.ExpFloat64(), float64(r.IntN(3))}
			items[i] = Item{f, at, float64(1 + r.IntN(5))}
		}
		limit := 1 + r.IntN(40)
		groups := Groups(items, limit)
		if len(groups) > max(limit, len(families)) {
			t.Fatalf("%d groups of %d families, limit %d", len(groups), len(families), limit)
		}
		seen := make([]int, len(items))
		for _, g := range groups {
			for _, i := range g {
				seen[i]++
				if items[i].Family != items[g[0]].Family {
					t.Fatal("two families in one group")
				}
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("item %d is in %d groups", i, n)
			}
		}
	}
}

func TestGroupsAreNarrow(t *testing.T) {
	var items []Item
	for i := range 1000 {
		items = append(items, Item{"a", []float64{1 + float64(i)/1000}, 1})
	}
	for _, g := range Groups(items, 64) {
		if w := items[g[len(g)-1]].At[0] / items[g[0]].At[0]; w > 1.025 {
			t.Fatalf("a group spans a factor of %v, of 2 in all", w)
		}
	}
}
