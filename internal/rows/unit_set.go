package rows

import "github.com/dprelease/dprelease/internal/table"

// The first words of a unit's record.
const (
	keyWord   = iota // its key, or the name of its text
	firstWord        // its first row, with ownUnit where the row is a unit of its own
	ownWords         // how many there are
)

const ownUnit = 1 << 63

// unitShard holds the units whose hash has the same top bits, in the order of their first rows.
type unitShard struct {
	slotTable
	records records
	texts   texts
	offs    []uint32 // the rows of the chunk that belong to the shard,
	nums    []uint32 // the units that they belong to,
	touched []uint64 // and what a first look found
}

// insert adds a unit that reserve has made room for.
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

// wants is what bytes would say after room was made for more units.
func (s *unitShard) wants(more int) int64 {
	return 8*int64(s.grown(more)+s.records.room(more)) + s.texts.bytes
}

// reserve makes room for more units.
func (s *unitShard) reserve(k *keyer, more int) {
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

// find returns the unit of a key, which it adds where it is not there yet, with the given first row. Room for it was
// reserved. The text counts where the keys are texts, the word where they are numbers.
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

// unitSet finds the units of rows.
type unitSet struct {
	keys   *keyer
	shards [shards]unitShard
	row    int64 // rows so far
}

func newUnitSet(nulls NullUnits, stride int) *unitSet {
	u := &unitSet{keys: newKeyer(nulls)}
	for i := range u.shards {
		u.shards[i].records.stride = stride
	}
	return u
}

// listed is the number of rows of the chunk in a shard.
func (u *unitSet) listed(shard int) (n int) {
	for i := range u.keys.stretches {
		n += len(u.keys.stretches[i].shard(shard))
	}
	return n
}

// wants is the memory that the units would take if all rows of the chunk were new ones.
func (u *unitSet) wants() (n int64) {
	for i := range u.shards {
		n += u.shards[i].wants(u.listed(i))
	}
	return n
}

// find finds the units of the rows of one shard of the chunk, which split has spread. It leaves them in offs and nums.
func (u *unitSet) find(shard int, unit *table.Values, first int) *unitShard {
	s, k := &u.shards[shard], u.keys
	n := u.listed(shard)
	s.reserve(k, n)
	if cap(s.offs) < n {
		s.offs, s.nums, s.touched = make([]uint32, n), make([]uint32, n), make([]uint64, n)
	}
	s.offs, s.nums, s.touched = s.offs[:0], s.nums[:n], s.touched[:n]
	for i := range k.stretches {
		s.offs = append(s.offs, k.stretches[i].shard(shard)...)
	}
	// Most of the time goes into waiting for memory. The first two loops wait for many slots, and then for many records,
	// at once; they decide nothing.
	mask := uint64(len(s.slots) - 1)
	offs, touched, slots, hashes, words, stride := s.offs, s.touched[:len(s.offs)], s.slots, k.hashes, s.records.words, s.records.stride
	for i, e := range offs {
		touched[i] = slots[hashes[e&offMask]&mask]
	}
	for i, place := range touched {
		touched[i] = words[int(uint32(place)-min(uint32(place), 1))*stride]
	}
	nums := s.nums[:len(offs)]
	for i, e := range offs {
		off := e & offMask
		row, h := uint64(u.row)+uint64(off), hashes[off]
		switch {
		case e&ownRow != 0:
			nums[i] = s.insert(0, row|ownUnit)
			offs[i] = off
		case k.text:
			nums[i] = s.find(k, h, 0, unit.Dict[unit.Codes[first+int(off)]], row)
		default:
			word, place := k.words[off], slots[h&mask]
			if n := uint32(place) - 1; place != 0 && (place^h)&tagMask == 0 && words[int(n)*stride] == word {
				nums[i] = n
				continue
			}
			nums[i] = s.find(k, h, word, "", row)
		}
	}
	return s
}
