package units

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// entry is a row of a small table: its unit and its cell.
type entry struct {
	unit int64 // below 0: none
	cell int32
}

// capped keeps rows of a small table, as a bitmap.
type capped func(source *noise.Source, rows []entry, k, r int) int64

func indexOf(rows []entry) (*Index, error) {
	x, err := NewIndex(IndexSpec{Null: DropNulls})
	if err != nil {
		return nil, err
	}
	unit := table.Values{Int64: make([]int64, len(rows)), Valid: make([]byte, (len(rows)+7)/8)}
	for i, e := range rows {
		unit.Int64[i] = e.unit
		if e.unit >= 0 {
			unit.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	if err := x.Add(unit, len(rows)); err != nil {
		return nil, err
	}
	return x, x.Finish()
}

func byCapper(source *noise.Source, rows []entry, k, r int) int64 {
	return byLanes(1<<20, source)(rows, k, r)
}

// bySpilling is a capper with so little memory that each unit goes to the disk, again and again.
func bySpilling(source *noise.Source, rows []entry, k, r int) int64 {
	return byLanes(1, source)(rows, k, r)
}

// byLateSpilling begins in memory.
func byLateSpilling(source *noise.Source, rows []entry, k, r int) int64 {
	return byLanes(80, source)(rows, k, r) // three rows fit
}

func byLanes(memory int64, sources ...*noise.Source) func(rows []entry, k, r int) int64 {
	return func(rows []entry, k, r int) int64 { return capRows(memory, shards, sources, rows, k, r) }
}

func capRows(memory, parts int64, sources []*noise.Source, rows []entry, k, r int) int64 {
	x, err := indexOf(rows)
	if err != nil {
		panic(err)
	}
	c, err := newCapper(x, k, r, memory, sources)
	if err != nil {
		panic(err)
	}
	c.every, c.parts = parts, NewSorter(int(parts), memory/2, "")
	cells := make([]int32, len(rows))
	for i, e := range rows {
		cells[i] = e.cell
	}
	for i := range cells { // row by row, so that memory runs out in the middle
		if err := c.Add(int64(i), cells[i:i+1]); err != nil {
			panic(err)
		}
	}
	kept, err := c.Finish()
	if err != nil {
		panic(err)
	}
	all := int64(0)
	for i := range rows {
		if kept.Has(int64(i)) {
			all |= 1 << i
		}
	}
	return all
}

// ways is the law of the contract: how many kept sets of rows there are for one unit, and which they are.
func ways(rows []entry, unit int64, k, r int) []int64 {
	cells := map[int32][]int{}
	var order []int32
	for i, e := range rows {
		if e.unit == unit && e.cell >= 0 {
			if cells[e.cell] == nil {
				order = append(order, e.cell)
			}
			cells[e.cell] = append(cells[e.cell], i)
		}
	}
	if len(order) == 0 {
		return []int64{0}
	}
	var all []int64
	for _, chosen := range combin.Combinations(len(order), min(k, len(order))) {
		sets := []int64{0}
		for _, c := range chosen {
			in := cells[order[c]]
			var more []int64
			for _, set := range sets {
				for _, some := range combin.Combinations(len(in), min(r, len(in))) {
					next := set
					for _, i := range some {
						next |= 1 << in[i]
					}
					more = append(more, next)
				}
			}
			sets = more
		}
		all = append(all, sets...)
	}
	return all
}

// law is the probability of a set of kept rows: that of its units, multiplied. Every way of a unit is equally probable
// among those with the same cells, and a choice of cells has the same probability as any other.
func law(rows []entry, k, r int) func(int64) float64 {
	units := map[int64]int64{} // the rows of each
	for i, e := range rows {
		if e.unit >= 0 {
			units[e.unit] |= 1 << i
		}
	}
	return func(kept int64) float64 {
		p := 1.0
		for unit, own := range units {
			mass := map[int64]float64{}
			cells := func(set int64) (all int64) {
				for i, e := range rows {
					if set>>i&1 == 1 {
						all |= 1 << e.cell
					}
				}
				return all
			}
			all := ways(rows, unit, k, r)
			same, kinds := map[int64]float64{}, map[int64]bool{}
			for _, set := range all {
				same[cells(set)]++
				kinds[cells(set)] = true
			}
			for _, set := range all {
				mass[set] += 1 / same[cells(set)] / float64(len(kinds))
			}
			p *= mass[kept&own]
			kept &^= own
		}
		if kept != 0 {
			return 0
		}
		return p
	}
}

type failures struct{ n int }

func (*failures) Helper()                 {}
func (f *failures) Errorf(string, ...any) { f.n++ }

// explored walks through every choice of a cap and holds the result against the contract.
func explored(t noisetest.T, name string, cap capped, rows []entry, k, r int) {
	mass, rest := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
		return cap(insecurenoise.NewScript(choose), rows, k, r)
	})
	noisetest.CheckExplored(t, name, mass, rest, 1e-6, law(rows, k, r))
	total := rest
	for _, m := range mass {
		total += m
	}
	if total < 1-1e-6 {
		t.Errorf("%s: the masses add up to %g", name, total)
	}
}

// smallTables are tables of up to six rows, three units and three cells.
func smallTables(n int) [][]entry {
	r := rand.New(rand.NewPCG(22, 1))
	all := [][]entry{
		{{0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 2}, {1, 0}},
		{{0, 0}, {1, 0}, {0, 0}, {1, 0}, {0, 0}, {1, 1}},
	}
	for range n {
		rows := make([]entry, r.IntN(7))
		for i := range rows {
			rows[i] = entry{int64(r.IntN(4)) - 1, int32(r.IntN(4)) - 1}
		}
		all = append(all, rows)
	}
	return all
}

func TestCapHasItsLaw(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))                       // the choices of several lanes come in one order
	divided := func(source *noise.Source, rows []entry, k, r int) int64 { // whose rows fit, and whose units do not
		return capRows(600, 1, []*noise.Source{source}, rows, k, r)
	}
	two := func(source *noise.Source, rows []entry, k, r int) int64 {
		return byLanes(1<<20, source, source)(rows, k, r)
	}
	for name, cap := range map[string]capped{"in memory": byCapper, "two lanes": two, "divided": divided, "spilled": bySpilling, "spilled late": byLateSpilling} {
		for i, rows := range smallTables(20) {
			for k := 1; k <= 3; k++ {
				for r := 1; r <= 3; r++ {
					explored(t, fmt.Sprintf("%s: table %d, k %d, r %d", name, i, k, r), cap, rows, k, r)
				}
			}
		}
	}
}

// Of many units, however little memory there is, each keeps as many cells and rows as it can, of its own.
func TestCapKeepsWhatItMay(t *testing.T) {
	const k, most = 2, 3
	for seed := range tier.Of[uint64](1, 4) {
		r := rand.New(rand.NewPCG(seed, 5))
		rows := make([]entry, 20_000)
		for i := range rows {
			rows[i] = entry{int64(r.IntN(6000)) - 1, int32(r.IntN(5)) - 1}
			if r.IntN(3) == 0 {
				rows[i].unit = 7 // one unit has many rows
			}
		}
		x, err := indexOf(rows)
		if err != nil {
			t.Fatal(err)
		}
		source, err := noise.NewSource()
		if err != nil {
			t.Fatal(err)
		}
		for _, memory := range []int64{1, 40_000, 1 << 18, 1 << 26} {
			x.spec.Memory, x.spec.Dir = memory, t.TempDir()
			c, err := NewCapper(x, k, most, source)
			if err != nil {
				t.Fatal(err)
			}
			cells := make([]int32, len(rows))
			for i, e := range rows {
				cells[i] = e.cell
			}
			for i := 0; i < len(rows); i += 500 {
				if err := c.Add(int64(i), cells[i:i+500]); err != nil {
					t.Fatal(err)
				}
			}
			if small := memory <= 1<<18; small != (c.parts.disk != nil) {
				t.Errorf("memory %d has the wrong path", memory)
			}
			kept, err := c.Finish()
			if err != nil {
				t.Fatal(err)
			}
			checkKept(t, rows, kept, k, most)
		}
	}
}

func checkKept(t *testing.T, rows []entry, kept *Kept, k, most int) {
	t.Helper()
	have, keep := map[entry]int{}, map[entry]int{}
	for i, e := range rows {
		if e.unit >= 0 && e.cell >= 0 {
			have[e]++
		}
		if kept.Has(int64(i)) {
			keep[e]++
		}
	}
	cells, kepts := map[int64]int{}, map[int64]int{}
	for e, n := range have {
		cells[e.unit]++
		if m := keep[e]; m > 0 {
			kepts[e.unit]++
			if m != min(n, most) {
				t.Fatalf("%d of %d rows of a unit in a kept cell", m, n)
			}
		}
	}
	for unit, n := range cells {
		if kepts[unit] != min(n, k) {
			t.Fatalf("%d of %d cells of a unit", kepts[unit], n)
		}
	}
	for e := range keep {
		if have[e] == 0 {
			t.Fatal("a row without a unit or a cell was kept")
		}
	}
}

// What a cap must not do. Each of these must be found out by the same enumeration.
var brokenCaps = map[string]capped{
	// A cap on the whole table: a new unit pushes out rows of others (the trap of P22).
	"the first rows of the table": func(_ *noise.Source, rows []entry, k, r int) (kept int64) {
		for i, e := range rows {
			if e.unit >= 0 && e.cell >= 0 && bits.OnesCount64(uint64(kept)) < k*r {
				kept |= 1 << i
			}
		}
		return kept
	},
	"random rows of the table": func(s *noise.Source, rows []entry, k, r int) (kept int64) {
		for n := 0; n < min(k*r, len(rows)); n++ {
			kept |= 1 << s.Uint64n(uint64(len(rows)))
		}
		return kept
	},
	"the first rows of each unit": func(_ *noise.Source, rows []entry, k, r int) (kept int64) {
		n := map[entry]int{}
		cells := map[int64]int{}
		for i, e := range rows {
			if e.unit < 0 || e.cell < 0 || n[e] == 0 && cells[e.unit] == k || n[e] == r {
				continue
			}
			if n[e] == 0 {
				cells[e.unit]++
			}
			n[e]++
			kept |= 1 << i
		}
		return kept
	},
	"cells of the table instead of cells of the unit": func(s *noise.Source, rows []entry, k, r int) int64 {
		var some []entry
		from := int32(s.Uint64n(3))
		for _, e := range rows {
			if e.cell >= 0 && (e.cell-from+3)%3 >= int32(k) {
				e.cell = -1
			}
			some = append(some, e)
		}
		return byCapper(s, some, k, r)
	},
}

func TestBrokenCapsAreCaught(t *testing.T) {
	for name, broken := range brokenCaps {
		var found failures
		for _, rows := range smallTables(10) {
			explored(&found, name, broken, rows, 1, 1)
		}
		if found.n == 0 {
			t.Errorf("%s: walking through all choices finds nothing", name)
		}
	}
}

// The law of what is kept of one unit does not move when another unit comes, goes or changes (P22).
func TestAnotherUnitDoesNotMove(t *testing.T) {
	moved := func(cap capped) (moves int) {
		own := func(rows []entry, mask int64) map[int64]float64 {
			mass, _ := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
				kept, packed, n := cap(insecurenoise.NewScript(choose), rows, 1, 1), int64(0), 0
				for i := range rows {
					if mask>>i&1 == 1 {
						packed |= kept >> i & 1 << n
						n++
					}
				}
				return packed
			})
			return mass
		}
		for _, rows := range smallTables(20) {
			all, mask, alone := []entry{}, int64(0), []entry{}
			for _, e := range rows { // unit 0 among a unit 9 that has a row before each of its own
				if e.unit == 0 {
					all = append(all, entry{9, e.cell})
					mask |= 1 << len(all)
					all, alone = append(all, e), append(alone, e)
				}
			}
			a, b := own(all, mask), own(alone, 1<<len(alone)-1)
			for kept, p := range b {
				if p-a[kept] > 1e-9 || a[kept]-p > 1e-9 {
					moves++
				}
			}
		}
		return moves
	}
	if n := moved(byCapper); n != 0 {
		t.Errorf("another unit moves what is kept of a unit, %d times", n)
	}
	if moved(brokenCaps["the first rows of the table"]) == 0 {
		t.Error("a cap on the whole table is not noticed")
	}
}
