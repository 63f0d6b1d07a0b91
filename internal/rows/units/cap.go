package units

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/data/nameless"
	"github.com/dprelease/dprelease/internal/noise"
)

// Capper keeps at most k cells of each unit, and at most r of its rows in each of them (P22). It sorts rows into partitions
// by their units, and then sees all rows of a partition together.
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
	parts   [shards]rowPart // by the units' numbers
	held    int64           // bytes of the parts in memory
	memory  int64
	kept    *Kept

	mu   sync.Mutex
	disk *nameless.File // nil as long as everything fits in memory
}

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
	return &Capper{index: index, groups: groups, rows: rows, sources: sources, memory: memory, kept: newKept(index.Rows())}, nil
}

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
				c.parts[unit%shards].add(unit, cell, first+int64(i))
				c.held += rowBytes
			}
		}
		if c.held > c.memory/2 {
			if err := c.spill(); err != nil {
				return err
			}
		}
		cells, first = cells[n:], first+int64(n)
	}
	return nil
}

// spill writes all rows to the disk.
func (c *Capper) spill() error {
	disk, err := c.scratch()
	for i := 0; err == nil && i < shards; i++ {
		err = c.parts[i].spill(disk)
	}
	c.held = 0
	return err
}

// scratch returns the file for what does not fit in memory.
func (c *Capper) scratch() (_ *nameless.File, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disk == nil {
		c.disk, err = nameless.New(c.index.spec.Dir)
	}
	return c.disk, err
}

// Finish chooses the cells of each unit and returns the rows that it keeps. Nobody may use the capper after that.
func (c *Capper) Finish() (*Kept, error) {
	defer c.Close()
	errs := make([]error, len(c.sources))
	parallel(len(c.sources), func(n int) {
		l := &capLane{keys: c.index.set.keys, source: c.sources[n], groups: c.groups, rows: c.rows, limit: c.memory / 2 / int64(len(c.sources))}
		for i := n; i < shards && errs[n] == nil; i += len(c.sources) {
			errs[n] = c.settle(l, &c.parts[i], shards)
		}
		errs[n] = cmp.Or(errs[n], l.source.Err())
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return c.kept, nil
}

// settle caps the units of a partition, whose numbers differ by multiples of every. A partition whose units do not fit in
// memory is divided.
func (c *Capper) settle(l *capLane, p *rowPart, every int64) error {
	if err := p.End(); err != nil || p.rows() == 0 {
		return err
	}
	l.begin(every, c.index.Units())
	err := p.each(func(words []uint32) error {
		if l.take(words); l.bytes() > l.limit && every < c.index.Units() {
			return errLane
		}
		return nil
	})
	switch err {
	case nil:
		l.finish(c.kept)
	case errLane:
		err = c.divide(l, p, every)
	}
	*p = rowPart{}
	return err
}

// errLane says that the units of a partition do not fit in memory. What was chosen for them is forgotten: whether it
// happens depends on their rows, and not on a choice.
var errLane = errors.New("units: a partition does not fit in memory")

// divide divides a partition, whose units differ by multiples of every, into 64, and settles them.
func (c *Capper) divide(l *capLane, p *rowPart, every int64) error {
	l.slots = nil // the next units need less
	disk, err := c.scratch()
	if err != nil {
		return err
	}
	var parts [shards]rowPart
	row := rowReader{}
	err = p.each(func(words []uint32) error {
		for ; len(words) > 0; words = words[rowWords:] {
			if row.next(words) {
				parts[int64(row.unit)/every%shards].add(row.unit, row.cell, row.row)
			}
		}
		for i := range parts {
			if err := parts[i].spill(disk); err != nil {
				return err
			}
		}
		return nil
	})
	for i := 0; err == nil && i < shards; i++ {
		err = c.settle(l, &parts[i], every*shards)
	}
	return err
}

// Close frees the memory and the file of a capper, as Finish does.
func (c *Capper) Close() error {
	c.parts = [shards]rowPart{}
	err := c.disk.Close()
	c.disk = nil
	return err
}

// Kept is the set of rows that a cap keeps.
type Kept struct {
	words []uint64
	from  int64 // the rows among which they were chosen
}

func newKept(rows int64) *Kept { return &Kept{words: make([]uint64, (rows+63)/64)} }

// add adds a row. Several goroutines may call it.
func (k *Kept) add(row int64) { atomic.OrUint64(&k.words[row>>6], 1<<(row&63)) }

// Count returns how many rows are kept.
func (k *Kept) Count() (n int64) {
	for _, w := range k.words {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// Dropped returns how many rows of a unit and a cell there were, and how many of them are not kept. Both are private.
func (k *Kept) Dropped() (rows, dropped int64) { return k.from, k.from - k.Count() }

// Has reports whether a row is kept.
func (k *Kept) Has(row int64) bool { return k.words[row>>6]>>(row&63)&1 == 1 }
