package units

import (
	"fmt"
	"math/bits"

	"github.com/dprelease/dprelease/internal/noise"
)

// Capper keeps at most k cells of each unit, and at most r of its rows in each of them (P22).
//
// # Contract
//
// For each unit that has rows in m cells, it keeps min(k, m) of these cells, every choice of them with the same
// probability, and of the n rows that the unit has in a kept cell min(r, n), every choice with the same probability. The
// choices of different units, and within a unit those of cells and those of rows, are independent. So which rows of a unit
// are kept depends on that unit's own rows and on randomness that no other unit uses. Proof: cap.proof.md.
type Capper struct {
	index  *Index
	groups int
	rows   int
	source *noise.Source
	pairs  []cappedPair
	slots  []uint32 // places in pairs, plus one
	heads  []uint32 // for each unit its last pair, plus one
	pool   []int64  // the rows that pairs keep
	units  []int32  // of the rows of a chunk
	kept   *Kept
}

// cappedPair is a unit in a cell: a reservoir of its rows there.
type cappedPair struct {
	seen uint64 // rows so far
	at   int    // its place in the pool,
	room int    // and how many rows there is room for
	unit int32
	cell int32
	next uint32 // another pair of the unit, plus one
}

// NewCapper makes a capper of the rows of an index that is finished. Source is the host's randomness.
func NewCapper(index *Index, groups, rows int, source *noise.Source) (*Capper, error) {
	if groups < 1 || rows < 1 {
		return nil, fmt.Errorf("units: a cap keeps at least one cell and one row")
	}
	if err := source.Err(); err != nil {
		return nil, err
	}
	return &Capper{index: index, groups: groups, rows: rows, source: source, heads: make([]uint32, index.Units()),
		slots: make([]uint32, 1<<12), units: make([]int32, chunkRows), kept: newKept(index.Rows())}, nil
}

// Add takes the cells of rows, from a row of the table on: -1 is in no cell, and is not kept. Calls come in the order of
// the table.
func (c *Capper) Add(first int64, cells []int32) error {
	for len(cells) > 0 {
		n := min(len(cells), chunkRows)
		units := c.units[:n]
		if err := c.index.Numbers(first, units); err != nil {
			return err
		}
		for i, cell := range cells[:n] {
			if cell >= 0 && units[i] >= 0 {
				c.add(first+int64(i), units[i], cell)
			}
		}
		cells, first = cells[n:], first+int64(n)
	}
	return nil
}

// add puts a row into the reservoir of its unit and cell: the n-th row takes one of r places with probability r/n.
func (c *Capper) add(row int64, unit, cell int32) {
	c.kept.Offered++
	p := c.pair(unit, cell)
	p.seen++
	if p.seen > uint64(c.rows) {
		if j := c.source.Uint64n(p.seen); j < uint64(c.rows) {
			c.pool[p.at+int(j)] = row
		}
		return
	}
	n := int(p.seen)
	if n > p.room {
		room := min(c.rows, max(1, 2*p.room))
		at := len(c.pool)
		c.pool = append(c.pool, c.pool[p.at:p.at+p.room]...)
		c.pool = append(c.pool, make([]int64, room-p.room)...)
		p.at, p.room = at, room
	}
	c.pool[p.at+n-1] = row
}

// pair finds a unit in a cell, or makes it.
func (c *Capper) pair(unit, cell int32) *cappedPair {
	if (len(c.pairs)+1)*4 > len(c.slots)*3 {
		c.slots = make([]uint32, 2*len(c.slots))
		for i, p := range c.pairs {
			c.slots[c.place(p.unit, p.cell)] = uint32(i + 1)
		}
	}
	at := c.place(unit, cell)
	if c.slots[at] == 0 {
		c.pairs = append(c.pairs, cappedPair{unit: unit, cell: cell, next: c.heads[unit]})
		c.slots[at] = uint32(len(c.pairs))
		c.heads[unit] = c.slots[at]
	}
	return &c.pairs[c.slots[at]-1]
}

// place is the slot of a pair, or the empty one where it belongs.
func (c *Capper) place(unit, cell int32) uint64 {
	mask := uint64(len(c.slots) - 1)
	for at := c.index.set.keys.mix(uint64(unit)<<32|uint64(uint32(cell))) & mask; ; at = (at + 1) & mask {
		if c.slots[at] == 0 {
			return at
		}
		if p := &c.pairs[c.slots[at]-1]; p.unit == unit && p.cell == cell {
			return at
		}
	}
}

// Finish chooses the cells of each unit and returns the rows that are kept.
func (c *Capper) Finish() (*Kept, error) {
	var own []uint32
	for _, head := range c.heads {
		own = own[:0]
		for at := head; at != 0; at = c.pairs[at-1].next {
			own = append(own, at-1)
		}
		// The first steps of a Fisher-Yates shuffle: own[:k] is a uniform choice.
		for i := 0; i < c.groups && c.groups < len(own); i++ {
			j := i + int(c.source.Uint64n(uint64(len(own)-i)))
			own[i], own[j] = own[j], own[i]
		}
		for _, at := range own[:min(len(own), c.groups)] {
			p := &c.pairs[at]
			for _, row := range c.pool[p.at : p.at+int(min(p.seen, uint64(c.rows)))] {
				c.kept.add(row)
			}
		}
	}
	if err := c.source.Err(); err != nil {
		return nil, err
	}
	return c.kept, nil
}

// Kept says which rows of a table a cap keeps. Its counts are private (P19).
type Kept struct {
	Offered int64 // rows that had a unit and a cell
	Rows    int64 // rows that are kept
	words   []uint64
}

func newKept(rows int64) *Kept { return &Kept{words: make([]uint64, (rows+63)/64)} }

func (k *Kept) add(row int64) {
	k.Rows++
	k.words[row>>6] |= 1 << (row & 63)
}

// Has says whether a row is kept.
func (k *Kept) Has(row int64) bool { return k.words[row>>6]>>(row&63)&1 == 1 }

// Mask writes the bitmap of consecutive rows as table.Values.Valid has it, and returns how many of them are kept.
func (k *Kept) Mask(first int64, rows int, dst []byte) (kept int) {
	for i := range dst[:(rows+7)/8] {
		at := first + int64(i)*8
		b := byte(k.words[at>>6] >> (at & 63))
		if shift := at & 63; shift > 56 && at>>6+1 < int64(len(k.words)) {
			b |= byte(k.words[at>>6+1] << (64 - shift))
		}
		if left := rows - i*8; left < 8 {
			b &= 1<<left - 1
		}
		dst[i] = b
		kept += bits.OnesCount8(b)
	}
	return kept
}
