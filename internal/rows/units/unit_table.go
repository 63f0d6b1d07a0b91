package units

import (
	"encoding/binary"
	"unsafe"
)

// slot is a place of a hash table with open addressing.
type slot struct {
	word uint64
	unit uint32 // its number in the shard, plus one; 0 is an empty place
}

const slotBytes = int64(unsafe.Sizeof(slot{}))

// slotTable finds the units of one shard by the words of their keys.
type slotTable struct {
	slots []slot
	used  int
}

// grown is the number of slots with which a table has room for more units without growing again.
func (t *slotTable) grown(more int) int {
	n := max(len(t.slots), 64)
	for (t.used+more)*4 > n*3 {
		n *= 2
	}
	return n
}

// reserve makes room for more units.
func (t *slotTable) reserve(k *keyer, more int) {
	n := t.grown(more)
	if n == len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]slot, n)
	mask := uint64(n - 1)
	for _, s := range old {
		if s.unit == 0 {
			continue
		}
		at := k.mix(s.word) & mask
		for t.slots[at].unit != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
}

// pages is a growing list of records of the same number of words that never moves in memory.
type pages struct {
	stride int
	shift  uint // 2^shift records on a page
	pages  [][]uint64
	count  int
}

// newPages makes pages of at most 32 KB, and of eight records at least.
func newPages(stride int) pages {
	p := pages{stride: stride, shift: 3}
	for stride<<(p.shift+1) <= 1<<12 {
		p.shift++
	}
	return p
}

// missing is how many pages more records would need.
func (p *pages) missing(more int) int {
	return (p.count+more+1<<p.shift-1)>>p.shift - len(p.pages)
}

func (p *pages) pageBytes() int64 { return 8 * int64(p.stride) << p.shift }

func (p *pages) reserve(more int) {
	for range p.missing(more) {
		p.pages = append(p.pages, make([]uint64, p.stride<<p.shift))
	}
}

// add takes a record that reserve has made room for. It holds zeros.
func (p *pages) add() uint32 {
	p.count++
	return uint32(p.count - 1)
}

func (p *pages) at(n uint32) []uint64 {
	page := p.pages[n>>p.shift]
	i := int(n&(1<<p.shift-1)) * p.stride
	return page[i : i+p.stride : i+p.stride]
}

// texts keeps the keys of a shard whose units are texts. A text is named by its page and its place there.
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
