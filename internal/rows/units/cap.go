package units

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/dprelease/dprelease/internal/noise"
)

// Capper keeps at most k cells of each unit, and at most r of its rows in each of them (P22). It sorts rows by the
// numbers of their units, and then sees all rows of some units together.
//
// # Contract
//
// Of the m cells in which a unit has rows it keeps min(k, m), and of the n rows in a kept cell min(r, n). Every choice has
// the same probability. The choices of different units, and within a unit those of cells and those of rows, are
// independent. So what is kept of a unit depends on that unit's own rows and on randomness that no other unit uses.
// Proof: cap.proof.md.
type Capper struct {
	index   *Index
	groups  int
	rows    int
	sources []*noise.Source // one for each goroutine
	units   []int32         // of the rows of a chunk
	parts   *Sorter         // by the units' numbers
	every   int64           // the units of a part differ by multiples of this
	memory  int64
	kept    *Kept
}

// A row is its unit, its cell and the two halves of its number.
const rowWords = 4

// NewCapper makes a capper for the rows of a finished index, with the memory limit of the index. Source is the host's
// randomness.
func NewCapper(index *Index, groups, rows int, source *noise.Source) (*Capper, error) {
	if err := source.Err(); err != nil {
		return nil, err
	}
	sources := []*noise.Source{source} // for a small table
	if n := runtime.GOMAXPROCS(0); n > 1 && index.Rows() > chunkRows {
		sources = sources[:0]
		for range n {
			sources = append(sources, source.Child())
		}
	}
	return newCapper(index, groups, rows, index.spec.Memory, sources)
}

func newCapper(index *Index, groups, rows int, memory int64, sources []*noise.Source) (*Capper, error) {
	if groups < 1 || rows < 1 {
		return nil, fmt.Errorf("units: a cap keeps at least one cell and one row")
	}
	// So many parts that the units of one fit in a lane, unless some of them have far more rows than others.
	every := int64(shards)
	for every < mostParts && index.Rows()*cappedBytes/every > memory/2/int64(len(sources)) {
		every *= 2
	}
	return &Capper{index: index, groups: groups, rows: rows, sources: sources, memory: memory,
		kept: &Kept{RowSet: NewRowSet(index.Rows())}, every: every, parts: NewSorter(int(every), memory/2, index.spec.Dir)}, nil
}

const (
	mostParts   = 1 << 12
	cappedBytes = 64 // what a row takes in a lane at most, about
)

// Add adds rows of the table, from first on, with their cells. A row of cell -1 is in none and is not kept. Calls come in
// the order of the table.
func (c *Capper) Add(first int64, cells []int32) error {
	for len(cells) > 0 {
		n := min(len(cells), chunkRows)
		c.units = fit(c.units, n)
		units := c.units[:n]
		if err := c.index.Numbers(first, units); err != nil {
			return err
		}
		for i, cell := range cells[:n] {
			if unit := units[i]; cell >= 0 && unit >= 0 {
				c.kept.from++
				row := first + int64(i)
				if err := c.parts.Add(int(int64(unit)%c.every), uint32(unit), uint32(cell), uint32(row), uint32(row>>32)); err != nil {
					return err
				}
			}
		}
		cells, first = cells[n:], first+int64(n)
	}
	return nil
}

// Finish chooses the cells of each unit and returns the rows that it keeps. Nobody may use the capper after that.
func (c *Capper) Finish() (*Kept, error) {
	defer c.Close()
	errs := make([]error, len(c.sources))
	parallel(len(c.sources), func(n int) {
		l := &capLane{mixer: &c.index.keys.mixer, source: c.sources[n], groups: c.groups, rows: c.rows,
			limit: c.memory / 2 / int64(len(c.sources))}
		for i := n; i < int(c.every) && errs[n] == nil; i += len(c.sources) {
			errs[n] = c.settle(l, i, int64(i), c.every)
		}
		errs[n] = cmp.Or(errs[n], l.source.Err())
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return c.kept, nil
}

// settle caps the units from first on whose numbers differ by multiples of every. They are in one part. Where they do not fit in
// memory, the part is read once for each half of them, and what was chosen is forgotten: whether it happens depends on their rows,
// and not on a choice.
func (c *Capper) settle(l *capLane, part int, first, every int64) error {
	l.begin(first, every, c.index.Units())
	err := c.parts.Each(part, func(rows []uint32) error {
		if l.take(rows); l.bytes() > l.limit && every < c.index.Units() {
			return errRoom
		}
		return nil
	})
	switch err {
	case nil:
		l.finish(c.kept)
	case errRoom:
		l.slots = nil // the next units need less
		if err = c.settle(l, part, first, 2*every); err == nil {
			err = c.settle(l, part, first+every, 2*every)
		}
	}
	return err
}

// Close frees the memory and the file of a capper, as Finish does.
func (c *Capper) Close() error { return c.parts.Close() }
