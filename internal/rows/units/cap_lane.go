package units

import (
	"math"

	"github.com/dprelease/dprelease/internal/noise"
)

// capLane caps some units.
type capLane struct {
	slotTable
	mixer  *mixer
	source *noise.Source
	groups int
	rows   int
	limit  int64 // the most bytes that it may take
	every  int64 // the units' numbers differ by multiples of this
	first  int64 // the lowest of them
	pairs  []cappedPair
	heads  []uint32 // the last pair of each unit, plus one, at its number divided by every
	pool   []int64  // the rows of the pairs' reservoirs, except the first of each

	rowsNow []cappedRow
}

// cappedPair is a unit in a cell: a reservoir of its rows there.
type cappedPair struct {
	seen  uint64 // rows so far
	first int64  // the first row of the reservoir
	at    uint32 // the place of the others in the pool
	next  uint32 // another pair of the unit, plus one
	unit  int32
	cell  int32
}

const cappedPairBytes = 32

// cappedRow is a row that waits for its pair.
type cappedRow struct {
	hash, touched uint64
	row           int64
	unit, cell    int32
}

// cappedRows is the number of rows that wait at once. Their pairs fit in a core's cache.
const cappedRows = 256

func (l *capLane) bytes() int64 {
	if len(l.pool) > math.MaxUint32/2 || len(l.pairs) > math.MaxUint32/2 {
		return math.MaxInt64 / 1024 // there are no more places to name
	}
	return 8*int64(len(l.slots)) + cappedPairBytes*int64(len(l.pairs)) + 4*int64(len(l.heads)) + 8*int64(len(l.pool))
}

func (l *capLane) hash(unit, cell int32) uint64 {
	return l.mixer.mix(uint64(unit)<<32 | uint64(uint32(cell)))
}

// begin forgets the units and keeps their memory for others.
func (l *capLane) begin(first, every, units int64) {
	l.first, l.every, l.used = first, every, 0
	l.pairs, l.pool = l.pairs[:0], l.pool[:0]
	n := int(units/every + 1)
	l.heads = fit(l.heads, n)[:n]
	clear(l.heads)
	if l.slots == nil {
		l.slots, l.rowsNow = make([]uint64, 1<<6), make([]cappedRow, 0, cappedRows)
	}
	clear(l.slots)
}

// take adds rows of a part, as far as they belong to the units.
func (l *capLane) take(words []uint32) {
	for ; len(words) > 0; words = words[rowWords:] {
		unit, cell := int32(words[0]), int32(words[1])
		if int64(unit)%l.every != l.first {
			continue
		}
		row := int64(words[3])<<32 | int64(words[2])
		l.rowsNow = append(l.rowsNow, cappedRow{hash: l.hash(unit, cell), row: row, unit: unit, cell: cell})
		if len(l.rowsNow) == cap(l.rowsNow) {
			l.addRows()
		}
	}
	l.addRows()
}

// addRows adds the waiting rows. As in Index.find, the first loops wait for many places in memory at once.
func (l *capLane) addRows() {
	mask := uint64(len(l.slots) - 1)
	for i := range l.rowsNow {
		l.rowsNow[i].touched = l.slots[l.rowsNow[i].hash&mask]
	}
	for i := range l.rowsNow {
		h := l.rowsNow[i].hash
		at := h & mask
		for l.slots[at] != 0 && (l.slots[at]^h)&tagMask != 0 {
			at = (at + 1) & mask
		}
		if place := l.slots[at]; place != 0 {
			l.rowsNow[i].touched = l.pairs[place&slotUnit-1].seen
		}
	}
	for i := range l.rowsNow {
		l.add(&l.rowsNow[i])
	}
	l.rowsNow = l.rowsNow[:0]
}

// add puts a row into the reservoir of its unit and cell: the n-th row takes one of r places with probability r/n.
func (l *capLane) add(r *cappedRow) {
	p := l.pair(r.hash, r.unit, r.cell)
	p.seen++
	place := p.seen - 1
	if p.seen > uint64(l.rows) {
		if place = l.source.Uint64n(p.seen); place >= uint64(l.rows) {
			return
		}
	}
	l.put(p, int(place), r.row)
}

// put sets a place of a reservoir. Places are first filled in order.
func (l *capLane) put(p *cappedPair, place int, row int64) {
	if place == 0 {
		p.first = row
		return
	}
	if full := place - 1; p.seen == uint64(place)+1 && full&(full-1) == 0 { // 0, 1, 2, 4 … other places are full
		at := len(l.pool)
		l.pool = append(l.pool, l.pool[p.at:int(p.at)+full]...)
		l.pool = append(l.pool, make([]int64, min(l.rows-1, max(1, 2*full))-full)...)
		p.at = uint32(at)
	}
	l.pool[int(p.at)+place-1] = row
}

// kept returns the rows of a reservoir.
func (l *capLane) kept(p *cappedPair) (first int64, others []int64) {
	return p.first, l.pool[p.at : int(p.at)+int(min(p.seen, uint64(l.rows)))-1]
}

// pair returns the pair of a unit and a cell, and makes it if necessary.
func (l *capLane) pair(hash uint64, unit, cell int32) *cappedPair {
	if size := l.grown(1); size > len(l.slots) {
		l.slots = make([]uint64, size)
		for i, p := range l.pairs {
			l.slotTable.put(l.hash(p.unit, p.cell), uint32(i))
		}
	}
	mask := uint64(len(l.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		place := l.slots[at]
		if place == 0 {
			n := uint32(len(l.pairs))
			head := &l.heads[int64(unit)/l.every]
			l.pairs = append(l.pairs, cappedPair{unit: unit, cell: cell, next: *head})
			l.slots[at] = hash&tagMask | uint64(n) + 1
			l.used++
			*head = n + 1
			return &l.pairs[n]
		}
		if (place^hash)&tagMask == 0 {
			if p := &l.pairs[place&slotUnit-1]; p.unit == unit && p.cell == cell {
				return p
			}
		}
	}
}

// finish chooses the cells of each unit.
func (l *capLane) finish(kept *Kept) {
	var own []uint32
	for _, head := range l.heads {
		own = own[:0]
		for at := head; at != 0; at = l.pairs[at-1].next {
			own = append(own, at-1)
		}
		// The first steps of a Fisher-Yates shuffle: own[:k] is a uniform choice.
		for i := 0; i < l.groups && l.groups < len(own); i++ {
			j := i + int(l.source.Uint64n(uint64(len(own)-i)))
			own[i], own[j] = own[j], own[i]
		}
		for _, at := range own[:min(len(own), l.groups)] {
			first, others := l.kept(&l.pairs[at])
			kept.keep(first)
			for _, row := range others {
				kept.keep(row)
			}
		}
	}
}
