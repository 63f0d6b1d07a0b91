package units

import "unsafe"

// tally counts how often the units of a shard have each category. The counts of a unit for one fold are a list, whose head
// is among the unit's words. A hash table finds each count.
type tally struct {
	nodes []tallied
	slots []uint32 // places in nodes, plus one
}

type tallied struct {
	count uint64
	unit  uint32
	cell  uint32 // which fold of which view
	code  int32
	next  uint32 // place in nodes, plus one
}

const talliedBytes = int64(unsafe.Sizeof(tallied{}))

// bytes returns how many bytes the counts take.
func (t *tally) bytes() int64 { return int64(cap(t.nodes))*talliedBytes + int64(len(t.slots))*4 }

func (t *tally) grown(more int) int {
	n := max(len(t.slots), 64)
	for (len(t.nodes)+more)*4 > n*3 {
		n *= 2
	}
	return n
}

func (t *tally) hash(k *mixer, unit, cell uint32, code int32) uint64 {
	return k.mix(uint64(unit)<<32|uint64(uint32(code))) + uint64(cell)*(k.odd|1)
}

// add counts a category once more. head is the word of the unit that holds the head of the list.
func (t *tally) add(k *mixer, unit, cell uint32, code int32, head *uint64) {
	if size := t.grown(1); size != len(t.slots) {
		t.slots = make([]uint32, size)
		for i, d := range t.nodes {
			t.slots[t.place(k, d.unit, d.cell, d.code)] = uint32(i + 1)
		}
	}
	at := t.place(k, unit, cell, code)
	if t.slots[at] == 0 {
		t.nodes = append(t.nodes, tallied{unit: unit, cell: cell, code: code, next: uint32(*head)})
		t.slots[at] = uint32(len(t.nodes))
		*head = uint64(len(t.nodes))
	}
	t.nodes[t.slots[at]-1].count++
}

// place returns the slot of a count, or the empty slot for it.
func (t *tally) place(k *mixer, unit, cell uint32, code int32) uint64 {
	mask := uint64(len(t.slots) - 1)
	for at := t.hash(k, unit, cell, code) & mask; ; at = (at + 1) & mask {
		if t.slots[at] == 0 {
			return at
		}
		if d := &t.nodes[t.slots[at]-1]; d.unit == unit && d.cell == cell && d.code == code {
			return at
		}
	}
}

// mode returns the code that a list counts most often, of several the first in the domain, or -1 for an empty list.
func (t *tally) mode(head uint64) int32 {
	best, most := int32(-1), uint64(0)
	for at := head; at != 0; at = uint64(t.nodes[at-1].next) {
		if d := &t.nodes[at-1]; d.count > most || d.count == most && d.code < best {
			best, most = d.code, d.count
		}
	}
	return best
}
