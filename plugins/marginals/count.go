package marginals

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/marginals/residual"
)

// mostCounted bounds the cells of one counted table, so that it fits into the cache of a core.
const mostCounted = 10_000

// counter counts rows in a few tables of the finest levels. All other tables follow from these.
type counter struct {
	l      *layout
	tables []counted
	pairs  [][2]int   // the columns whose values are combined before they are counted
	values [][]uint32 // of each column, in the rows of a batch
	codes  [][]uint32 // of each pair
}

// counted is one table: its columns, its cells, and the pairs of columns (or single ones, with -1)
// that its codes are made of.
type counted struct {
	columns []int
	cells   []int64
	few     []uint32 // rows that are not in cells yet: half as large, so that a core's fastest cache holds it
	rows    uint32   // the rows in few
	pairs   []int
	at      []uint32 // scratch: the cell of each row
}

func newCounter(l *layout) *counter {
	c := &counter{l: l}
	waiting := map[string]bool{}
	var sets [][]int
	for i := len(l.Residuals) - 1; i >= 0; i-- { // tables with more columns come first
		set := columnsOf(l.Residuals[i])
		if key := keyOf(set); !waiting[key] {
			waiting[key] = true
			sets = append(sets, set)
		}
	}
	for _, set := range sets {
		if !waiting[keyOf(set)] {
			continue
		}
		t := counted{columns: c.widen(set, waiting)}
		subsets(t.columns, len(set), func(s []int) { delete(waiting, keyOf(s)) })
		cells := 1
		for _, a := range t.columns {
			cells *= c.nodes(a)
		}
		t.cells, t.few = make([]int64, cells), make([]uint32, cells)
		for i := 0; i < len(t.columns); i += 2 {
			pair := [2]int{t.columns[i], -1}
			if i+1 < len(t.columns) {
				pair[1] = t.columns[i+1]
			}
			at := slices.Index(c.pairs, pair)
			if at < 0 {
				at, c.pairs = len(c.pairs), append(c.pairs, pair)
			}
			t.pairs = append(t.pairs, at)
		}
		c.tables = append(c.tables, t)
	}
	c.values, c.codes = make([][]uint32, len(c.l.dimensions)), make([][]uint32, len(c.pairs))
	return c
}

func columnsOf(t residual.Table) []int {
	var set []int
	for _, p := range t {
		set = append(set, p.Attribute)
	}
	return set
}

func keyOf(set []int) string {
	b := make([]byte, 0, 32)
	for _, a := range set {
		b = append(b, byte(a), byte(a>>8))
	}
	return string(b)
}

// nodes is the number of values of a column.
func (c *counter) nodes(column int) int {
	a := c.l.Attributes[column]
	return a.Nodes(len(a.Levels))
}

// subsets visits all subsets of at most most of the columns.
func subsets(columns []int, most int, visit func([]int)) {
	set := make([]int, 0, most)
	var step func(from int)
	step = func(from int) {
		if visit(set); len(set) == most {
			return
		}
		for i := from; i < len(columns); i++ {
			set = append(set, columns[i])
			step(i + 1)
			set = set[:len(set)-1]
		}
	}
	step(0)
}

// tried bounds the columns that widen considers.
const tried = 24

// widen adds columns to a table, as long as it stays small, so that it covers as many of the waiting
// tables as possible.
func (c *counter) widen(set []int, waiting map[string]bool) []int {
	cells := 1
	for _, a := range set {
		cells *= c.nodes(a)
	}
	columns := slices.Clone(set)
	for len(set) > 0 {
		best, gain := -1, 0
		for i := range min(tried, len(c.l.Attributes)) {
			a := (columns[len(columns)-1] + i) % len(c.l.Attributes)
			if slices.Contains(columns, a) || cells*c.nodes(a) > mostCounted {
				continue
			}
			n := 0
			subsets(columns, len(set)-1, func(s []int) {
				with := append(slices.Clone(s), a)
				slices.Sort(with)
				if len(with) == len(set) && waiting[keyOf(with)] {
					n++
				}
			})
			if n > gain {
				best, gain = a, n
			}
		}
		if best < 0 {
			break
		}
		cells *= c.nodes(best)
		columns = append(columns, best)
		slices.Sort(columns)
	}
	return columns
}

// add counts the rows of a batch.
func (c *counter) add(b linear.Block) {
	rows := b.Rows
	var kept []int // the rows that count, where some do not
	if b.Cells != nil {
		for r, cell := range b.Cells {
			if cell >= 0 {
				kept = append(kept, r)
			}
		}
		if rows = len(kept); rows == 0 {
			return
		}
	}
	c.share(len(c.values), func(a int) {
		to, node, codes := slices.Grow(c.values[a][:0], rows)[:rows], c.l.dimensions[a].node, b.Columns[a].Codes
		c.values[a] = to
		for i, r := range kept {
			to[i] = uint32(node[codes[r]])
		}
		for i := range to[len(kept):] { // all rows, or none
			to[i] = uint32(node[codes[i]])
		}
	})
	c.share(len(c.pairs), func(i int) {
		high, low := c.pairs[i][0], c.pairs[i][1]
		if low < 0 {
			c.codes[i] = c.values[high]
			return
		}
		to, x, y, n := slices.Grow(c.codes[i][:0], rows)[:rows], c.values[high][:rows], c.values[low][:rows], uint32(c.nodes(low))
		c.codes[i] = to
		for r := range to {
			to[r] = x[r]*n + y[r]
		}
	})
	one := c.l.lattice.Value(1, 1)
	var weights []int64
	if b.Weights != nil {
		for r := range rows {
			at := r
			if kept != nil {
				at = kept[r]
			}
			weights = append(weights, c.l.lattice.Value(1, c.l.lattice.Weight(b.Weights[at])))
		}
	}
	c.share(len(c.tables), func(i int) { c.count(&c.tables[i], rows, one, weights) })
}

// share does n pieces of work on all cores. Pieces share nothing that is written.
func (c *counter) share(n int, work func(int)) {
	var next atomic.Int64
	var workers guard.Group
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Run(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	workers.Wait()
}

// count counts the rows in one table.
func (c *counter) count(t *counted, rows int, one int64, weights []int64) {
	cells := t.cells
	if len(t.pairs) == 0 {
		total := one * int64(rows)
		if weights != nil {
			total = 0
			for _, w := range weights {
				total += w
			}
		}
		cells[0] += total
		return
	}
	at := c.codes[t.pairs[0]]
	for i, p := range t.pairs[1:] {
		codes, n := c.codes[p], uint32(1)
		for _, column := range c.pairs[p] {
			if column >= 0 {
				n *= uint32(c.nodes(column))
			}
		}
		if i == len(t.pairs)-2 && weights == nil && one == 1 { // the last of most tables
			if rows > math.MaxUint32-int(t.rows) {
				t.settle()
			}
			t.rows += uint32(rows)
			few, low := t.few, codes[:len(at)]
			for r, high := range at {
				few[high*n+low[r]]++
			}
			return
		}
		to := slices.Grow(t.at[:0], rows)[:rows]
		t.at = to
		for r, high := range at {
			to[r] = high*n + codes[r]
		}
		at = to
	}
	if weights == nil {
		for _, cell := range at {
			cells[cell] += one
		}
		return
	}
	for r, cell := range at {
		cells[cell] += weights[r]
	}
}

// settle adds the rows in few to the cells.
func (t *counted) settle() {
	for i, n := range t.few {
		t.cells[i] += int64(n)
	}
	clear(t.few)
	t.rows = 0
}

// done writes the contrasts of all residuals into the vector.
func (c *counter) done(sums []int64) {
	for i := range c.tables {
		c.tables[i].settle()
	}
	l := c.l
	have := map[string][]int64{} // the counts of tables at their levels
	for i := len(l.Residuals) - 1; i >= 0; i-- {
		r := l.Residuals[i]
		counts := c.counts(r, have)
		if have[l.name(r)] = counts; l.scale[i] == 0 {
			continue
		}
		to := sums[l.start[i]:][:len(counts)]
		copy(to, counts)
		l.Contrast(r, to)
		for j := range to {
			to[j] *= l.scale[i]
		}
	}
}

// counts sums up the counts of a table from a table with a finer level or one more column, or from
// a counted table.
func (c *counter) counts(t residual.Table, have map[string][]int64) []int64 {
	var best []int64
	var path residual.Table
	finest := len(t) == c.l.widest
	for _, p := range t {
		finest = finest && p.Level == len(c.l.Attributes[p.Attribute].Levels)
	}
	for a, at := 0, 0; a < len(c.l.Attributes) && !finest; a++ {
		finer := slices.Clone(t)
		if at < len(t) && t[at].Attribute == a {
			finer[at].Level++
			at++
			if finer[at-1].Level > len(c.l.Attributes[a].Levels) {
				continue
			}
		} else {
			finer = slices.Insert(finer, at, residual.Part{Attribute: a, Level: 1})
		}
		if x := have[c.l.name(finer)]; x != nil && (best == nil || len(x) < len(best)) {
			best, path = x, finer
		}
	}
	if best != nil {
		return residual.Fold(c.l.Workload, path, t, best)
	}
	set := columnsOf(t)
	for _, counted := range c.tables {
		if within(set, counted.columns) {
			var all residual.Table
			for _, a := range counted.columns {
				all = append(all, residual.Part{Attribute: a, Level: len(c.l.Attributes[a].Levels)})
			}
			return residual.Fold(c.l.Workload, all, t, counted.cells)
		}
	}
	panic("a table is counted nowhere")
}

// within reports whether all of a, in ascending order, are in b.
func within(a, b []int) bool {
	for _, x := range b {
		if len(a) > 0 && a[0] == x {
			a = a[1:]
		}
	}
	return len(a) == 0
}
