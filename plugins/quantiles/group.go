package quantiles

import (
	"errors"
	"math"
	"sort"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var errTooMany = errors.New("there are more rows than scores have room for")

// group is the weight of the rows of one group: before[i] is the weight in cells below i.
type group struct {
	before []int64
	points int64 // of a cell: its weight is spread evenly over them
}

// count adds up the weight of the rows in each cell of each group. Memory follows the
// lattice, not the table.
func (s *search) count(rows sdk.Rows, most int64) ([]group, error) {
	counts := make([][]int64, s.cells.N)
	var scratch []int32
	last := len(s.cells.Groups)
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		if most -= int64(b.Rows); most < 0 {
			return errTooMany
		}
		var block linear.Block
		block, scratch = s.cells.Block(b, []sdk.Values{b.Columns[last]}, scratch)
		for row, y := range block.Columns[0].Float64 {
			g := block.Cell(row)
			if g < 0 {
				continue
			}
			if counts[g] == nil {
				counts[g] = make([]int64, s.lattice.cells+1)
			}
			w := int64(1)
			if block.Weights != nil {
				w = s.weigh(block.Weights[row])
			}
			counts[g][s.lattice.cell(y)+1] += w
		}
		return nil
	})
	groups := make([]group, s.cells.N)
	empty := make([]int64, s.lattice.cells+1)
	for g, c := range counts {
		if c == nil {
			c = empty
		}
		for i := 1; i < len(c); i++ {
			c[i] += c[i-1]
		}
		groups[g] = group{before: c, points: s.points}
	}
	return groups, err
}

// weigh rounds a design weight to steps; at most heaviest.
func (s *search) weigh(w float64) int64 {
	return max(0, min(s.heaviest, int64(math.RoundToEven(w*s.perWeight))))
}

// below is the weight at points before x, in units of one weight step at one point.
func (g group) below(x int64) int64 {
	j := min(x/g.points, int64(len(g.before)-2))
	return g.points*g.before[j] + (g.before[j+1]-g.before[j])*(x-j*g.points)
}

// pieces scores the cuts from lo to hi by how far they are from leaving num of den of the
// weight between lo and hi below them. From some score on all are alike.
//
// # Contract
//
// The score of cut x is min(|den·A − num·T|, most), A the weight between lo and x, T that
// between lo and hi; most depends on public numbers alone. Proof: recursion.proof.md.
func (g group) pieces(lo, hi, num, den int64, rate float64) []sdk.Piece {
	start := g.below(lo)
	target := num * (g.below(hi) - start)
	most := ceiling(hi-lo+1, rate)
	// D(x) = den·(below(x) − start) − target grows with x. Cells in which it is beyond most
	// on either side are alike: only those between are looked at.
	at := func(j int64) int64 { return den*(g.points*g.before[j]-start) - target }
	end := int64(len(g.before) - 2) // the last cell, to which the last cut belongs too
	first, last := min(lo/g.points, end), min(hi/g.points, end)
	low := first + int64(sort.Search(int(last-first), func(i int) bool { return at(first+1+int64(i)) >= -most }))
	high := low + int64(sort.Search(int(last-low), func(i int) bool { return at(low+1+int64(i)) > most }))
	var out valley
	if from := max(lo, low*g.points); from > lo {
		out.add(lo, from-1, most, 0)
	}
	for j := low; j <= high; {
		c, next := g.before[j+1]-g.before[j], j+1
		for ; c == 0 && next <= high && g.before[next+1] == g.before[j]; next++ { // empty ones together
		}
		from, to := max(lo, j*g.points), min(hi, next*g.points-1)
		if next > last {
			to = hi
		}
		if from <= to {
			out.cross(from, to, den*(g.below(from)-start)-target, den*c, most)
		}
		j = next
	}
	if n := len(out); n > 0 && out[n-1].Hi < hi {
		out.add(out[n-1].Hi+1, hi, most, 0)
	}
	return out
}

// unlikely is the logarithm of how much likelier the best cut is than all cuts together
// whose scores are cut off.
const unlikely = 40

// ceiling is the score from which on all of n cuts may be alike.
func ceiling(n int64, rate float64) int64 {
	most := math.Ceil((math.Log(float64(n)) + unlikely) / rate)
	if most >= 1<<61 {
		return 1 << 61
	}
	return int64(most)
}

// valley is pieces whose scores fall to 0 and rise again, none above a ceiling.
type valley []sdk.Piece

func (v *valley) add(lo, hi, score, slope int64) {
	if lo > hi {
		return
	}
	if n := len(*v); n > 0 && slope == 0 && (*v)[n-1].Slope == 0 && (*v)[n-1].Score == score {
		(*v)[n-1].Hi = hi
		return
	}
	*v = append(*v, sdk.Piece{Lo: lo, Hi: hi, Score: score, Slope: slope})
}

// cross adds the pieces of the score min(|d + slope·(x − lo)|, most), slope ≥ 0.
func (v *valley) cross(lo, hi, d, slope, most int64) {
	if slope == 0 {
		v.add(lo, hi, min(max(d, -d), most), 0)
		return
	}
	// The first points from which on d is at least −most, at least 0, and above most.
	first := func(least int64) int64 {
		if d >= least {
			return lo
		}
		return min(hi+1, lo+1+(least-d-1)/slope)
	}
	rising, middle, capped := first(-most), first(0), first(most+1)
	v.add(lo, rising-1, most, 0)
	v.add(rising, middle-1, -(d + slope*(rising-lo)), -slope)
	v.add(middle, capped-1, d+slope*(middle-lo), slope)
	v.add(capped, hi, most, 0)
}
