package units

import "encoding/binary"

// slotTable finds the units of one shard. A slot holds the upper half of a hash and the number of a unit, plus one; an empty
// slot is 0. So a lookup usually goes to two places in memory: a slot, and the unit's record, which holds the key.
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

// records is a list of records of the same number of words.
type records struct {
	stride int
	words  []uint64
	count  int
}

// room returns the number of words of a list with room for more records.
func (r *records) room(more int) int {
	need, have := (r.count+more)*r.stride, len(r.words)
	if need <= have {
		return have
	}
	return max(need, have+have/2)
}

func (r *records) reserve(more int) {
	if n := r.room(more); n > len(r.words) {
		r.words = append(make([]uint64, 0, n), r.words...)[:n]
	}
}

// at returns a record. It is valid until the next call of reserve.
func (r *records) at(n uint32) []uint64 {
	i := int(n) * r.stride
	return r.words[i : i+r.stride : i+r.stride]
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
