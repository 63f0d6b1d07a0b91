package units

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/noise"
)

// Capper keeps at most k cells of each unit, and at most r of its rows in each of them (P22).
//
// # Contract
//
// Of the m cells in which a unit has rows it keeps min(k, m), and of the n rows in a kept cell min(r, n). Every choice has
// the same probability. The choices of different units, and within a unit those of cells and those of rows, are
// independent. So what is kept of a unit depends on that unit's own rows and on randomness that no other unit uses.
// Proof: cap.proof.md.
type Capper struct {
	index   *Index
	lanes   []*capLane
	sources []*noise.Source // one for each lane
	groups  int
	rows    int
	units   []int32 // of the rows of a chunk
	kept    *Kept
	memory  int64
	disk    *scratch
	parts   []partition // nil as long as everything fits in memory
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
	c := &Capper{index: index, groups: groups, rows: rows, sources: sources, memory: memory, kept: newKept(index.Rows())}
	if 4*index.Units() > memory/2 { // the lanes' heads take four bytes a unit
		return c, c.divide()
	}
	for i := range sources {
		c.lanes = append(c.lanes, c.newLane(i, int64(len(sources))))
	}
	return c, nil
}

func (c *Capper) newLane(source int, every int64) *capLane {
	return &capLane{keys: c.index.set.keys, source: c.sources[source], groups: c.groups, rows: c.rows, every: every,
		heads: make([]uint32, c.index.Units()/every+1), slotTable: slotTable{slots: make([]uint64, 1<<6)}, rowsNow: make([]cappedRow, 0, cappedRows)}
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
		if err := c.chunk(first, units, cells[:n]); err != nil {
			return err
		}
		cells, first = cells[n:], first+int64(n)
	}
	return nil
}

func (c *Capper) chunk(first int64, units, cells []int32) error {
	if c.parts != nil {
		for i, cell := range cells {
			if cell >= 0 && units[i] >= 0 {
				if err := c.parts[units[i]%shards].writeWords(rowRecord(units[i], cell, first+int64(i))...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	parallel(len(c.lanes), func(l int) { c.lanes[l].chunk(first, units, cells, l) })
	bytes := int64(0)
	for _, l := range c.lanes {
		bytes += l.bytes()
	}
	if bytes <= c.memory/2 {
		return nil
	}
	if err := c.divide(); err != nil {
		return err
	}
	for _, l := range c.lanes {
		if err := l.suspend(c.parts, 1); err != nil {
			return err
		}
	}
	c.lanes = nil
	return nil
}

// divide goes over to the disk.
func (c *Capper) divide() (err error) {
	if c.disk, err = newScratch(c.index.spec.Dir); err == nil {
		c.parts = newPartitions(c.disk)
	}
	return err
}

// Finish chooses the cells of each unit and returns the rows that it keeps. Nobody may use the capper after that.
func (c *Capper) Finish() (*Kept, error) {
	defer c.Close()
	parallel(len(c.lanes), func(i int) { c.lanes[i].finish(c.kept) })
	for i := range c.parts {
		if err := c.settle(&c.parts[i], shards); err != nil {
			return nil, err
		}
	}
	for _, s := range c.sources {
		if err := s.Err(); err != nil {
			return nil, err
		}
	}
	return c.kept, nil
}

// settle resumes the units of a partition. Units in it differ by multiples of every, which grows 64 times with each
// division.
func (c *Capper) settle(p *partition, every int64) error {
	if err := p.end(); err != nil || len(p.extents) == 0 {
		return err
	}
	lane := c.newLane(0, every)
	var parts []partition
	r, record := p.reader(spillBuffer), []uint64(nil)
	for {
		more, err := r.more()
		if err == nil && more {
			record, err = readCapped(r, record)
		}
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if parts != nil {
			if err := parts[int64(record[0]>>32)/every%shards].writeWords(record...); err != nil {
				return err
			}
			continue
		}
		lane.resume(record)
		if lane.bytes() > c.memory/2 && every < c.index.Units() {
			parts = newPartitions(c.disk)
			if err := lane.suspend(parts, every); err != nil {
				return err
			}
			lane = nil
		}
	}
	if parts == nil {
		lane.finish(c.kept)
	}
	for i := range parts {
		if err := c.settle(&parts[i], every*shards); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the memory and the file of a capper, as Finish does.
func (c *Capper) Close() error {
	c.lanes, c.parts = nil, nil
	err := c.disk.close()
	c.disk = nil
	return err
}

// Kept is the set of rows that a cap keeps.
type Kept struct{ words []uint64 }

func newKept(rows int64) *Kept { return &Kept{words: make([]uint64, (rows+63)/64)} }

// add adds a row. Several goroutines may call it.
func (k *Kept) add(row int64) { atomic.OrUint64(&k.words[row>>6], 1<<(row&63)) }

// Has reports whether a row is kept.
func (k *Kept) Has(row int64) bool { return k.words[row>>6]>>(row&63)&1 == 1 }
