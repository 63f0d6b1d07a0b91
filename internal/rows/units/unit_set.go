package units

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
	records pages
	texts   texts
	offs    []uint32 // the rows of the chunk that belong to the shard,
	nums    []uint32 // and the units that they belong to
}

// insert adds a unit that reserve has made room for.
func (s *unitShard) insert(key uint64, first uint64) uint32 {
	n := s.records.add()
	r := s.records.at(n)
	r[keyWord], r[firstWord] = key, first
	return n
}

func (s *unitShard) bytes() int64 {
	return int64(len(s.slots))*slotBytes + int64(len(s.records.pages))*s.records.pageBytes() + s.texts.bytes
}

// wants is what bytes would say after room was made for more units.
func (s *unitShard) wants(more int) int64 {
	return s.bytes() + int64(s.grown(more)-len(s.slots))*slotBytes + int64(s.records.missing(more))*s.records.pageBytes()
}

// find returns the unit of a key, which it adds where it is not there yet, with the given first row. Room for it was
// reserved. The text counts where the keys are texts.
func (s *unitShard) find(k *keyer, word uint64, text string, first uint64) uint32 {
	mask := uint64(len(s.slots) - 1)
	for at := k.mix(word) & mask; ; at = (at + 1) & mask {
		place := &s.slots[at]
		if place.unit == 0 {
			key := word
			if k.text {
				key = s.texts.add(text)
			}
			n := s.insert(key, first)
			place.word, place.unit = word, n+1
			s.used++
			return n
		}
		if place.word == word && (!k.text || string(s.texts.at(s.records.at(place.unit - 1)[keyWord])) == text) {
			return place.unit - 1
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
		u.shards[i].records = newPages(stride)
	}
	return u
}

// listed is the number of rows of the chunk in a shard.
func (u *unitSet) listed(shard int) (n int) {
	for p := range u.keys.lists {
		n += len(u.keys.lists[p][shard])
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
	s.records.reserve(n)
	s.offs, s.nums = s.offs[:0], s.nums[:0]
	for p := range k.lists {
		for _, e := range k.lists[p][shard] {
			off := e & offMask
			row := uint64(u.row) + uint64(off)
			var num uint32
			switch {
			case e&ownRow != 0:
				num = s.insert(0, row|ownUnit)
			case k.text:
				num = s.find(k, k.words[off], unit.Dict[unit.Codes[first+int(off)]], row)
			default:
				num = s.find(k, k.words[off], "", row)
			}
			s.offs, s.nums = append(s.offs, off), append(s.nums, num)
		}
	}
	return s
}
