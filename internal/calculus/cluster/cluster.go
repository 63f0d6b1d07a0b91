package cluster

import (
	"math"
	"sort"
)

// Item is a point of a family, with its weight.
type Item struct {
	Family string
	At     []float64
	Weight float64
}

// group is items of one family and the cut that would gain most.
type group struct {
	items []int
	axis  int
	cut   float64
	loss  float64
}

// Groups parts the items into at most limit groups of one family each, by their
// indices: the group with the largest weight times logarithmic width is cut in the
// middle, again and again.
func Groups(items []Item, limit int) [][]int {
	families := map[string][]int{}
	var names []string
	for i, it := range items {
		if families[it.Family] == nil {
			names = append(names, it.Family)
		}
		families[it.Family] = append(families[it.Family], i)
	}
	sort.Strings(names)
	gs := make([]group, 0, max(limit, len(names)))
	for _, f := range names {
		gs = append(gs, weigh(items, families[f]))
	}
	for len(gs) > 0 && len(gs) < limit {
		worst := 0
		for i, g := range gs {
			if g.loss > gs[worst].loss {
				worst = i
			}
		}
		if g := gs[worst]; g.loss > 0 {
			var low, high []int
			for _, i := range g.items {
				if items[i].At[g.axis] > g.cut {
					high = append(high, i)
				} else {
					low = append(low, i)
				}
			}
			gs[worst] = weigh(items, low)
			gs = append(gs, weigh(items, high))
			continue
		}
		break
	}
	out := make([][]int, len(gs))
	for i, g := range gs {
		out[i] = g.items
	}
	return out
}

// weigh finds the widest parameter of the items, and the middle of it.
func weigh(items []Item, of []int) group {
	g := group{items: of}
	weight := 0.0
	for _, i := range of {
		weight += items[i].Weight
	}
	for x := range items[of[0]].At {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, i := range of {
			lo, hi = math.Min(lo, items[i].At[x]), math.Max(hi, items[i].At[x])
		}
		if !(lo < hi) {
			continue
		}
		// Across 0 there is no logarithmic width: that is cut first, at the lower end.
		width, mid := math.Inf(1), lo
		if lo > 0 || hi < 0 {
			a, b := math.Log(math.Abs(lo)), math.Log(math.Abs(hi))
			width, mid = math.Abs(b-a), math.Copysign(math.Exp((a+b)/2), lo)
		}
		if !(mid >= lo && mid < hi) {
			mid = lo
		}
		if loss := width * weight; loss > g.loss {
			g.axis, g.cut, g.loss = x, mid, loss
		}
	}
	return g
}
