package quantiles

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var errTooMany = errors.New("there are more rows than scores have room for")

// group is the weight of the rows of one group. Cells are the cells with any weight, ascending, and
// before[i] is the weight in the cells below cells[i].
type group struct {
	cells, before []int64
	points        int64 // the points of a cell, over which its weight is spread evenly
	tie           int64 // a cell may have so much weight, as far as public facts say
}

// page is the number of counters that are allocated at once.
const page = 1 << 10

// tally adds up the weight in each cell of a group: in pages of counters, where the lattice has few
// cells, and otherwise in entries for the cells that have any. Both give the same group.
type tally struct {
	pages   []*[page]int64
	entries []entry
	settled int // so many entries are of different cells, ascending; the rest came later
}

type entry struct{ cell, weight int64 }

// newTally returns a tally of so many cells, in pages if there are few.
func newTally(cells int64, few bool) *tally {
	if few {
		return &tally{pages: make([]*[page]int64, cells/page+1)}
	}
	return &tally{}
}

func (t *tally) add(cell, weight int64) {
	if t.pages != nil {
		p := &t.pages[cell/page]
		if *p == nil {
			*p = new([page]int64)
		}
		(*p)[cell%page] += weight
		return
	}
	if len(t.entries) == cap(t.entries) {
		t.settle()
		t.entries = slices.Grow(t.entries, len(t.entries)/2+64)
	}
	t.entries = append(t.entries, entry{cell, weight})
}

// settle merges the entries that came since it was last called with those before, and adds up the
// weights of each cell.
func (t *tally) settle() {
	late := slices.Clone(t.entries[t.settled:])
	slices.SortFunc(late, func(a, b entry) int { return cmp.Compare(a.cell, b.cell) })
	for at, early := len(t.entries)-1, t.entries[:t.settled]; len(late) > 0; at-- { // from the back, so that nothing is overwritten
		from := &late
		if len(early) > 0 && early[len(early)-1].cell > late[len(late)-1].cell {
			from = &early
		}
		t.entries[at] = (*from)[len(*from)-1]
		*from = (*from)[:len(*from)-1]
	}
	out := t.entries[:0]
	for _, e := range t.entries {
		if n := len(out); n > 0 && out[n-1].cell == e.cell {
			out[n-1].weight += e.weight
		} else {
			out = append(out, e)
		}
	}
	t.entries, t.settled = out, len(out)
}

// all yields the cells with any weight, ascending.
func (t *tally) all(yield func(cell, weight int64) bool) {
	t.settle()
	for _, e := range t.entries {
		if e.weight > 0 && !yield(e.cell, e.weight) {
			return
		}
	}
	for i, p := range t.pages {
		if p == nil {
			continue
		}
		for j, w := range p {
			if w > 0 && !yield(int64(i*page+j), w) {
				return
			}
		}
	}
}

// count adds up the weight of the rows in each cell of each group. Memory follows the lattice
// where it has few cells, and otherwise the number of different values.
func (s *search) count(rows sdk.Rows, most int64) ([]group, error) {
	tallies := make([]*tally, s.cells.N)
	few := s.lattice.cells <= mostCells/int64(s.cells.N)
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
			if tallies[g] == nil {
				tallies[g] = newTally(s.lattice.cells, few)
			}
			w := int64(1)
			if block.Weights != nil {
				w = s.weigh(block.Weights[row])
			}
			tallies[g].add(s.lattice.cell(y), w)
		}
		return nil
	})
	groups := make([]group, s.cells.N)
	for g, t := range tallies {
		groups[g] = newGroup(s.points, t)
		groups[g].tie, tallies[g] = s.tie, nil
	}
	return groups, err
}

// newGroup is the group of a tally, or of nil where it has no rows.
func newGroup(points int64, t *tally) group {
	g := group{points: points, before: []int64{0}}
	if t == nil {
		return g
	}
	n, all := 0, int64(0)
	for range t.all {
		n++
	}
	g.cells, g.before = make([]int64, 0, n), slices.Grow(g.before, n)
	for cell, w := range t.all {
		all += w
		g.cells, g.before = append(g.cells, cell), append(g.before, all)
	}
	return g
}

// weigh rounds a design weight to steps, at most heaviest.
func (s *search) weigh(w float64) int64 {
	return max(0, min(s.heaviest, int64(math.RoundToEven(w*s.perWeight))))
}

// find is the index of the first cell with weight that is not below the cell of x.
func (g group) find(x int64) int {
	i, _ := slices.BinarySearch(g.cells, x/g.points)
	return i
}

// below is the weight at points before x, in units of one weight step at one point.
func (g group) below(x int64) int64 {
	i := g.find(x)
	n := g.points * g.before[i]
	if i < len(g.cells) {
		n += (g.before[i+1] - g.before[i]) * max(0, x-g.cells[i]*g.points)
	}
	return n
}

// scores are those of a cut that is the last on its way, or of another one.
func (g group) scores(last bool, lo, hi, num, den int64, rate float64) []sdk.Piece {
	if last {
		return g.values(lo, hi, num, den, rate)
	}
	return g.pieces(lo, hi, num, den, rate)
}

// values scores each cut from lo to hi by the value that it stands for: by how far the ranks of the rows of its cell, of those between lo
// and hi, are from num/den of them all. Where the rank lies among them the score is negative, the more so the deeper it lies.
//
// # Contract
//
// The score of a cut, all points of a cell alike, is max(den·A − num·T, num·T − den·B), no less than −most and no more than most: A the
// weight between lo and the cell, B with that of the cell, T that between lo and hi. Most depends on public numbers alone. Proof:
// recursion.proof.md.
func (g group) values(lo, hi, num, den int64, rate float64) []sdk.Piece {
	start := g.below(lo)
	all := g.below(hi) - start
	most := ceiling(hi-lo+1, rate)
	score := func(a, b int64) int64 { return min(max(a, -b, -most), most) }
	after := func(i int) int64 { return den*(min(g.points*g.before[i+1]-start, all)) - num*all }
	first := g.find(lo)
	low := first + sort.Search(len(g.cells)-first, func(i int) bool { return after(first+i) >= -most })
	var out valley
	at, d := lo, -num*all // the next cut, and den·A − num·T there
	if low > first {
		d = after(low - 1)
	}
	for i := low; i < len(g.cells) && at <= hi && d <= most; i++ {
		cell := g.cells[i] * g.points
		out.add(at, min(cell-1, hi), score(d, d), 0)
		if at = max(at, cell); at <= hi {
			out.add(at, min(cell+g.points-1, hi), score(d, after(i)), 0)
			at, d = cell+g.points, after(i)
		}
	}
	out.add(at, hi, score(d, d), 0)
	return out
}

// pieces scores each cut from lo to hi by how far it is from having num/den of the weight between
// lo and hi below it. All cuts beyond a public score get that score.
//
// # Contract
//
// The score of cut x is min(|den·A − num·T|, most), A the weight between lo and x, T that
// between lo and hi; most depends on public numbers alone. Proof: recursion.proof.md.
func (g group) pieces(lo, hi, num, den int64, rate float64) []sdk.Piece {
	start := g.below(lo)
	target := num * (g.below(hi) - start)
	// Between two points of one cell D moves by den times its weight: a smaller score than half of that may be no cut's.
	most := max(ceiling(hi-lo+1, rate), den*((g.tie+1)/2))
	// D(x) = den·(below(x) − start) − target grows with x. All cuts with |D| > most get the same
	// score, so only the cells between them are visited.
	after := func(i int) int64 { return den*(g.points*g.before[i+1]-start) - target }
	first := g.find(lo)
	low := first + sort.Search(len(g.cells)-first, func(i int) bool { return after(first+i) >= -most })
	var out valley
	at, d := lo, -target // the next cut, and D there
	if low > first {
		at, d = lo, -most
	}
	for i := low; i < len(g.cells) && at <= hi && d <= most; i++ {
		c, cell := g.before[i+1]-g.before[i], g.cells[i]*g.points
		if cell > at {
			out.cross(at, min(cell-1, hi), d, 0, most)
			at = cell
		}
		d = den*(g.below(at)-start) - target
		out.cross(at, min(cell+g.points-1, hi), d, den*c, most)
		at, d = cell+g.points, after(i)
	}
	if at <= hi {
		out.cross(at, hi, d, 0, most)
	}
	return out
}

// unlikely is a logarithm: the best cut is e^unlikely times as likely as all cuts with the largest
// score together.
const unlikely = 40

// ceiling is the score above which the scores of n cuts may be cut off.
func ceiling(n int64, rate float64) int64 {
	most := math.Ceil((math.Log(float64(n)) + unlikely) / rate)
	if most >= 1<<61 {
		return 1 << 61
	}
	return int64(most)
}

// valley is a list of pieces whose scores fall and rise again, and never exceed a ceiling.
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
	if lo > hi {
		return
	}
	if slope == 0 {
		v.add(lo, hi, min(max(d, -d), most), 0)
		return
	}
	// The first points at which d reaches −most, reaches 0, and exceeds most.
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
