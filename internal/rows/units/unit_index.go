package units

import (
	"errors"
	"fmt"
	"math"

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
// one that no other row has. Proof: fold.proof.md.
type Index struct {
	overflow
	spec     IndexSpec
	next     uint32   // the number of the next unit
	numbers  numbers  // of the rows
	places   []uint64 // the shard and place of each new unit of a chunk, by its first row
	ids      []uint32 // the numbers of the rows of a chunk
	units    int64
	diverted int64 // the first row that was written to the disk

	part        bool // of another index: rows of it, from first on
	first, rows int64
	nulls       int64 // of them
}

// noUnit stands in numbers for a row that belongs to no unit.
const noUnit = math.MaxUint32

// NewIndex makes an empty index.
func NewIndex(spec IndexSpec) (*Index, error) {
	if !spec.Null.valid() || spec.Memory < 0 {
		return nil, fmt.Errorf("units: an index needs a rule for rows without a unit")
	}
	if spec.Memory == 0 {
		spec.Memory = table.DefaultMemory
	}
	x := &Index{spec: spec, overflow: overflow{set: newUnitSet(spec.Null, ownWords), width: ownWords, dir: spec.Dir, limit: spec.Memory / 2}}
	x.numbers = numbers{dir: spec.Dir, room: max(1, spec.Memory/2/(4*chunkRows))}
	return x, nil
}

// Add numbers rows. Calls come in the order of the table.
func (x *Index) Add(unit table.Values, rows int) error {
	for first := 0; first < rows; first += chunkRows {
		if err := x.chunk(&unit, first, min(chunkRows, rows-first)); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) chunk(unit *table.Values, first, rows int) error {
	x.places, x.ids = fit(x.places, rows), fit(x.ids, rows)
	err := x.set.split(unit, first, rows, func(*stretch) {})
	if err != nil {
		return err
	}
	if x.disk == nil {
		if err := x.makeRoom(0, x.divert); err != nil {
			return err
		}
	}
	if x.disk != nil {
		err := x.put(func(off int) string { return unit.Dict[unit.Codes[first+off]] })
		x.set.row += int64(rows)
		return err
	}
	for i := range rows {
		x.ids[i] = noUnit
	}
	var before [shards]int
	parallel(shards, func(i int) {
		before[i] = x.set.shards[i].records.count
		x.set.find(i, unit, first)
	})
	if err := x.number(&before, rows); err != nil {
		return err
	}
	parallel(shards, func(i int) {
		x.set.found(i, func(s *unitShard, lo int, offs, nums []uint32) {
			for j, off := range offs {
				x.ids[off] = uint32(s.records.at(nums[j])[firstWord])
			}
		})
	})
	x.set.row += int64(rows)
	return x.numbers.add(x.ids[:rows])
}

// number numbers the new units of a chunk in the order of their rows. The number replaces the row in a unit's record.
func (x *Index) number(before *[shards]int, rows int) error {
	made := 0
	for i := range before {
		s := &x.set.shards[i]
		for n := before[i]; n < s.records.count; n++ {
			row := int64(s.records.at(uint32(n))[firstWord] &^ ownUnit)
			x.places[row-x.set.row] = uint64(i)<<32 | uint64(n) + 1
			made++
		}
	}
	if made == 0 {
		return nil
	}
	if int64(x.next)+int64(made) >= noUnit {
		return ErrLimit
	}
	for row, p := range x.places[:rows] {
		if p == 0 {
			continue
		}
		x.places[row] = 0
		r := x.set.shards[(p-1)>>32].records.at(uint32(p - 1))
		r[firstWord] = r[firstWord]&ownUnit | uint64(x.next)
		x.next++
	}
	return nil
}

// Finish ends the table. It returns ErrNullKey if a row names no unit and the rule is to refuse.
func (x *Index) Finish() error {
	if err := x.set.keys.err(); err != nil {
		return err
	}
	x.units = int64(x.next)
	if x.disk != nil {
		if err := x.settle(); err != nil {
			return err
		}
	}
	x.set.free()
	if x.units > math.MaxInt32 {
		return ErrLimit
	}
	return nil
}

// Rows returns the number of rows of the table. Under add-remove it is private (P19).
func (x *Index) Rows() int64 {
	if x.part {
		return x.rows
	}
	return x.numbers.rows
}

// Units returns the number of units, after Finish. Under add-remove it is private.
func (x *Index) Units() int64 { return x.units }

// NullRows returns the number of rows that name no unit. It is private.
func (x *Index) NullRows() int64 {
	if x.part {
		return x.nulls
	}
	return x.set.keys.missing
}

// Numbers writes the units' numbers of consecutive rows, or -1 for a row without a unit. After Finish, several goroutines may
// call it.
func (x *Index) Numbers(first int64, dst []int32) error {
	if !x.part {
		return x.numbers.read(first, dst)
	}
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
	err := errors.Join(x.overflow.close(), x.numbers.disk.Close())
	x.numbers = numbers{}
	return err
}

// AddTable numbers rows of one of several tables of a data set, all tables in the same index: equal keys have one number in
// all of them (P32). The rule for rows without a unit is that of the table; the index itself was made with OwnNulls.
func (x *Index) AddTable(nulls NullUnits, unit table.Values, rows int) error {
	before := x.set.keys.missing
	if x.set.keys.nulls = nulls; nulls == RefuseNulls {
		x.set.keys.nulls = DropNulls
	}
	err := x.Add(unit, rows)
	if err == nil && nulls == RefuseNulls && x.set.keys.missing > before {
		return ErrNullKey
	}
	return err
}

// Part returns a finished index of some of its rows, those of one table, of which nulls name no unit. It lives as long as
// the index, which alone is closed.
func (x *Index) Part(first, rows, nulls int64) *Index {
	part := *x
	part.part, part.first, part.rows, part.nulls = true, first, rows, nulls
	return &part
}

// Below returns a part of an index in which the first units alone count: the rows of others belong to none.
func (x *Index) Below(units int64) *Index {
	part := *x.Part(x.first, x.Rows(), x.NullRows())
	part.units = units
	return &part
}

// Mapped returns a finished index of other rows, whose units are among those of x: read writes their numbers, or -1, as
// Numbers does. It has memory and a file of its own, and lives as long as x.
func (x *Index) Mapped(rows int64, read func(first int64, dst []int32) error) (*Index, error) {
	out := *x
	out.part, out.first, out.disk = false, 0, nil
	out.numbers = numbers{dir: x.spec.Dir, room: x.numbers.room}
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
	return &out, nil
}
