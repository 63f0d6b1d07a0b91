package quantiles

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// tiny is a recursion on a lattice of so many cells with so many points each.
func tiny(q ranks, cells, points int64, groups int, replace, keeps bool) *search {
	s := &search{layout: &layout{}, levels: q.levels(), replace: replace, keeps: keeps, points: points, heaviest: 1, perWeight: 1}
	s.Quantiles, s.cells, s.lattice.cells = q, linear.Cells{N: groups}, cells
	return s
}

// grouped makes the groups of a table whose rows are cells, one list a group.
func (s *search) grouped(table [][]int64) []group {
	out := make([]group, len(table))
	for g, rows := range table {
		counts := new([page]int64)
		for _, cell := range rows {
			counts[cell]++
		}
		out[g] = newGroup(s.points, &tally{pages: []*[page]int64{counts}})
	}
	return out
}

// scorer makes the pieces of a draw: the mechanism's own, or those of a twin.
type scorer func(g group, last bool, lo, hi, num, den int64, rate float64) []sdk.Piece

var honest scorer = group.scores

// cost is the largest ε that a level turns out to cost on two tables, in units of what it
// declares, over all cuts that the levels above can have made.
func (s *search) levelCost(a, b []group, score scorer) (worst float64) {
	const epsilon = 0.5
	m := len(s.Quantiles)
	// states are the cuts so far, of all groups.
	states := [][]int64{make([]int64, s.cells.N*m)}
	for k, level := range s.levels {
		var next [][]int64
		for _, cuts := range states {
			total := 0.0
			here := [][]int64{cuts}
			for g := range s.cells.N {
				for _, n := range level {
					lo, hi := int64(0), s.lattice.cells*s.points
					if n.from >= 0 {
						lo = cuts[g*m+n.from]
					}
					if n.to < m {
						hi = cuts[g*m+n.to]
					}
					num, den := n.share(s.Quantiles)
					rate := sdk.SelectRate(epsilon, s.sensitivity(k, num, den))
					p, q := score(a[g], n.last, lo, hi, num, den, rate), score(b[g], n.last, lo, hi, num, den, rate)
					least, most := math.Inf(1), math.Inf(-1)
					var grown [][]int64
					for x := lo; x <= hi; x++ {
						d := float64(at(p, x) - at(q, x))
						least, most = math.Min(least, d), math.Max(most, d)
						if k+1 < len(s.levels) {
							for _, h := range here {
								c := append([]int64(nil), h...)
								c[g*m+n.at] = x
								grown = append(grown, c)
							}
						}
					}
					if k+1 < len(s.levels) {
						here = grown
					}
					total += rate * (most - least)
				}
			}
			if worst = math.Max(worst, total/epsilon); k+1 < len(s.levels) {
				next = append(next, here...)
			}
		}
		states = next
	}
	return worst
}

func at(pieces []sdk.Piece, x int64) int64 {
	for _, p := range pieces {
		if p.Lo <= x && x <= p.Hi {
			return p.At(x)
		}
	}
	panic("the pieces do not tile the range")
}

// eachTable calls visit for every table of at most most rows: for each group a list of
// cells, ascending.
func eachTable(groups int, cells int64, most int, visit func(table [][]int64)) {
	table := make([][]int64, groups)
	var fill func(from, left int)
	fill = func(from, left int) {
		visit(table)
		if left == 0 {
			return
		}
		for place := from; place < groups*int(cells); place++ {
			g := place / int(cells)
			table[g] = append(table[g], int64(place)%cells)
			fill(place, left-1)
			table[g] = table[g][:len(table[g])-1]
		}
	}
	fill(0, most)
}

// worstCost is the largest share of ε that a level costs between any two neighbours.
func (s *search) worstCost(rows int, score scorer) (worst float64) {
	cells := s.lattice.cells
	eachTable(s.cells.N, cells, rows, func(table [][]int64) {
		a := s.grouped(table)
		var others [][]int64 // the two places of a row that is replaced; −1 for none
		for place := range int64(s.cells.N) * cells {
			others = append(others, []int64{-1, place})
			for other := range place {
				if s.replace && (!s.keeps || other/cells == place/cells) {
					others = append(others, []int64{other, place})
				}
			}
		}
		for _, o := range others {
			with := func(place int64) []group {
				if place < 0 {
					return a
				}
				more := make([][]int64, len(table))
				for g := range table {
					more[g] = append([]int64(nil), table[g]...)
				}
				more[place/cells] = append(more[place/cells], place%cells)
				return s.grouped(more)
			}
			worst = math.Max(worst, s.levelCost(with(o[0]), with(o[1]), score))
		}
	})
	return worst
}

// TestLevelsCostWhatTheyDeclare enumerates all neighbours among tiny tables and all cuts:
// no level costs more than its ε, and some pair costs nearly all of it.
func TestLevelsCostWhatTheyDeclare(t *testing.T) {
	for _, c := range []struct {
		q              ranks
		cells, points  int64
		groups, rows   int
		replace, keeps bool
	}{
		{ranks{5000}, 3, 2, 1, 3, false, false},
		{ranks{1000}, 3, 2, 1, 3, false, false},
		{ranks{9000}, 2, 2, 2, 2, true, false},
		{ranks{5000}, 3, 1, 1, 3, true, true},
		{ranks{2500, 5000, 7500}, 3, 2, 1, 3, false, false},
		{ranks{2500, 5000, 7500}, 2, 2, 1, 2, true, true},
		{ranks{100, 5000, 6000}, 3, 1, 1, 3, false, false},
		{ranks{4990, 5000, 5010}, 3, 1, 1, 3, false, false}, // those of an interval
		{ranks{4990, 5000, 5010}, 2, 2, 1, 2, true, true},
		{ranks{2500, 5000}, 2, 1, 2, 2, true, false},
		{ranks{2500, 5000}, 2, 2, 2, 2, true, true},
		{ranks{2500, 5000}, 2, 2, 2, 2, false, false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			worst := tiny(c.q, c.cells, c.points, c.groups, c.replace, c.keeps).worstCost(c.rows, honest)
			if worst > 1+1e-12 || worst < 0.45 {
				t.Errorf("a level costs up to %v of what it declares", worst)
			}
		})
	}
}

// TestLevelTwins: the twins that break a rule of the proof cost more than they declare.
func TestLevelTwins(t *testing.T) {
	overlap := func(g group, last bool, lo, hi, num, den int64, rate float64) []sdk.Piece {
		// Both sides of a cut have all units of its cell.
		return g.scores(last, lo-lo%g.points, hi+(g.points-hi%g.points)%g.points, num, den, rate)
	}
	deep := func(g group, last bool, lo, hi, num, den int64, rate float64) []sdk.Piece {
		// How deep the rank lies among the rows of a cell counts twice.
		p := g.scores(last, lo, hi, num, den, rate)
		for i := range p {
			p[i].Score = min(p[i].Score, 2*p[i].Score)
		}
		return p
	}
	for name, c := range map[string]struct {
		search *search
		score  scorer
	}{
		"depth counts twice":                   {tiny(ranks{5000}, 3, 2, 1, false, false), deep},
		"siblings overlap":                     {tiny(ranks{2500, 5000, 7500}, 2, 2, 1, false, false), overlap},
		"replaced charged as added or removed": {tiny(ranks{2500, 5000}, 2, 2, 1, true, true), nil},
		"leaves its group, charged as if not":  {tiny(ranks{6667}, 3, 1, 2, true, true), nil},
		"half the sensitivity":                 {tiny(ranks{5000}, 3, 2, 1, false, false), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, score := c.search, c.score
			if score == nil {
				score = honest
			}
			worst := 0.0
			switch name {
			case "replaced charged as added or removed":
				// The tables differ in a replaced row, the rates are those of add-remove.
				cheap := *s
				cheap.replace = false
				eachTable(1, 2, 2, func(table [][]int64) {
					x, y := append([]int64{0}, table[0]...), append([]int64{1}, table[0]...)
					worst = math.Max(worst, cheap.levelCost(s.grouped([][]int64{x}), s.grouped([][]int64{y}), score))
				})
			case "leaves its group, charged as if not":
				many := []int64{0, 0, 0, 0}
				worst = s.levelCost(s.grouped([][]int64{append(many, 2), many}), s.grouped([][]int64{many, append(many, 2)}), score)
			case "half the sensitivity":
				worst = s.worstCost(2, func(g group, last bool, lo, hi, num, den int64, rate float64) []sdk.Piece {
					p := g.scores(last, lo, hi, num, den, rate)
					for i := range p {
						p[i].Score, p[i].Slope = 2*p[i].Score, 2*p[i].Slope
					}
					return p
				})
			default:
				worst = s.worstCost(2, score)
			}
			if worst <= 1+1e-9 {
				t.Errorf("the twin costs only %v of what it declares", worst)
			}
		})
	}
}

// The rate is as large as pure ε allows, not only as bounded range does: between rows at cell 1 and in the last cell lies a wide gap of
// cuts at the rank itself. A row that comes below moves all of them away, and cuts at cell 1 nearer: one output tells the tables apart
// by hardly less than ε, and by more at a rate that is 1 % larger.
func TestTheRateIsUsedUp(t *testing.T) {
	const epsilon, last = 1.0, page - 1
	for _, replace := range []bool{false, true} {
		s := tiny(ranks{whole / 2}, page, 4, 1, replace, true)
		before, after := s.grouped([][]int64{{1, 1, last, last}}), s.grouped([][]int64{{0, 1, 1, last, last}})
		if replace {
			after = s.grouped([][]int64{{0, 1, 1, last}})
		}
		loss := func(rate float64, last bool) (worst float64) {
			end := s.lattice.cells * s.points
			p, q := before[0].scores(last, 0, end, 1, 2, rate), after[0].scores(last, 0, end, 1, 2, rate)
			sums := [2]float64{}
			for x := range end + 1 {
				sums[0] += math.Exp(-rate * float64(at(p, x)))
				sums[1] += math.Exp(-rate * float64(at(q, x)))
			}
			for x := range end + 1 {
				worst = math.Max(worst, math.Abs(rate*float64(at(p, x)-at(q, x))+math.Log(sums[0]/sums[1])))
			}
			return worst
		}
		rate := sdk.SelectRate(epsilon, s.sensitivity(0, 1, 2))
		for _, last := range []bool{false, true} {
			if l := loss(rate, last); l > epsilon || l < 0.995*epsilon {
				t.Errorf("replaced %v, last %v: one output tells %v of ε %v", replace, last, l, epsilon)
			}
			if l := loss(1.01*rate, last); l <= epsilon {
				t.Errorf("replaced %v, last %v: the twin tells only %v of ε %v", replace, last, l, epsilon)
			}
		}
	}
}

// TestPiecesScoreTheRank holds the pieces to their definition, point by point.
func TestPiecesScoreTheRank(t *testing.T) {
	s := tiny(ranks{5000}, 4, 3, 1, false, false)
	eachTable(1, 4, 3, func(table [][]int64) {
		g := s.grouped(table)[0]
		units := func(x int64) (n int64) { // at points below x
			for _, cell := range table[0] {
				n += min(max(x-cell*3, 0), 3)
			}
			return n
		}
		for lo := int64(0); lo <= 12; lo++ {
			for hi := lo; hi <= 12; hi++ {
				for _, rate := range []float64{1e-3, 0.7, 2, 40} {
					pieces, num, den := g.pieces(lo, hi, 3, 10, rate), int64(3), int64(10)
					values := g.values(lo, hi, num, den, rate)
					for _, tiles := range [][]sdk.Piece{pieces, values} {
						if tiles[0].Lo != lo || tiles[len(tiles)-1].Hi != hi {
							t.Fatalf("%v from %d to %d: %v", table, lo, hi, tiles)
						}
						for i, p := range tiles {
							if p.Lo > p.Hi || i > 0 && p.Lo != tiles[i-1].Hi+1 {
								t.Fatalf("%v from %d to %d: %v", table, lo, hi, tiles)
							}
						}
					}
					for x := lo; x <= hi; x++ {
						d := den*(units(x)-units(lo)) - num*(units(hi)-units(lo))
						if want := min(max(d, -d), ceiling(hi-lo+1, rate)); at(pieces, x) != want {
							t.Fatalf("%v from %d to %d at rate %v: score of %d is %d, want %d", table, lo, hi, rate, x, at(pieces, x), want)
						}
						a, b := units(max(lo, x-x%3))-units(lo), units(min(hi, x-x%3+3))-units(lo)
						rank, most := num*(units(hi)-units(lo)), ceiling(hi-lo+1, rate)
						if want := min(max(den*a-rank, rank-den*b, -most), most); at(values, x) != want {
							t.Fatalf("%v from %d to %d at rate %v: value of %d is %d, want %d", table, lo, hi, rate, x, at(values, x), want)
						}
					}
				}
			}
		}
	})
}

// TestTheLastCutIsNearer: where whole numbers lie apart on a fine lattice, and the rank close to the edge of one, the value is found more
// often than by the cut, whose points near the edge are few beside those of the gap. Where it lies in the middle it is found at least as often.
func TestTheLastCutIsNearer(t *testing.T) {
	for _, c := range []struct {
		weights [2]int64 // of a number in the middle, and of the others
		skew    int64    // rows that are more below than above
		least   float64  // of the chance to miss by the cut, over that by the value
	}{{[2]int64{40, 40}, 0, 1}, {[2]int64{200, 100}, 180, 100}, {[2]int64{5, 5}, 0, 1}, {[2]int64{1, 1}, 0, 1}} {
		s := tiny(ranks{whole / 2}, page, 64, 1, false, false)
		p := new([page]int64)
		for i := int64(100); i < page; i += 100 {
			p[i] = c.weights[1]
		}
		p[100], p[500] = p[100]+c.skew, c.weights[0]
		g := newGroup(s.points, &tally{pages: []*[page]int64{p}})
		rate, end := sdk.SelectRate(1, s.sensitivity(0, 1, 2)), s.lattice.cells*s.points
		misses := func(last bool) float64 {
			pieces, found, all := g.scores(last, 0, end, 1, 2, rate), 0.0, 0.0
			for x := range end {
				w := math.Exp(-rate * float64(at(pieces, x)))
				if all += w; x/s.points == 500 {
					found += w
				}
			}
			return 1 - found/all
		}
		if cut, value := misses(false), misses(true); value > cut*(1+1e-9) || cut < c.least*value {
			t.Errorf("%+v: the value is missed with %v, by the cut with %v", c, value, cut)
		}
	}
}

// TestBudgetIsSpent: the levels cost no more than the target, and nearly all of it.
func TestBudgetIsSpent(t *testing.T) {
	for _, target := range []privacy.Point{{Epsilon: 1}, {Epsilon: 0.1}, {Epsilon: 1, Delta: 1e-6}} {
		for _, raw := range []string{`{"column":"x"}`, `{"column":"x","quantiles":"percentiles"}`, `{"column":"x","quantiles":[0.01,0.5,0.999],"by":"g"}`} {
			req := request(raw, target)
			plan, err := Mechanism{}.Plan(req)
			if err != nil {
				t.Fatal(err)
			}
			if target.Delta == 0 {
				sum := new(big.Rat)
				for _, e := range plan.Event.(privacy.Compose).Events {
					sum.Add(sum, new(big.Rat).SetFloat64(e.(privacy.BoundedRange).Eps))
				}
				if x, _ := sum.Float64(); sum.Cmp(new(big.Rat).SetFloat64(target.Epsilon)) > 0 || x < target.Epsilon*(1-1e-12) {
					t.Errorf("%s: the levels add up to %v of %v", raw, x, target.Epsilon)
				}
			}
			a, err := privacy.EpsilonAt(plan.Event, privacy.AddRemove, target.Delta)
			if err != nil || a.Epsilon > target.Epsilon || a.Epsilon < 0.98*target.Epsilon {
				t.Errorf("%s costs %v of %v, %v", raw, a.Epsilon, target.Epsilon, err)
			}
		}
	}
}

func request(raw string, target privacy.Point) sdk.PlanRequest {
	return sdk.PlanRequest{Params: []byte(raw), Target: target, Public: sdk.Public{
		Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove},
		Design: sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
		Columns: []sdk.Column{
			{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1000, Missing: sdk.MissingDrop},
			{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingDrop},
		},
	}}
}

// However large ε is, the best cut lies in the cell that the rank crosses, with a score of its own: also where many rows, or heavy ones, are
// in one cell, so that no cut comes as near to the rank as ε asks. The twin cuts scores off by ε alone, as the mechanism did:
// every cut is as good as every other, and the quantile is random.
func TestALargeEpsilonFindsTheRank(t *testing.T) {
	for _, c := range []struct {
		epsilon  float64
		heaviest int64
	}{{1, 1}, {1e5, 1}, {1e5, 4096}, {1e9, 4096}, {1e12, 1}} {
		s := tiny(ranks{whole / 2}, 16, 1<<10, 1, true, true)
		s.heaviest, s.tie = c.heaviest, c.heaviest<<12
		p := new([page]int64)
		p[2], p[9], p[12] = 700*c.heaviest/3+1, 900*c.heaviest, 800*c.heaviest/7+1
		g := newGroup(s.points, &tally{pages: []*[page]int64{p}})
		rate, end := sdk.SelectRate(c.epsilon, s.sensitivity(0, 1, 2)), s.lattice.cells*s.points
		best := func(tie int64, last bool) (least int64, where map[int64]bool) {
			g.tie = tie
			pieces := g.scores(last, 0, end, 1, 2, rate)
			least, where = math.MaxInt64, map[int64]bool{}
			for x := range end {
				switch score := at(pieces, x); {
				case score < least:
					least, where = score, map[int64]bool{x / s.points: true}
				case score == least:
					where[x/s.points] = true
				}
			}
			return least, where
		}
		for _, last := range []bool{false, true} {
			if _, where := best(s.tie, last); len(where) != 1 || !where[9] {
				t.Errorf("ε %v, rows of %d, last %v: the best cuts are in the cells %v", c.epsilon, c.heaviest, last, where)
			}
		}
		if _, where := best(0, false); c.epsilon >= 1e9 && len(where) < 10 {
			t.Errorf("ε %v: the twin finds the rank in %v", c.epsilon, where)
		}
	}
}
