package units

import (
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/data/table"
)

// The first words of a unit's record.
const (
	keyWord   = iota // its key, or the name of its text
	firstWord        // its first row, with ownUnit where the row is a unit of its own
	ownWords         // how many there are
)

const ownUnit = 1 << 63

// unitShard holds the units whose hashes have the same top bits, in the order of their first rows.
type unitShard struct {
	slotTable
	records records
	texts   texts
}

// insert adds a unit. The caller has reserved room for it.
func (s *unitShard) insert(key uint64, first uint64) uint32 {
	n := uint32(s.records.count)
	s.records.count++
	r := s.records.at(n)
	r[keyWord], r[firstWord] = key, first
	return n
}

func (s *unitShard) bytes() int64 {
	return 8*int64(len(s.slots)+len(s.records.words)) + s.texts.bytes
}

// wants returns what bytes would return with room for more units.
func (s *unitShard) wants(more int) int64 {
	if more == 0 {
		return s.bytes()
	}
	return 8*int64(s.grown(more)+s.records.room(more)) + s.texts.bytes
}

// reserve makes room for more units.
func (s *unitShard) reserve(k *keyer, more int) {
	if more == 0 {
		return
	}
	s.records.reserve(more)
	size := s.grown(more)
	if size == len(s.slots) {
		return
	}
	s.slots = make([]uint64, size)
	for n := range uint32(s.records.count) {
		if r := s.records.at(n); r[firstWord]&ownUnit == 0 {
			s.put(k.hash(s, r), n)
		}
	}
}

// find returns the unit of a key: of the text if keys are texts, else of the word. It adds a new unit with the given first
// row. The caller has reserved room for it.
func (s *unitShard) find(k *keyer, hash, word uint64, text string, first uint64) uint32 {
	mask := uint64(len(s.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		place := s.slots[at]
		if place == 0 {
			if k.text {
				word = s.texts.add(text)
			}
			n := s.insert(word, first)
			s.slots[at] = hash&tagMask | uint64(n) + 1
			s.used++
			return n
		}
		if (place^hash)&tagMask != 0 {
			continue
		}
		n := uint32(place&slotUnit - 1)
		if key := s.records.at(n)[keyWord]; key == word && !k.text || k.text && string(s.texts.at(key)) == text {
			return n
		}
	}
}

// reset forgets the units and keeps the memory.
func (s *unitShard) reset() {
	clear(s.slots)
	clear(s.records.words[:s.records.count*s.records.stride])
	s.used, s.records.count, s.texts = 0, 0, texts{}
}

// unitSet finds the units of rows.
type unitSet struct {
	listed bool // every unit has its record, and its key says where: see listedSet
	keys   *keyer
	shards [shards]unitShard
	row    int64    // rows so far
	nums   []uint32 // the units of the chunk's sorted rows
	hashes []uint64 // and their hashes
	seen   atomic.Uint64
}

// padded returns how many words a record takes in memory, so that a small one does not lie across two lines of a core's
// cache.
func padded(width int) int {
	switch {
	case width == 3:
		return 4
	case width > 4 && width < 8:
		return 8
	}
	return width
}

func newUnitSet(nulls NullUnits, width int) *unitSet {
	u := &unitSet{keys: newKeyer(nulls)}
	for i := range u.shards {
		u.shards[i].records.stride = padded(width)
	}
	return u
}

// listedSet has a record, without words of its own, for each of the units that an Index has numbered. Nothing has to be looked
// up: the lower bits of a number are the shard, and the upper ones the place in it.
func listedSet(units int64, width int) *unitSet {
	u := newUnitSet(DropNulls, width)
	u.listed, u.keys.listed, u.row = true, true, units
	parallel(shards, func(i int) {
		r := &u.shards[i].records
		r.count = int((units - int64(i) + shards - 1) / shards)
		r.words = make([]uint64, r.count*r.stride)
	})
	return u
}

// ofShard returns the number of rows of the chunk in a shard.
func (u *unitSet) ofShard(shard int) (n int) {
	for i := range u.keys.stretches {
		lo, hi := u.keys.stretches[i].shard(shard)
		n += hi - lo
	}
	return n
}

// wants returns the memory that the units would take if each row of the chunk were a new one. grows says that this is more
// than they take now.
func (u *unitSet) wants() (n int64, grows bool) {
	for i := range u.shards {
		s := &u.shards[i]
		want := s.wants(u.ofShard(i))
		n, grows = n+want, grows || want > s.bytes()
	}
	return n, grows
}

// free forgets the units and frees their memory.
func (u *unitSet) free() {
	for i := range u.shards {
		u.shards[i] = unitShard{records: records{stride: u.shards[i].records.stride}}
	}
}

// split sorts the rows of a chunk: see keyer.
func (u *unitSet) split(unit *table.Values, first, rows int, also func(s *stretch)) error {
	u.nums, u.hashes = fit(u.nums, rows), fit(u.hashes, rows)
	return u.keys.split(unit, first, rows, also)
}

// find finds the units of the rows of one shard of a chunk that split has sorted.
func (u *unitSet) find(shard int, unit *table.Values, first int) {
	s := &u.shards[shard]
	if !u.listed {
		s.reserve(u.keys, u.ofShard(shard))
	}
	for i := range u.keys.stretches {
		if lo, hi := u.keys.stretches[i].shard(shard); lo < hi {
			u.findRows(s, unit, first, lo, hi)
		}
	}
}

// found visits what find found, stretch by stretch: the rows of the chunk, their units, and the place of the first in the
// sorted slices.
func (u *unitSet) found(shard int, visit func(s *unitShard, lo int, offs, nums []uint32)) {
	for i := range u.keys.stretches {
		if lo, hi := u.keys.stretches[i].shard(shard); lo < hi {
			visit(&u.shards[shard], lo, u.keys.sorted[lo:hi], u.nums[lo:hi])
		}
	}
}

func (u *unitSet) findRows(s *unitShard, unit *table.Values, first, lo, hi int) {
	if u.listed {
		for i, w := range u.keys.words[lo:hi] {
			u.nums[lo+i] = uint32(w >> shardBits)
			u.keys.sorted[lo+i] &= offMask
		}
		return
	}
	// Most of the time goes into waiting for memory. The first two loops wait for many slots, and then for many records,
	// at once. They decide nothing: the third compares keys.
	k, mask := u.keys, uint64(len(s.slots)-1)
	words, hashes, nums, offs := k.words[lo:hi], u.hashes[lo:hi], u.nums[lo:hi], k.sorted[lo:hi]
	slots, records, stride := s.slots, s.records.words, s.records.stride
	seen := uint64(0)
	for i, w := range words {
		h := k.mix(w)
		hashes[i] = h
		seen += slots[h&mask]
	}
	for i, h := range hashes {
		at := h & mask
		for slots[at] != 0 && (slots[at]^h)&tagMask != 0 {
			at = (at + 1) & mask
		}
		n := uint32(slots[at]) - 1
		if nums[i] = n; n != noUnit {
			seen += records[int(n)*stride] + records[int(n)*stride+min(stride, 8)-1]
		}
	}
	u.seen.Store(seen) // so that no compiler leaves the loops out
	for i, word := range words {
		if n := nums[i]; n != noUnit && !k.text && offs[i]&ownRow == 0 && records[int(n)*stride] == word {
			continue
		}
		off := offs[i] & offMask
		row := uint64(u.row) + uint64(off)
		switch {
		case offs[i]&ownRow != 0:
			nums[i], offs[i] = s.insert(0, row|ownUnit), off
		case k.text:
			nums[i] = s.find(k, hashes[i], 0, unit.Dict[unit.Codes[first+int(off)]], row)
		default:
			nums[i] = s.find(k, hashes[i], word, "", row)
		}
	}
}
