package units

import "encoding/binary"

// slotTable finds the units of one shard. A slot holds the upper half of a hash and the place of a unit, plus one; an empty
// slot is 0. So a lookup usually goes to two places in memory: a slot, and the unit itself, which holds the key.
type slotTable struct {
	slots []uint64
	used  int
}

const (
	tagMask  = 0xffffffff << 32
	slotUnit = 1<<32 - 1
)

// grown returns the number of slots of a table with room for more units.
func (t *slotTable) grown(more int) int {
	n := max(len(t.slots), 64)
	for (t.used+more)*3 > n*2 {
		n *= 2
	}
	return n
}

// put adds a unit that is not in the table.
func (t *slotTable) put(hash uint64, unit uint32) {
	mask := uint64(len(t.slots) - 1)
	at := hash & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = hash&tagMask | uint64(unit) + 1
}

// texts holds the keys of a shard whose keys are texts. A text is named by its page and its place there.
type texts struct {
	pages [][]byte
	bytes int64
}

const textPage = 1 << 14

func (t *texts) add(s string) uint64 {
	last, need := len(t.pages)-1, len(s)+4
	if last < 0 || cap(t.pages[last])-len(t.pages[last]) < need {
		size := max(need, textPage)
		t.pages, last = append(t.pages, make([]byte, 0, size)), last+1
		t.bytes += int64(size)
	}
	at := len(t.pages[last])
	t.pages[last] = append(binary.LittleEndian.AppendUint32(t.pages[last], uint32(len(s))), s...)
	return uint64(last)<<32 | uint64(at)
}

func (t *texts) at(name uint64) []byte {
	b := t.pages[name>>32][uint32(name):]
	return b[4 : 4+binary.LittleEndian.Uint32(b)]
}

// unitShard holds the units whose hashes have the same top bits.
type unitShard struct {
	slotTable
	units  []knownUnit
	before int // how many there were before the chunk
	texts  texts
}

// knownUnit is the key of a unit, or the name of its text, and what is known of it: its number, or where it was seen first.
type knownUnit struct{ key, is uint64 }

const knownBytes = 16

func (s *unitShard) bytes() int64 {
	return 8*int64(len(s.slots)) + knownBytes*int64(cap(s.units)) + s.texts.bytes
}

// room returns how many units the shard would have room for, after more were reserved.
func (s *unitShard) room(more int) int {
	if need := len(s.units) + more; need > cap(s.units) {
		return max(need, cap(s.units)+cap(s.units)/2)
	}
	return cap(s.units)
}

// wants returns what bytes would return with room for more units.
func (s *unitShard) wants(more int) int64 {
	if more == 0 {
		return s.bytes()
	}
	return 8*int64(s.grown(more)) + knownBytes*int64(s.room(more)) + s.texts.bytes
}

// reserve makes room for more units.
func (s *unitShard) reserve(k *keyer, more int) {
	if more == 0 {
		return
	}
	if n := s.room(more); n > cap(s.units) {
		s.units = append(make([]knownUnit, 0, n), s.units...)
	}
	size := s.grown(more)
	if size == len(s.slots) {
		return
	}
	s.slots = make([]uint64, size)
	for n, u := range s.units {
		s.put(k.hash(s, u.key), uint32(n))
	}
}

// find returns the place of a unit by its key: of the text if keys are texts, else of the word. It adds a new unit, of which it
// is known what is says. The caller has reserved room for it.
func (s *unitShard) find(k *keyer, hash, word uint64, text string, is uint64) (place uint32, added bool) {
	mask := uint64(len(s.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := s.slots[at]
		if slot == 0 {
			if k.text {
				word = s.texts.add(text)
			}
			n := uint32(len(s.units))
			s.units = append(s.units, knownUnit{word, is})
			s.slots[at] = hash&tagMask | uint64(n) + 1
			s.used++
			return n, true
		}
		if (slot^hash)&tagMask != 0 {
			continue
		}
		n := uint32(slot&slotUnit - 1)
		if key := s.units[n].key; key == word && !k.text || k.text && string(s.texts.at(key)) == text {
			return n, false
		}
	}
}

// reset forgets the units and keeps the memory.
func (s *unitShard) reset() {
	clear(s.slots)
	s.used, s.units, s.texts = 0, s.units[:0], texts{}
}
