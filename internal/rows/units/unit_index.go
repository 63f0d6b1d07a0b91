package units

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/data/table"
)

// IndexSpec holds the options for numbering units.
type IndexSpec struct {
	Null   NullUnits
	Memory int64  // the most bytes that the index may take; 0 means table.DefaultMemory
	Dir    string // the folder for what does not fit; "" is the folder of temporary files
	_      struct{}
}

// Index gives each row of a table the number of its unit. Units are numbered from 0, in the order of their first rows.
//
// # Contract
//
// Two rows have the same number exactly if their keys are equal. A row without a key has no number (-1) or, under OwnNulls,
// one that no other row has. Proof: index.proof.md.
type Index struct {
	spec    IndexSpec
	keys    *keyer
	shards  [shards]unitShard
	next    uint32   // the number of the next unit
	numbers numbers  // of the rows
	ids     []uint32 // the numbers of the rows of a chunk
	fresh   []uint64 // of the first row of each new unit of a chunk, its shard and its place there, plus one
	found   []uint32 // the places of the chunk's sorted rows in their shards
	hashes  []uint64 // and their hashes
	seen    atomic.Uint64
	rows    int64 // so far
	nulls   int64 // of them those without a unit
	units   int64

	late *Sorter // rows whose units do not fit in memory, nil before there are any: see unit_settle.go
	from int64   // the first of them

	part  bool // of another index, whose numbers it shares
	first int64
}

// noUnit stands in numbers for a row that belongs to no unit.
const noUnit = math.MaxUint32

// NewIndex makes an empty index.
func NewIndex(spec IndexSpec) (*Index, error) {
	if !spec.Null.valid() || spec.Memory < 0 {
		return nil, fmt.Errorf("units: an index needs a rule for rows without a unit")
	}
	spec.Memory = cmp.Or(spec.Memory, table.DefaultMemory)
	room := max(1, spec.Memory/4/(4*chunkRows))
	return &Index{spec: spec, keys: newKeyer(spec.Null), numbers: numbersIn(spec.Dir, room)}, nil
}

// Add numbers rows. Calls come in the order of the table.
func (x *Index) Add(unit table.Values, rows int) error {
	for first := 0; first < rows; first += chunkRows {
		n := min(chunkRows, rows-first)
		if err := x.chunk(&unit, first, n); err != nil {
			return err
		}
		x.rows += int64(n)
	}
	return nil
}

func (x *Index) chunk(unit *table.Values, first, rows int) error {
	missing, err := x.keys.split(unit, first, rows)
	if err != nil {
		return err
	}
	x.nulls += missing
	if x.late == nil && !x.fits() {
		if err := x.divert(); err != nil {
			return err
		}
	}
	if x.late != nil {
		return x.put(unit, first, rows)
	}
	x.ids, x.fresh, x.found, x.hashes = fit(x.ids, rows), fit(x.fresh, rows), fit(x.found, rows), fit(x.hashes, rows)
	for i := range rows {
		x.ids[i] = noUnit
	}
	parallel(shards, func(i int) {
		x.shards[i].before = len(x.shards[i].units)
		x.shards[i].reserve(x.keys, x.ofShard(i))
		x.keys.each(i, func(lo, hi int) { x.find(i, unit, first, lo, hi) })
	})
	if err := x.number(rows); err != nil {
		return err
	}
	parallel(shards, func(i int) {
		s := &x.shards[i]
		if s.before == len(s.units) {
			return
		}
		x.keys.each(i, func(lo, hi int) {
			for at := lo; at < hi; at++ {
				if off := x.keys.sorted[at]; off&ownRow == 0 && int(x.found[at]) >= s.before {
					x.ids[off] = uint32(s.units[x.found[at]].is)
				}
			}
		})
	})
	return x.numbers.add(x.ids[:rows])
}

// ofShard returns the number of rows of the chunk in a shard.
func (x *Index) ofShard(shard int) (n int) {
	x.keys.each(shard, func(lo, hi int) { n += hi - lo })
	return n
}

// fits reports whether the units are few enough, also if each row of the chunk is a new one.
func (x *Index) fits() bool {
	need, grows := int64(0), false
	for i := range x.shards {
		s := &x.shards[i]
		want := s.wants(x.ofShard(i))
		need, grows = need+want, grows || want > s.bytes()
	}
	return !grows || need <= x.spec.Memory/2
}

// find finds the units of rows of one shard, which stand in sorted from lo to hi, and the numbers of those that are not new.
func (x *Index) find(shard int, unit *table.Values, first, lo, hi int) {
	// Most of the time goes into waiting for memory. The first two loops wait for many slots, and then for many units, at
	// once. They decide nothing: the third compares keys.
	k, s := x.keys, &x.shards[shard]
	mask := uint64(len(s.slots) - 1)
	hashes, found, offs := x.hashes[lo:hi], x.found[lo:hi], k.sorted[lo:hi]
	slots, seen := s.slots, uint64(0)
	for i, off := range offs {
		h := k.mix(k.read[off&offMask])
		hashes[i] = h
		seen += slots[h&mask]
	}
	for i, h := range hashes {
		at := h & mask
		for slots[at] != 0 && (slots[at]^h)&tagMask != 0 {
			at = (at + 1) & mask
		}
		n := uint32(slots[at]) - 1
		if found[i] = n; n != noUnit {
			seen += s.units[n].key
		}
	}
	x.seen.Store(seen) // so that no compiler leaves the loops out
	for i, off := range offs {
		if off&ownRow != 0 {
			x.fresh[off&offMask] = ownRow
			continue
		}
		word, added, text := k.read[off], false, ""
		switch n := found[i]; {
		case k.text:
			text = unit.Dict[unit.Codes[first+int(off)]]
		case n != noUnit && s.units[n].key == word:
			x.ids[off] = uint32(s.units[n].is)
			continue
		}
		if found[i], added = s.find(k, hashes[i], word, text, 0); added {
			x.fresh[off] = uint64(shard)<<32 | uint64(found[i]) + 1
		}
		x.ids[off] = uint32(s.units[found[i]].is)
	}
}

// number numbers the new units of a chunk in the order of their rows.
func (x *Index) number(rows int) error {
	for row, at := range x.fresh[:rows] {
		if at == 0 {
			continue
		}
		if x.next == noUnit-1 {
			return ErrLimit
		}
		if x.fresh[row] = 0; at == ownRow {
			x.ids[row] = x.next
		} else {
			x.shards[(at-1)>>32].units[uint32(at-1)].is = uint64(x.next)
		}
		x.next++
	}
	return nil
}

// Finish ends the table. It returns ErrNullKey if a row names no unit and the rule is to refuse.
func (x *Index) Finish() error {
	if x.spec.Null == RefuseNulls && x.nulls > 0 {
		return ErrNullKey
	}
	if x.late != nil {
		if err := x.settle(); err != nil {
			return err
		}
	}
	x.shards = [shards]unitShard{}
	if x.units = int64(x.next); x.units > math.MaxInt32 {
		return ErrLimit
	}
	return nil
}

// Rows returns the number of rows of the table. Under add-remove it is private (P19).
func (x *Index) Rows() int64 { return x.rows }

// Units returns the number of units, after Finish. Under add-remove it is private.
func (x *Index) Units() int64 { return x.units }

// NullRows returns the number of rows that name no unit. It is private.
func (x *Index) NullRows() int64 { return x.nulls }

// Numbers writes the units' numbers of consecutive rows, or -1 for a row without a unit. After Finish, several goroutines may
// call it.
func (x *Index) Numbers(first int64, dst []int32) error {
	if first < 0 || first+int64(len(dst)) > x.rows {
		return errShape
	}
	if err := x.numbers.read(x.first+first, dst); err != nil {
		return err
	}
	for i, n := range dst {
		if int64(n) >= x.units {
			dst[i] = -1
		}
	}
	return nil
}

// Close frees the memory and the files of the index.
func (x *Index) Close() error {
	if x.part {
		return nil
	}
	err := cmp.Or(x.late.Close(), x.numbers.disk.Close())
	x.late, x.numbers, x.shards = nil, numbers{}, [shards]unitShard{}
	return err
}

// AddTable numbers rows of one of several tables of a data set, all tables in the same index: equal keys have one number in
// all of them (P32). The rule for rows without a unit is that of the table; the index itself was made with OwnNulls.
func (x *Index) AddTable(nulls NullUnits, unit table.Values, rows int) error {
	before := x.nulls
	if x.keys.nulls = nulls; nulls == RefuseNulls {
		x.keys.nulls = DropNulls
	}
	err := x.Add(unit, rows)
	if err == nil && nulls == RefuseNulls && x.nulls > before {
		return ErrNullKey
	}
	return err
}

// Part returns a finished index of some of its rows, those of one table, of which nulls name no unit. It lives as long as
// the index, which alone is closed.
func (x *Index) Part(first, rows, nulls int64) *Index {
	return &Index{spec: x.spec, keys: x.keys, numbers: x.numbers, units: x.units, part: true, first: first, rows: rows, nulls: nulls}
}

// Below returns a part of an index in which the first units alone count: the rows of others belong to none.
func (x *Index) Below(units int64) *Index {
	part := x.Part(x.first, x.Rows(), x.NullRows())
	part.units = units
	return part
}

// Mapped returns a finished index of other rows, whose units are among those of x: read writes their numbers, or -1, as
// Numbers does. It has memory and a file of its own, and lives as long as x.
func (x *Index) Mapped(rows int64, read func(first int64, dst []int32) error) (*Index, error) {
	out := &Index{spec: x.spec, keys: x.keys, units: x.units, rows: rows, numbers: numbersIn(x.spec.Dir, x.numbers.room)}
	some, ids := make([]int32, chunkRows), make([]uint32, chunkRows)
	for first := int64(0); first < rows; first += chunkRows {
		n := min(chunkRows, rows-first)
		err := read(first, some[:n])
		for i, unit := range some[:n] {
			ids[i] = uint32(unit) // -1 is noUnit
		}
		if err == nil {
			err = out.numbers.add(ids[:n])
		}
		if err != nil {
			out.Close()
			return nil, err
		}
	}
	return out, nil
}
